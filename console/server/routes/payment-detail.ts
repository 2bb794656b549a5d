import { operationInDoubt } from '../../../src/payments/payment.ts';
import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';
import type { AnyCall } from '../route.ts';
import { isSuspended } from '../suspended.ts';
import { loadNames } from './payment-history.ts';
import { toPaymentView } from './payment-view.ts';

/** The scope in which a payment is searched. */
type PaymentLookup = Pick<AnyCall, 'services' | 'account' | 'tenant' | 'params'>;

/**
 * Returns the payment of the path as it is now, and the capabilities of its processor; undefined when no operation may
 * be started, because payments are not enabled, or the account is suspended. Throws `unknown_payment`.
 */
export async function getPaymentDetail(lookup: PaymentLookup): Promise<[PaymentDetail, Capabilities | undefined]> {
  const { services, tenant, params } = lookup;
  const { activations, paymentQueries } = services;
  const found = await paymentQueries.detail(tenant, params['id'] ?? '');
  if ((await activations.enabledProcessor(tenant)) === undefined || (await isSuspended(lookup)))
    return [found, undefined];
  const { processor } = await activations.configuredProcessor(tenant, found.payment.processor);
  return [found, processor.capabilities];
}

/** Returns the view of the payment of the path; `change` adds what is not stored yet. */
export async function viewPayment(
  lookup: PaymentLookup,
  change: (stored: PaymentDetail) => PaymentDetail = (stored) => stored,
) {
  const [stored, can] = await getPaymentDetail(lookup);
  const detail = change(stored);
  const nameOf = await loadNames(lookup, detail);
  return toPaymentView(detail, can, { nameOf, checkAt: await findCheckAt(lookup, detail) });
}

/** Returns the first time at which a user may check; undefined while the outcome is known. */
async function findCheckAt(
  { services, tenant }: PaymentLookup,
  { payment, reconciliation, operations }: PaymentDetail,
): Promise<number | undefined> {
  const operation = operations.find(({ id }) => id === operationInDoubt(payment, reconciliation));
  if (reconciliation.inDoubtSince === undefined || operation === undefined) return undefined;
  const { settings } = await services.activations.configuredProcessor(tenant, payment.processor);
  return services.unknownOutcomes.nextCheckAt({ operation, reconciliation }, settings);
}
