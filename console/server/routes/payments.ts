import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { parseCurrency } from '../../../src/kernel/currency.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { parseComparable } from '../../../src/kernel/money.ts';
import type { ListedPayment, PaymentFilter, PaymentPage } from '../../../src/payments/payment-queries.ts';
import { exportPayments } from '../../wire/exports.ts';
import { listPayments, showPayment } from '../../wire/payments.ts';
import { translateErrors } from '../error-translation.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import { type AnyCall, type Route, route, streamRoute } from '../route.ts';
import { isId, parseTimeInput } from '../user-input.ts';
import { viewPayment } from './payment-detail.ts';
import { listedOf, toListedPayment } from './payment-view.ts';

type Search = ValueOf<NonNullable<typeof listPayments.body>>;

export const paymentRoutes: readonly Route[] = [
  route(listPayments, async (call) => {
    const { services, tenant, body } = call;
    const { paymentQueries, listCounts } = services;
    const page = await readPage(call, body, body.cursor);
    const count = () => paymentQueries.countMatching(tenant, parseFilter(body));
    return {
      payments: page.items.map(toListedPayment),
      next: page.cursor ?? null,
      count: await listCounts.ofPage(listPayments, call, page, count),
      searched_back_to: formatIso8601OrNull(page.searchedUntil),
    };
  }),

  streamRoute(exportPayments, (call) =>
    exportList(call, {
      name: 'payments',
      access: exportPayments.access,
      columns: PAYMENT_COLUMNS,
      codeFilters: ['status', 'type', 'currency', 'in_doubt', 'from', 'to', 'order'],
      page: async (cursor) => toExportedPage(await readPage(call, call.body.filter, cursor), toListedPayment),
    }),
  ),

  route(showPayment, (call) => viewPayment(call)),
];

const PAYMENT_COLUMNS = [
  'id',
  'created_at',
  'type',
  'status',
  'reason',
  'failure_cause',
  'amount',
  'current_amount',
  'currency',
  'is_partly_captured',
  'refund',
  'card',
  'reference_code',
  'processor',
  'is_in_doubt',
  'is_altered',
] as const;

type TenantCall = Pick<AnyCall, 'services' | 'tenant'>;

async function readPage(call: TenantCall, filter: Search, cursor: string | undefined): Promise<PaymentPage> {
  if (filter.id !== undefined)
    return { items: await findById(call, filter.id), cursor: undefined, searchedUntil: undefined };
  return call.services.paymentQueries.list(call.tenant, parseFilter(filter), cursor);
}

async function findById({ services, tenant }: TenantCall, typed: string): Promise<ListedPayment[]> {
  // An operation reference ends with the id: a user copies it from a report of the processor.
  const id = typed.slice(typed.lastIndexOf('.') + 1);
  if (!isId(id)) return [];
  try {
    return [listedOf(await translateErrors({}, () => services.paymentQueries.detail(tenant, id)))];
  } catch (error) {
    if (error instanceof Failure && error.code === 'unknown_record') return [];
    throw error;
  }
}

/** Throws `invalid_field`. */
function parseFilter(body: Search): PaymentFilter {
  const { status, type, processor, reference_code: referencePrefix, last_four: lastFour } = body;
  const currency = body.currency === undefined ? undefined : parseCurrency(body.currency);
  if (body.currency !== undefined && currency === undefined) throw invalidField('currency', 'currency');
  return {
    statuses: status && [status],
    types: type && [type],
    processor,
    currency,
    amountFrom: parseBound(body.amount_from, 'amount_from'),
    amountTo: parseBound(body.amount_to, 'amount_to'),
    referencePrefix,
    lastFour,
    isInDoubt: body.in_doubt === 'yes' ? true : undefined,
    from: parseTimeInput(body.from, 'from'),
    to: parseTimeInput(body.to, 'to'),
    order: body.order,
  };
}

function parseBound(text: string | undefined, field: string): bigint | undefined {
  const amount = text === undefined ? undefined : parseComparable(text);
  if (text !== undefined && amount === undefined)
    throw invalidField(field, 'amountDecimal', { digits: LIMITS.amountIntegerDigits });
  return amount;
}
