import { HOUR } from '../kernel/clock.ts';
import type { Scope, Tenant } from '../kernel/environment.ts';
import { parseIdTime } from '../kernel/ids.ts';
import { type Addition, type Database, integer, type Row, text } from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Table } from '../storage/table.ts';
import type { Payment } from './payment.ts';
import type { Reason, Status } from './transitions.ts';

/**
 * Totals of payments, so that no payment has to be read for them. A change of a payment moves its contribution from the row
 * of its old state to that of its new one, in the unit of the change: totals equal the sums over the payments at any time,
 * whatever crashes. Payments count in the hour in which they began, from their first result on.
 */

const NUMBERS = [
  'number',
  'amount_high',
  'amount_low',
  'collected_high',
  'collected_low',
  'refunded_high',
  'refunded_low',
] as const;

export const TABLES: readonly Table[] = [
  {
    name: 'payment_totals',
    key: ['account', 'environment', 'hour', 'currency', 'status', 'reason', 'lane'],
    columns: {
      account: 'integer',
      environment: 'integer',
      hour: 'integer',
      currency: 'text',
      status: 'text',
      reason: 'text',
      lane: 'integer',
      number: 'integer',
      amount_high: 'integer',
      amount_low: 'integer',
      collected_high: 'integer',
      collected_low: 'integer',
      refunded_high: 'integer',
      refunded_low: 'integer',
    },
  },
];

const ADD = `insert into payment_totals (account, environment, hour, currency, status, reason, lane, ${NUMBERS.join(', ')})
  values (?account, ?environment, ?, ?, ?, ?, ?, ${NUMBERS.map(() => '?').join(', ')})
  on conflict (account, environment, hour, currency, status, reason, lane)
  do update set ${NUMBERS.map((name) => `${name} = payment_totals.${name} + excluded.${name}`).join(', ')}`;

const SUMS = NUMBERS.map((name) => `cast(sum(${name}) as bigint) as ${name}`).join(', ');
const BETWEEN = 'environment = ?environment and hour >= ? and hour < ? group by currency, status, reason';
const OF_ACCOUNT = `select currency, status, reason, ${SUMS} from payment_totals where account = ?account and ${BETWEEN}`;
const OF_ALL = `select currency, status, reason, ${SUMS} from payment_totals where ${BETWEEN}`;

/** Splits amounts into two integers whose sums stay exact. */
const HIGH = 1_000_000_000n;

/** Sums over payments of one currency, status and reason. Amounts are in minor units. */
export interface PaymentTotal {
  readonly currency: string;
  readonly status: Status;
  readonly reason: Reason | undefined;
  readonly number: number;
  /** Requested amounts; of an approved payment also the authorized amount. */
  readonly amount: bigint;
  readonly collected: bigint;
  readonly refunded: bigint;
}

/** Returns what a change of a payment adds to the totals. */
export function changeTotals(tenant: Tenant, before: Payment, after: Payment): Addition[] {
  if (stateKey(before) === stateKey(after))
    return [addition(tenant, after, 0, after.collected - before.collected, after.refunded - before.refunded)].filter(
      ({ numbers }) => before.status !== 'Opened' && numbers.some((number) => number !== 0),
    );
  return [
    ...(before.status === 'Opened' ? [] : [addition(tenant, before, -1, -before.collected, -before.refunded)]),
    ...(after.status === 'Opened' ? [] : [addition(tenant, after, 1, after.collected, after.refunded)]),
  ];
}

const stateKey = ({ status, reason }: Payment): string => `${status} ${reason ?? ''}`;

/** `payments`: 1 when the payment is added with its amount, -1 when it is taken away, 0 when only its other amounts change. */
function addition(
  { account, environment }: Tenant,
  { id, currency, status, reason, amount }: Payment,
  payments: number,
  collected: bigint,
  refunded: bigint,
): Addition {
  const at = parseIdTime(id);
  return {
    sql: ADD,
    key: [account, environment, at - (at % HOUR), currency, status, reason ?? ''],
    numbers: [payments, ...split(amount * BigInt(payments)), ...split(collected), ...split(refunded)],
  };
}

const ZERO = [0, 0] as const;

const split = (amount: bigint): readonly [high: number, low: number] =>
  amount === 0n ? ZERO : [Number(amount / HIGH), Number(amount % HIGH)];

/** Returns the totals of an account in an environment, or of all accounts, of the hours that start in this time. */
export async function sumPayments(
  database: Database,
  { account, environment }: Scope,
  from: number,
  to: number,
): Promise<PaymentTotal[]> {
  await yieldBeforeScan();
  const rows =
    account === undefined
      ? await database.read(OF_ALL, environment, from, to)
      : await database.read(OF_ACCOUNT, account, environment, from, to);
  return rows
    .map(toTotal)
    .filter(({ number, collected, refunded }) => number !== 0 || collected !== 0n || refunded !== 0n);
}

function toTotal(row: Row): PaymentTotal {
  const amountOf = (name: string): bigint =>
    BigInt(integer(row, `${name}_high`)) * HIGH + BigInt(integer(row, `${name}_low`));
  return {
    currency: text(row, 'currency'),
    status: text(row, 'status') as Status,
    reason: text(row, 'reason') === '' ? undefined : (text(row, 'reason') as Reason),
    number: integer(row, 'number'),
    amount: amountOf('amount'),
    collected: amountOf('collected'),
    refunded: amountOf('refunded'),
  };
}
