import type { Currency } from '../../../kernel/currency.ts';
import type { Environment, Tenant } from '../../../kernel/environment.ts';
import { LIMITS } from '../../../kernel/limits.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type Database,
  integer,
  integerOrNull,
  type Row,
  StorageError,
  text,
  textOrNull,
  type Write,
  write,
} from '../../../storage/database.ts';
import type { Table } from '../../../storage/table.ts';
import type { Reason } from '../../transitions.ts';
import type { SimulatedModification, SimulatedPayment } from './simulated-payment.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'simulator_payments',
    key: ['account', 'environment', 'operation_ref'],
    columns: {
      account: 'integer',
      environment: 'integer',
      operation_ref: 'text',
      reference: 'text',
      outcome: 'text',
      reason: 'text',
      amount: 'text',
      currency: 'text',
      sale: 'integer',
      captured: 'text',
      refunded: 'text',
      reversed: 'integer',
      triggers: 'text',
      notify_at: 'integer',
      created_at: 'integer',
      revision: 'integer',
    },
  },
  {
    name: 'simulator_modifications',
    key: ['account', 'environment', 'operation_ref'],
    columns: {
      account: 'integer',
      environment: 'integer',
      operation_ref: 'text',
      reference: 'text',
      payment: 'text',
      type: 'text',
      amount: 'text',
      currency: 'text',
      outcome: 'text',
      reason: 'text',
    },
  },
];

const PAYMENT_COLUMNS =
  'operation_ref, reference, outcome, reason, amount, currency, sale, captured, refunded, reversed, triggers, notify_at, created_at, revision';
const INSERT_PAYMENT = `insert into simulator_payments (account, environment, ${PAYMENT_COLUMNS})
  values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`;
const UPDATE_PAYMENT = `update simulator_payments set captured = ?, refunded = ?, reversed = ?, triggers = ?, notify_at = ?,
  revision = revision + 1 where account = ?account and environment = ?environment and operation_ref = ? and revision = ?`;
const FIND_PAYMENT = `select ${PAYMENT_COLUMNS} from simulator_payments where account = ?account and environment = ?environment and operation_ref = ?`;
const LIST_DUE_NOTIFICATIONS = `select account, environment, ${PAYMENT_COLUMNS} from simulator_payments
  where notify_at is not null and notify_at <= ? order by notify_at limit ?`;

const MODIFICATION_COLUMNS = 'operation_ref, reference, payment, type, amount, currency, outcome, reason';
// A refused void may be repeated under its reference: a void is idempotent.
const INSERT_MODIFICATION = `insert into simulator_modifications (account, environment, ${MODIFICATION_COLUMNS})
  values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (account, environment, operation_ref) do update
  set reference = excluded.reference, outcome = excluded.outcome, reason = excluded.reason
  where simulator_modifications.type = 'void' and simulator_modifications.outcome = 'refused'
  and excluded.type = 'void' and excluded.outcome <> 'closed'`;
const MARK_REVERSED = `update simulator_modifications set outcome = 'reversed'
  where account = ?account and environment = ?environment and operation_ref = ? and outcome = 'approved'`;
const FIND_MODIFICATION = `select ${MODIFICATION_COLUMNS} from simulator_modifications
  where account = ?account and environment = ?environment and operation_ref = ?`;

const NOTIFICATION_BATCH = 100;

/** Repeats an attempt that conflicts with other requests until it has a result. */
export async function retryOnConflict<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < LIMITS.commitAttempts; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new StorageError('the simulator finds no moment to write');
}

/** Conflicts when the reference was seen before. */
export function insertPayment({ account, environment }: Tenant, payment: SimulatedPayment): Write {
  const { operationRef, reference, outcome, reason, amount, isSale, createdAt, revision } = payment;
  const values = [
    operationRef,
    reference,
    outcome,
    reason ?? null,
    String(amount.minor),
    amount.currency,
    Number(isSale),
  ];
  return write(INSERT_PAYMENT, [account, environment, ...values, ...mutableColumns(payment), createdAt, revision], 1);
}

