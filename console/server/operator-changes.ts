import { ApprovalRequired, type RestrictedChange } from '../../src/accounts/change-control.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { notPossible } from '../../src/kernel/failure.ts';
import type { StoredEnableRequest } from '../../src/payments/payment-activations.ts';
import type { ManualResolution } from '../../src/payments/unknown-outcomes.ts';
import { fromRequestedBody } from '../../src/proxy/proxy-configurations.ts';
import type { RetentionChange } from '../../src/vault/token-retention.ts';
import type { Execution } from '../approvals/approvals.ts';
import type { ConsoleServices } from './route.ts';

type Services = Pick<
  ConsoleServices,
  'activations' | 'changeControl' | 'configurations' | 'requests' | 'retention' | 'unknownOutcomes' | 'webhooks'
>;
type Execute = (services: Services, transaction: Transaction, tenant: Tenant, execution: Execution) => Promise<unknown>;

/** The execution of each change of an operator after a member of the account approved it. */
const EXECUTE: Readonly<Record<RestrictedChange['action'], Execute>> = {
  'payments.enable': async ({ activations, requests }, transaction, tenant, { approval, call, consent }) => {
    const { attachment, ...request } = JSON.parse(call.body) as StoredEnableRequest;
    await activations.enable(transaction, tenant, request, { consent });
    if (attachment?.['request'] === undefined) return;
    const person = { id: approval.requestedBy, name: approval.requester };
    const pending = await requests.getPending(tenant.account, attachment['request']);
    const acting = { person, origin: consent.requester ?? transaction.origin };
    await requests.decide(transaction, pending, 'approved', attachment['note'] ?? '', acting);
  },
  'payments.disable': ({ activations }, transaction, tenant, { consent }) =>
    activations.disable(transaction, tenant, consent),
  'payment.resolve': ({ unknownOutcomes }, transaction, tenant, { call, consent }) =>
    unknownOutcomes.resolve(transaction, tenant, JSON.parse(call.body) as ManualResolution, { consent }),
  'proxy.configure': ({ configurations }, transaction, tenant, { call, consent }) =>
    configurations.configure(transaction, tenant, fromRequestedBody(call.body), { consent }),
  'proxy.remove': ({ configurations }, transaction, tenant, { consent }) =>
    configurations.remove(transaction, tenant, { consent }),
  // The operator's command executes it afterwards, while the approval has not expired.
  'account.export': ({ changeControl }, transaction, tenant, { approval, call, consent }) =>
    changeControl.permit(
      transaction,
      tenant,
      { action: 'account.export', summary: approval.summary, body: call.body },
      { consent },
    ),
  'retention.set': ({ retention }, transaction, tenant, { call, consent }) =>
    retention.set(transaction, tenant, JSON.parse(call.body) as RetentionChange, { consent }),
  'webhook.create': ({ webhooks }, transaction, tenant, { call, consent }) =>
    webhooks.createRequested(transaction, tenant, call.body, consent),
  'webhook.edit': ({ webhooks }, transaction, tenant, { call, consent }) =>
    webhooks.updateRequested(transaction, tenant, call.body, consent),
  'webhook.rotate': ({ webhooks }, transaction, tenant, { call, consent }) =>
    webhooks.rotateRequested(transaction, tenant, call.body, consent),
};

/**
 * Makes the change in the transaction that ends its approval. Throws what the use case throws; the approval then stays
 * pending.
 */
export async function executeOperatorChange(
  services: Services,
  transaction: Transaction,
  execution: Execution,
): Promise<void> {
  const { action, account, environment } = execution.approval;
  if (!Object.hasOwn(EXECUTE, action)) throw notPossible('changeUnknown');
  await EXECUTE[action as RestrictedChange['action']](services, transaction, { account, environment }, execution);
}

/** Returns the result of an operator's change, or the id of the approval that it awaits. */
export async function toResultOrApproval<T>(
  act: () => Promise<T>,
): Promise<{ approval: null; result: T } | { approval: string; result: null }> {
  try {
    return { approval: null, result: await act() };
  } catch (error) {
    if (error instanceof ApprovalRequired) return { approval: error.approval, result: null };
    throw error;
  }
}
