import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';
import type { AnyCall } from '../route.ts';
import { isSuspended } from '../suspended.ts';

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