/** Conflicts when the payment was changed since it was read. */
export const updatePayment = ({ account, environment }: Tenant, payment: SimulatedPayment): Write =>
  write(UPDATE_PAYMENT, [...mutableColumns(payment), account, environment, payment.operationRef, payment.revision], 1);

const mutableColumns = ({ captured, refunded, isReversed, triggers, notifyAt }: SimulatedPayment) => [
  captured === undefined ? null : String(captured),
  String(refunded),
  Number(isReversed),
  triggers.length === 0 ? null : triggers.join(' '),
  notifyAt ?? null,
];

export async function findPayment(
  database: Database,
  tenant: Tenant,
  operationRef: string,
): Promise<SimulatedPayment | undefined> {
  const [row] = await database.read(FIND_PAYMENT, tenant.account, tenant.environment, operationRef);
  return row === undefined ? undefined : fromRow(row);
}

/** Returns payments with a due notification, the oldest first. */
export async function listDueNotifications(
  database: Database,
  now: number,
): Promise<{ tenant: Tenant; payment: SimulatedPayment }[]> {
  const rows = await database.read(LIST_DUE_NOTIFICATIONS, now, NOTIFICATION_BATCH);
  return rows.map((row) => ({
    tenant: { account: text(row, 'account'), environment: text(row, 'environment') as Environment },
    payment: fromRow(row),
  }));
}

function fromRow(row: Row): SimulatedPayment {
  const captured = textOrNull(row, 'captured');
  return {
    operationRef: text(row, 'operation_ref'),
    reference: text(row, 'reference'),
    outcome: text(row, 'outcome') as SimulatedPayment['outcome'],
    reason: textOrNull(row, 'reason') as Reason | undefined,
    amount: toMoney(row),
    isSale: integer(row, 'sale') === 1,
    captured: captured === undefined ? undefined : BigInt(captured),
    refunded: BigInt(text(row, 'refunded')),
    isReversed: integer(row, 'reversed') === 1,
    triggers: textOrNull(row, 'triggers')?.split(' ') ?? [],
    notifyAt: integerOrNull(row, 'notify_at'),
    createdAt: integer(row, 'created_at'),
    revision: integer(row, 'revision'),
  };
}

/** Conflicts when the reference was seen before, except as that of a refused void. */
export function insertModification({ account, environment }: Tenant, modification: SimulatedModification): Write {
  const { operationRef, reference, payment, type, amount, outcome, reason } = modification;
  const values = [
    operationRef,
    reference,
    payment,
    type,
    String(amount.minor),
    amount.currency,
    outcome,
    reason ?? null,
  ];
  return write(INSERT_MODIFICATION, [account, environment, ...values], 1);
}

/** Conflicts when the modification was not executed, or was reversed. */
export const markModificationReversed = ({ account, environment }: Tenant, key: string): Write =>
  write(MARK_REVERSED, [account, environment, key], 1);

export async function findModification(
  database: Database,
  tenant: Tenant,
  operationRef: string,
): Promise<SimulatedModification | undefined> {
  const [row] = await database.read(FIND_MODIFICATION, tenant.account, tenant.environment, operationRef);
  if (row === undefined) return undefined;
  return {
    operationRef: text(row, 'operation_ref'),
    reference: text(row, 'reference'),
    payment: text(row, 'payment'),
    type: text(row, 'type') as SimulatedModification['type'],
    amount: toMoney(row),
    outcome: text(row, 'outcome') as SimulatedModification['outcome'],
    reason: textOrNull(row, 'reason') as Reason | undefined,
  };
}

const toMoney = (row: Row): Money => ({
  minor: BigInt(text(row, 'amount')),
  currency: text(row, 'currency') as Currency,
});
