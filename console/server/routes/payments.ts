import type { ValueOf } from '../../../src/http/fields.ts';
import { timeOrNull } from '../../../src/kernel/clock.ts';
import { parseCurrency } from '../../../src/kernel/currency.ts';
import { Failure, invalid } from '../../../src/kernel/failure.ts';
import { parseAmount } from '../../../src/kernel/money.ts';
import { AMOUNT_EXPECTED } from '../../../src/payments/payment.ts';
import type { PaymentFilter } from '../../../src/payments/payment-filter.ts';
import type { ListedPayment } from '../../../src/payments/payment-store.ts';
import { listPayments, showPayment } from '../../wire/payments.ts';
import { saidAs } from '../refusals.ts';
import { type Call, type Route, route } from '../route.ts';
import { isId, typedTime } from '../typed.ts';
import { paymentOf } from './payment-found.ts';
import { listedPayment, shownPayment } from './payment-view.ts';

type Search = ValueOf<NonNullable<typeof listPayments.body>>;

export const paymentRoutes: readonly Route[] = [
  route(listPayments, async (call) => {
    const { services, tenant, body } = call;
    if (body.id !== undefined)
      return { payments: (await withId(call, body.id)).map(listedPayment), next: null, looked_back_to: null };
    const {
      items,
      cursor,
      searchedUntil: lookedUntil,
    } = await services.paymentListing.list(tenant, filterOf(body), body.cursor);
    return { payments: items.map(listedPayment), next: cursor ?? null, looked_back_to: timeOrNull(lookedUntil) };
  }),

  route(showPayment, async (call) => shownPayment(...(await paymentOf(call)))),
];

async function withId(
  { services, tenant }: Pick<Call<unknown, unknown>, 'services' | 'tenant'>,
  id: string,
): Promise<ListedPayment[]> {
  if (!isId(id)) return [];
  try {
    const { payment, inDoubtSince } = await saidAs({}, () => services.paymentListing.detail(tenant, id));
    return [{ ...payment, inDoubtSince, payment }];
  } catch (error) {
    if (error instanceof Failure && error.code === 'unknown_record') return [];
    throw error;
  }
}

/** Throws `invalid_field`. */
function filterOf(body: Search): PaymentFilter {
  const { status, type, processor, reference_code: referenceCode, last_four: lastFour } = body;
  const currency = body.currency === undefined ? undefined : parseCurrency(body.currency);
  if (body.currency !== undefined && currency === undefined) throw invalid('currency', 'expected a code of ISO 4217');
  if (body.amount !== undefined && currency === undefined) throw invalid('currency', 'required with an amount');
  const amount = body.amount === undefined || currency === undefined ? undefined : parseAmount(body.amount, currency);
  if (body.amount !== undefined && amount === undefined) throw invalid('amount', AMOUNT_EXPECTED);
  return {
    statuses: status && [status],
    types: type && [type],
    processor,
    currency,
    amount,
    referenceCode,
    lastFour,
    isInDoubt: body.doubtful === 'yes' ? true : undefined,
    from: typedTime(body.from, 'from'),
    to: typedTime(body.to, 'to'),
  };
}
