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
import type { Reason } from '../../transitions.ts';
import type { Entry, Movement } from './entry.ts';

const ENTRY_COLUMNS =
  'key, reference, verdict, reason, amount, currency, sale, captured, refunded, undone, behaviour, news_at, created_at, revision';
const INSERT_ENTRY = `insert into simulator_payments (account, environment, ${ENTRY_COLUMNS})
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`;
const UPDATE_ENTRY = `update simulator_payments set captured = ?, refunded = ?, undone = ?, behaviour = ?, news_at = ?,
  revision = revision + 1 where account = ? and environment = ? and key = ? and revision = ?`;
const FIND_ENTRY = `select ${ENTRY_COLUMNS} from simulator_payments where account = ? and environment = ? and key = ?`;
const FIND_NEWS = `select account, environment, ${ENTRY_COLUMNS} from simulator_payments
  where news_at is not null and news_at <= ? order by news_at limit ?`;

const MOVEMENT_COLUMNS = 'key, reference, payment, move, amount, currency, verdict, reason';
// A void that was refused may be tried again under its key: it does no harm.
const INSERT_MOVEMENT = `insert into simulator_movements (account, environment, ${MOVEMENT_COLUMNS})
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (account, environment, key) do update
  set reference = excluded.reference, verdict = excluded.verdict, reason = excluded.reason
  where simulator_movements.move = 'void' and simulator_movements.verdict = 'refused'
  and excluded.move = 'void' and excluded.verdict <> 'closed'`;
const UNDO_MOVEMENT = `update simulator_movements set verdict = 'undone'
  where account = ? and environment = ? and key = ? and verdict = 'approved'`;
const FIND_MOVEMENT = `select ${MOVEMENT_COLUMNS} from simulator_movements
  where account = ? and environment = ? and key = ?`;

const NEWS_AT_ONCE = 100;

/** Repeats what others may get in the way of, until it has a result. */
export async function untilSettled<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < LIMITS.commitAttempts; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new StorageError('the simulator finds no moment to write');
}

/** Conflicts when the key was seen before. */
export function insertEntry({ account, environment }: Tenant, entry: Entry): Write {
  const { key, reference, verdict, reason, amount, sale, createdAt, revision } = entry;
  const what = [key, reference, verdict, reason ?? null, String(amount.minor), amount.currency, Number(sale)];
  return write(INSERT_ENTRY, [account, environment, ...what, ...changing(entry), createdAt, revision], 1);
}

/** Conflicts when the payment is not as it was when it was read. */
export const updateEntry = ({ account, environment }: Tenant, entry: Entry): Write =>
  write(UPDATE_ENTRY, [...changing(entry), account, environment, entry.key, entry.revision], 1);

const changing = ({ captured, refunded, undone, behaviour, newsAt }: Entry) => [
  captured === undefined ? null : String(captured),
  String(refunded),
  Number(undone),
  behaviour.length === 0 ? null : behaviour.join(' '),
  newsAt ?? null,
];

export async function findEntry(database: Database, tenant: Tenant, key: string): Promise<Entry | undefined> {
  const [row] = await database.read(FIND_ENTRY, tenant.account, tenant.environment, key);
  return row === undefined ? undefined : entryOf(row);
}

/** Payments with news to tell by now, the oldest news first. */
export async function findNews(database: Database, now: number): Promise<{ tenant: Tenant; entry: Entry }[]> {
  const rows = await database.read(FIND_NEWS, now, NEWS_AT_ONCE);
  return rows.map((row) => ({
    tenant: { account: text(row, 'account'), environment: text(row, 'environment') as Environment },
    entry: entryOf(row),
  }));
}

function entryOf(row: Row): Entry {
  const captured = textOrNull(row, 'captured');
  return {
    key: text(row, 'key'),
    reference: text(row, 'reference'),
    verdict: text(row, 'verdict') as Entry['verdict'],
    reason: textOrNull(row, 'reason') as Reason | undefined,
    amount: moneyOf(row),
    sale: integer(row, 'sale') === 1,
    captured: captured === undefined ? undefined : BigInt(captured),
    refunded: BigInt(text(row, 'refunded')),
    undone: integer(row, 'undone') === 1,
    behaviour: textOrNull(row, 'behaviour')?.split(' ') ?? [],
    newsAt: integerOrNull(row, 'news_at'),
    createdAt: integer(row, 'created_at'),
    revision: integer(row, 'revision'),
  };
}

/** Conflicts when the key was seen before, unless as that of a void that was refused. */
export function insertMovement({ account, environment }: Tenant, movement: Movement): Write {
  const { key, reference, payment, move, amount, verdict, reason } = movement;
  const what = [key, reference, payment, move, String(amount.minor), amount.currency, verdict, reason ?? null];
  return write(INSERT_MOVEMENT, [account, environment, ...what], 1);
}

/** Conflicts when it was not done, or no longer is. */
export const undoMovement = ({ account, environment }: Tenant, key: string): Write =>
  write(UNDO_MOVEMENT, [account, environment, key], 1);

export async function findMovement(database: Database, tenant: Tenant, key: string): Promise<Movement | undefined> {
  const [row] = await database.read(FIND_MOVEMENT, tenant.account, tenant.environment, key);
  if (row === undefined) return undefined;
  return {
    key: text(row, 'key'),
    reference: text(row, 'reference'),
    payment: text(row, 'payment'),
    move: text(row, 'move') as Movement['move'],
    amount: moneyOf(row),
    verdict: text(row, 'verdict') as Movement['verdict'],
    reason: textOrNull(row, 'reason') as Reason | undefined,
  };
}

const moneyOf = (row: Row): Money => ({
  minor: BigInt(text(row, 'amount')),
  currency: text(row, 'currency') as Currency,
});
