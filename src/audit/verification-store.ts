import type { DigestKeys } from '../crypto/digest-keys.ts';
import { computeRowMac, isRowMacValid } from '../crypto/row-mac.ts';
import {
  blob,
  commitOrThrow,
  type Database,
  type DatabaseReads,
  integer,
  type Row,
  text,
  type Value,
  write,
} from '../storage/database.ts';
import type { DigestColumn } from '../storage/digest-columns.ts';
import type { Head } from '../storage/journal.ts';
import { safeInteger } from '../storage/mac-table.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'verified_heads',
    key: ['account', 'lane'],
    columns: { account: 'integer', lane: 'integer', sequence: 'integer', hash: 'text', mac: 'blob' },
    isLocal: true,
  },
  {
    name: 'verifications',
    key: ['kind'],
    columns: { kind: 'text', at: 'integer', succeeded_at: 'integer', records: 'integer', fault: 'text', mac: 'blob' },
    isLocal: true,
  },
];

/**
 * The verified heads of the log and the results of verifications. Both have a MAC under the key of the journal: an
 * attacker can delete a row, after which more is verified, but can advance none.
 */
export type VerificationKind = 'daily' | 'full';

export interface StoredVerification {
  readonly kind: VerificationKind;
  /** Time at which the verification ended. */
  readonly at: number;
  /** Time at which the newest verification without a fault ended; 0 for none. */
  readonly succeededAt: number;
  readonly records: number;
  /** Empty when the log is intact. */
  readonly fault: string;
}

const PAGE = 1000;
const HEAD_COLUMNS = `select account, ${safeInteger('sequence')} as sequence, hash, mac from verified_heads`;
const LIST_HEADS = `${HEAD_COLUMNS} where lane = ? and account > ?account order by account limit ?`;
const FIND_SERVICE_HEAD = `${HEAD_COLUMNS} where lane = ? and account = 0`;
const UPSERT_HEAD = `insert into verified_heads (account, lane, sequence, hash, mac) values (?account, ?, ?, ?, ?)
  on conflict (account, lane) do update set sequence = excluded.sequence, hash = excluded.hash, mac = excluded.mac`;
const VERIFICATION_COLUMNS = [
  ...['at', 'succeeded_at', 'records'].map((column) => `${safeInteger(column)} as ${column}`),
  'fault',
];
const LIST_VERIFICATIONS = `select kind, ${VERIFICATION_COLUMNS.join(', ')}, mac from verifications order by kind`;
const UPSERT_VERIFICATION = `insert into verifications (kind, at, succeeded_at, records, fault, mac) values (?, ?, ?, ?, ?, ?)
  on conflict (kind) do update set at = excluded.at, succeeded_at = excluded.succeeded_at, records = excluded.records,
    fault = excluded.fault, mac = excluded.mac`;

const HEADS_TABLE = 'verified_heads';
const VERIFICATIONS_TABLE = 'verifications';

const toHeadValues = ({ account, lane, sequence, hash }: Head): Value[] => [account, lane, sequence, hash];

const toHead = (row: Row, account: string, lane: number): Head => ({
  account,
  lane,
  sequence: Number(row['sequence']),
  hash: String(row['hash']),
});

const toVerification = (row: Row): StoredVerification => ({
  kind: String(row['kind']) as VerificationKind,
  at: Number(row['at']),
  succeededAt: Number(row['succeeded_at']),
  records: Number(row['records']),
  fault: String(row['fault']),
});

const toVerificationValues = ({ kind, at, succeededAt, records, fault }: StoredVerification): Value[] => [
  kind,
  at,
  succeededAt,
  records,
  fault,
];

const REPLACE_HEAD_MAC = 'update verified_heads set mac = ? where account = ?account and lane = ? and mac = ?';
const REPLACE_VERIFICATION_MAC = 'update verifications set mac = ? where kind = ? and mac = ?';

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: HEADS_TABLE,
    purpose: 'journal',
    scope: 'service',
    key: ['account', 'lane'],
    column: 'mac',
    selects: [`${safeInteger('sequence')} as sequence`, 'hash'],
    renew: async ({ keys }, row) => {
      const columns = toHeadValues(toHead(row, text(row, 'account'), integer(row, 'lane')));
      if (!isRowMacValid(keys, HEADS_TABLE, columns, row['mac'])) return 'altered';
      const mac = computeRowMac(keys, HEADS_TABLE, columns);
      return [write(REPLACE_HEAD_MAC, [mac, ...columns.slice(0, 2), blob(row, 'mac')], 1)];
    },
  },
  {
    table: VERIFICATIONS_TABLE,
    purpose: 'journal',
    scope: 'service',
    key: ['kind'],
    column: 'mac',
    selects: VERIFICATION_COLUMNS,
    renew: async ({ keys }, row) => {
      const columns = toVerificationValues(toVerification(row));
      if (!isRowMacValid(keys, VERIFICATIONS_TABLE, columns, row['mac'])) return 'altered';
      const mac = computeRowMac(keys, VERIFICATIONS_TABLE, columns);
      return [write(REPLACE_VERIFICATION_MAC, [mac, text(row, 'kind'), blob(row, 'mac')], 1)];
    },
  },
];

// Rows are read whatever they contain: a malformed one has no valid MAC, and must not stop the verification
// permanently.

/** Returns the verified heads of a lane, by account. An altered row is ignored. */
export async function listVerifiedHeads(database: Database, key: DigestKeys, lane: number): Promise<Map<string, Head>> {
  const heads = new Map<string, Head>();
  await key.refresh();
  let rows = await database.read(FIND_SERVICE_HEAD, lane);
  for (let last = ''; ; ) {
    for (const row of rows) {
      last = text(row, 'account');
      const head = toHead(row, last, lane);
      if (isRowMacValid(key, HEADS_TABLE, toHeadValues(head), row['mac'])) heads.set(last, head);
    }
    await yieldBeforeScan();
    rows = await database.read(LIST_HEADS, lane, last, PAGE);
    if (rows.length === 0) return heads;
  }
}

export async function upsertVerifiedHeads(database: Database, key: DigestKeys, heads: readonly Head[]): Promise<void> {
  if (heads.length === 0) return;
  await key.refresh();
  const rows = heads.map(toHeadValues).map((columns) => [...columns, computeRowMac(key, HEADS_TABLE, columns)]);
  await commitOrThrow(database, { writes: [{ sql: UPSERT_HEAD, rows }] });
}

/** Returns the newest verification of each kind. */
export async function listVerifications(database: Database, key: DigestKeys): Promise<StoredVerification[]> {
  await key.refresh();
  return (await database.read(LIST_VERIFICATIONS)).flatMap((row) => {
    const stored = toVerification(row);
    return isRowMacValid(key, VERIFICATIONS_TABLE, toVerificationValues(stored), row['mac']) ? [stored] : [];
  });
}

/** The same for a diagnosis that has no key: rows that were altered in the database are not recognized. */
export const listUnprovenVerifications = async (database: DatabaseReads): Promise<StoredVerification[]> =>
  (await database.read(LIST_VERIFICATIONS)).map(toVerification);

export async function upsertVerification(
  database: Database,
  key: DigestKeys,
  stored: StoredVerification,
): Promise<void> {
  await key.refresh();
  const columns = toVerificationValues(stored);
  const row = [...columns, computeRowMac(key, VERIFICATIONS_TABLE, columns)];
  await commitOrThrow(database, { writes: [{ sql: UPSERT_VERIFICATION, rows: [row] }] });
}
