import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { Capabilities } from '../../../src/payments/processor.ts';
import { translateErrors } from '../error-translation.ts';
import type { ConsoleCall } from '../route.ts';
import { isSuspended } from '../suspended.ts';

/** Where a payment is looked for. */
type PaymentLookup = Pick<ConsoleCall<unknown, unknown>, 'services' | 'account' | 'tenant' | 'params'>;

/**
 * The payment of the path as it is now, and what its processor can do; undefined when nothing may be begun, because payments
 * are not enabled (any more), or the account is suspended. Throws `unknown_record`.
 */
export async function loadPayment(lookup: PaymentLookup): Promise<[PaymentDetail, Capabilities | undefined]> {
  const { services, tenant, params } = lookup;
  const { activations, paymentListing } = services;
  const found = await translateErrors({}, () => paymentListing.detail(tenant, params['id'] ?? ''));
  if ((await activations.enabledProcessor(tenant)) === undefined || (await isSuspended(lookup)))
    return [found, undefined];
  const { processor } = await activations.configuredProcessor(tenant, found.payment.processor);
  return [found, processor.capabilities];
}
