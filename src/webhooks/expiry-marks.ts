import { SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import { DAY, formatIso8601 } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, integer, integerOrNull, type Value, write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import type { Outbox, WebhookEvent } from './outbox.ts';

/** Tells once over all nodes that a key or a certificate expires soon (webhooks.md 2). */

export const TABLES: readonly Table[] = [
  {
    name: 'webhook_expiries',
    key: ['account', 'environment', 'subject', 'expires_at'],
    columns: {
      account: 'integer',
      environment: 'integer',
      subject: 'text',
      expires_at: 'integer',
      seen_at: 'integer',
      told_at: 'integer',
    },
  },
];

/** Something of a tenant that expires. */
export interface Expiring extends Tenant {
  /** A name that is its own in the tenant, as `key:key_…`. */
  readonly subject: string;
  readonly expiresAt: number;
  /** Days before the end at which it is reported, the largest first. */
  readonly marks: readonly number[];
  readonly event: WebhookEvent;
}

const OF_SUBJECT = 'account = ?account and environment = ?environment and subject = ? and expires_at = ?';
const FIND = `select seen_at, told_at from webhook_expiries where ${OF_SUBJECT}`;
const INSERT = `insert into webhook_expiries (account, environment, subject, expires_at, seen_at)
  values (?account, ?environment, ?, ?, ?) on conflict do nothing`;
/** One of several nodes succeeds. */
const TELL = `update webhook_expiries set told_at = ? where ${OF_SUBJECT} and coalesce(told_at, 0) = ?`;
const LIST_OLD = 'select account, environment, subject, expires_at from webhook_expiries where expires_at < ? limit ?';
const DELETE = `delete from webhook_expiries where ${OF_SUBJECT}`;

/**
 * Returns the time of the newest mark that has passed since the date was seen and was not reported; undefined when there is none. After a
 * standstill only that one is reported. Pure.
 */
export function dueMark(
  { expiresAt, marks }: Pick<Expiring, 'expiresAt' | 'marks'>,
  { seenAt, toldAt = 0 }: { readonly seenAt: number; readonly toldAt?: number | undefined },
  now: number,
): number | undefined {
  const passed = marks.map((days) => expiresAt - days * DAY).filter((at) => at > seenAt && at <= now);
  const newest = passed.at(-1);
  return newest !== undefined && newest > toldAt && expiresAt > now ? newest : undefined;
}

/** Writes down dates when it sees them first, so that marks that were past by then are never reported. */
export class ExpiryMarks {
  readonly #database: Database;
  readonly #transactions: Transactions;
  readonly #outbox: Outbox;

  constructor(options: { database: Database; transactions: Transactions; outbox: Outbox }) {
    this.#database = options.database;
    this.#transactions = options.transactions;
    this.#outbox = options.outbox;
  }

  async run(expiring: readonly Expiring[], now: number): Promise<void> {
    for (const each of expiring) await this.#look(each, now);
    while ((await this.#deleteOld(now - LIMITS.webhookDaysKept * DAY)) > 0);
  }

  async #deleteOld(before: number): Promise<number> {
    const old = await this.#database.readStored(LIST_OLD, before, LIMITS.rowsPerSweep);
    const rows = old.map((row) =>
      ['account', 'environment', 'subject', 'expires_at'].map((name) => row[name] as Value),
    );
    if (rows.length > 0) await this.#database.commit({ writes: [{ sql: DELETE, rows }] });
    return rows.length;
  }

  async #look(expiring: Expiring, now: number): Promise<void> {
    const { account, environment, subject, expiresAt } = expiring;
    const key = [account, environment, subject, expiresAt] as const;
    const [row] = await this.#database.read(FIND, ...key);
    if (row === undefined) {
      await this.#database.commit({ account, writes: [write(INSERT, [...key, now])] });
      return;
    }
    const known = { seenAt: integer(row, 'seen_at'), toldAt: integerOrNull(row, 'told_at') };
    const mark = dueMark(expiring, known, now);
    if (mark === undefined) return;
    await this.#transactions.run({ origin: SERVICE_ORIGIN, account }, async (transaction) => {
      // A conflict: another node has reported it.
      if (transaction.attempt > 0) return;
      transaction.write(write(TELL, [mark, ...key, known.toldAt ?? 0], 1));
      await this.#outbox.emit(transaction, { account, environment }, expiring.event);
    });
  }
}

/** Days before the end of a key and of a certificate. */
const KEY_MARKS = [14, 1];
const CERTIFICATE_MARKS = [30, 7, 1];

export const expiringKey = (
  tenant: Tenant,
  { id, name, expiresAt }: { readonly id: string; readonly name: string; readonly expiresAt: number },
): Expiring => ({
  ...tenant,
  subject: `key:${id}`,
  expiresAt,
  marks: KEY_MARKS,
  event: { type: 'key.expiring', data: { id, name, expires_at: formatIso8601(expiresAt) } },
});

export const expiringCertificate = (tenant: Tenant, use: 'merchant' | 'processor', expiresAt: number): Expiring => ({
  ...tenant,
  subject: `certificate:${use}`,
  expiresAt,
  marks: CERTIFICATE_MARKS,
  event: { type: 'certificate.expiring', data: { use, expires_at: formatIso8601(expiresAt) } },
});
