import { ApprovalRequired, type RestrictedChange } from '../../src/accounts/change-control.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import { notPossible } from '../../src/kernel/failure.ts';
import type { StoredEnableRequest } from '../../src/payments/payment-activations.ts';
import { fromRequestedBody } from '../../src/proxy/proxy-configurations.ts';
import type { Execution } from '../approvals/approvals.ts';
import { translateErrors } from './error-translation.ts';
import type { ConsoleServices } from './route.ts';

type Services = Pick<ConsoleServices, 'activations' | 'configurations' | 'requests'>;
type Execute = (services: Services, tenant: Tenant, execution: Execution) => Promise<unknown>;

/** The execution of each change of an operator after a member of the account approved it. */
const EXECUTE: Readonly<Record<RestrictedChange['action'], Execute>> = {
  'payments.enable': async ({ activations, requests }, tenant, { approval, call, consent, origin }) => {
    const { attachment, ...request } = JSON.parse(call.body) as StoredEnableRequest;
    if (attachment?.['request'] === undefined) return activations.enable(tenant, request, origin, { consent });
    const person = { id: approval.requestedBy, name: approval.requester };
    const waiting = await requests.getPending(tenant.account, attachment['request']);
    const along = await requests.buildDecision(waiting, 'approved', attachment['note'] ?? '', { person, origin });
    return activations.enable(tenant, request, origin, { consent, along });
  },
  'payments.disable': ({ activations }, tenant, { consent, origin }) => activations.disable(tenant, origin, consent),
  'proxy.configure': ({ configurations }, tenant, { call, consent, origin }) =>
    configurations.configure(tenant, fromRequestedBody(call.body), origin, { consent }),
  'proxy.remove': ({ configurations }, tenant, { consent, origin }) =>
    configurations.remove(tenant, origin, { consent }),
};

/** Executes the change together with its approval. Throws what the use case throws; the approval then stays pending. */
export async function executeOperatorChange(services: Services, execution: Execution): Promise<void> {
  const { action, account, environment } = execution.approval;
  if (!Object.hasOwn(EXECUTE, action)) throw notPossible('changeGone');
  await translateErrors({}, () =>
    EXECUTE[action as RestrictedChange['action']](services, { account, environment }, execution),
  );
}

/** Returns the result of an operator's change, or the id of the approval that it awaits. */
export async function toResultOrApproval<T>(
  act: () => Promise<T>,
): Promise<{ approval: null; result: T } | { approval: string; result: null }> {
  try {
    return { approval: null, result: await translateErrors({}, act) };
  } catch (error) {
    if (error instanceof ApprovalRequired) return { approval: error.approval, result: null };
    throw error;
  }
}
