import type { ServerResponse } from 'node:http';
import { decimalOfUnits, type OrderEntry, type RefundEntry } from './koin-ledger.ts';

/** The fake KOIN's responses about its records, and their corruption on request. */

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const DAY = 86_400_000;

export interface ResponseFormat {
  readonly now: () => number;
  /** The format of amounts. */
  readonly spell: (decimal: string) => string;
}

const iso = (time: number): string => new Date(time).toISOString();

const amountBody = (units: bigint, currency: string, { spell }: ResponseFormat) => ({
  currency_code: currency,
  value: rawJSON(spell(decimalOfUnits(units))),
});

const statusBody = (order: OrderEntry, { now }: ResponseFormat) => ({
  type: order.status as string,
  date: iso(now()),
  ...(order.status === 'Authorized' ? { expiration: iso(now() + 5 * DAY) } : {}),
  ...(order.reason === undefined ? {} : { reason: order.reason }),
});

/** The authorization code is in the response to create, and nowhere else. */
export const orderBody = (order: OrderEntry, scribe: ResponseFormat, isNew: boolean) => ({
  transaction: {
    reference_id: order.reference,
    ...(order.businessId === undefined ? {} : { business_id: order.businessId }),
    account: order.account,
    amount: amountBody(order.units, order.currency, scribe),
    ...(isNew && order.status !== 'Failed' ? { authorization_code: '123456' } : {}),
    acquirer: 'FISERV',
    provider_reference: {
      order_id: `acq-${order.id.slice(-4)}`,
      tid: `tid${order.id.slice(-4)}`,
      nsu: order.id.slice(-6),
      ...(order.status === 'Collected' ? { payment_id: `pay-${order.id.slice(-4)}` } : {}),
    },
  },
  order_id: order.id,
  status: statusBody(order, scribe),
  country_code: order.country,
  ...(isNew ? {} : { refunds: order.refunds.map((refund) => entryOf(refund, order, scribe)) }),
});

export const cancelBody = (order: OrderEntry, scribe: ResponseFormat) => ({
  transaction: { reference_id: order.reference, account: order.account },
  order_id: order.id,
  status: statusBody(order, scribe),
});

const entryOf = (refund: RefundEntry, order: OrderEntry, scribe: ResponseFormat) => ({
  id: refund.id,
  amount: amountBody(refund.units, order.currency, scribe),
  status: { type: refund.status as string, date: iso(scribe.now()) },
});

export function refundBody(refund: RefundEntry, order: OrderEntry, scribe: ResponseFormat, isAsked: boolean) {
  const { id, ...entry } = entryOf(refund, order, scribe);
  return isAsked ? { ...entry, order_id: order.id } : { ...entry, refund_id: id };
}

/** A careless service repeats what it received. */
export const errorBody = (sent: string): string =>
  JSON.stringify({ code: 'ERROR', message: `cannot process ${sent}`, causes: [`[${sent}]`] });

export type Alteration =
  | 'wrong-amount'
  | 'wrong-currency'
  | 'wrong-reference'
  | { readonly reportedStatus: string; readonly reason?: string };

type Spoilt = {
  amount?: unknown;
  status?: object;
  transaction?: { amount?: { currency_code: string; value: unknown } | undefined };
};

export function altered(body: unknown, how: unknown): unknown {
  const { transaction, ...rest } = body as Spoilt;
  const amount = (transaction?.amount ?? rest.amount) as { currency_code: string; value: unknown } | undefined;
  const withAmount = (changed: object) =>
    transaction?.amount === undefined
      ? { ...rest, ...(transaction && { transaction }), amount: { ...amount, ...changed } }
      : { ...rest, transaction: { ...transaction, amount: { ...amount, ...changed } } };
  if (how === 'wrong-amount') return withAmount({ value: rawJSON('0.01') });
  if (how === 'wrong-currency') return withAmount({ currency_code: 'USD' });
  if (how === 'wrong-reference') return { ...rest, transaction: { ...transaction, reference_id: 'another' } };
  if (typeof how === 'object' && how !== null && 'reportedStatus' in how) {
    const { reportedStatus, reason } = how as { reportedStatus: string; reason?: string };
    return {
      ...(body as object),
      status: { ...rest.status, type: reportedStatus, ...(reason === undefined ? {} : { reason }) },
    };
  }
  return body;
}

export function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

export async function post(url: string, body: string): Promise<number> {
  const { status } = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return status;
}
