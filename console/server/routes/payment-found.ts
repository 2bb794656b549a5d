import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';
import { saidAs } from '../refusals.ts';
import type { Call } from '../route.ts';
import { isSuspended } from '../suspended.ts';

/** Where a payment is looked for. */
type Place = Pick<Call<unknown, unknown>, 'services' | 'account' | 'tenant' | 'params'>;

/**
 * The payment of the path as it is now, and what its processor can do; undefined when nothing may be begun, because payments
 * are not enabled (any more), or the account is suspended. Throws `unknown_record`.
 */
export async function paymentOf(place: Place): Promise<[PaymentDetail, Capabilities | undefined]> {
  const { services, tenant, params } = place;
  const { activations, paymentListing } = services;
  const found = await saidAs({}, () => paymentListing.detail(tenant, params['id'] ?? ''));
  if ((await activations.enabledProcessor(tenant)) === undefined || (await isSuspended(place)))
    return [found, undefined];
  const { processor } = await activations.configuredProcessor(tenant, found.payment.processor);
  return [found, processor.capabilities];
}
