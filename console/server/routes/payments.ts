import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { parseCurrency } from '../../../src/kernel/currency.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { parseAmount } from '../../../src/kernel/money.ts';
import type { ListedPayment, PaymentFilter } from '../../../src/payments/payment-queries.ts';
import { listPayments, showPayment } from '../../wire/payments.ts';
import { translateErrors } from '../error-translation.ts';
import { type ConsoleCall, type Route, route } from '../route.ts';
import { isId, parseTimeInput } from '../user-input.ts';
import { getPaymentDetail } from './payment-detail.ts';
import { toListedPayment, toPaymentView } from './payment-view.ts';

type Search = ValueOf<NonNullable<typeof listPayments.body>>;

export const paymentRoutes: readonly Route[] = [
  route(listPayments, async (call) => {
    const { services, tenant, body } = call;
    if (body.id !== undefined)
      return { payments: (await findById(call, body.id)).map(toListedPayment), next: null, searched_back_to: null };
    const { items, cursor, searchedUntil } = await services.paymentQueries.list(tenant, parseFilter(body), body.cursor);
    return {
      payments: items.map(toListedPayment),
      next: cursor ?? null,
      searched_back_to: formatIso8601OrNull(searchedUntil),
    };
  }),

  route(showPayment, async (call) => toPaymentView(...(await getPaymentDetail(call)))),
];

async function findById(
  { services, tenant }: Pick<ConsoleCall<unknown, unknown>, 'services' | 'tenant'>,
  id: string,
): Promise<ListedPayment[]> {
  if (!isId(id)) return [];
  try {
    const { payment, inDoubtSince } = await translateErrors({}, () => services.paymentQueries.detail(tenant, id));
    return [{ ...payment, inDoubtSince, payment }];
  } catch (error) {
    if (error instanceof Failure && error.code === 'unknown_record') return [];
    throw error;
  }
}

/** Throws `invalid_field`. */
function parseFilter(body: Search): PaymentFilter {
  const { status, type, processor, reference_code: referenceCode, last_four: lastFour } = body;
  const currency = body.currency === undefined ? undefined : parseCurrency(body.currency);
  if (body.currency !== undefined && currency === undefined) throw invalidField('currency', 'currency');
  if (body.amount !== undefined && currency === undefined) throw invalidField('currency', 'currencyNeeded');
  const amount = body.amount === undefined || currency === undefined ? undefined : parseAmount(body.amount, currency);
  if (body.amount !== undefined && amount === undefined)
    throw invalidField('amount', 'amount', { digits: LIMITS.amountIntegerDigits });
  return {
    statuses: status && [status],
    types: type && [type],
    processor,
    currency,
    amount,
    referenceCode,
    lastFour,
    isInDoubt: body.in_doubt === 'yes' ? true : undefined,
    from: parseTimeInput(body.from, 'from'),
    to: parseTimeInput(body.to, 'to'),
  };
}
