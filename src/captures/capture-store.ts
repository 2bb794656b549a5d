import type { DigestKeys } from '../crypto/digest-keys.ts';
import { FINGERPRINT_VERSION } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys, SealedSad } from '../crypto/sad-keys.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import {
  blob,
  blobOrNull,
  type Database,
  integer,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../storage/database.ts';
import type { DigestColumn } from '../storage/digest-columns.ts';
import { type RecordCount, ROWS_COUNTED, toRecordCount } from '../storage/pagination.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import type { Table } from '../storage/table.ts';
import { type Capture, formatCaptureRecord, formatSadRecord, parseCaptureRecord, parseSadRecord } from './capture.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'captures',
    key: ['account', 'environment', 'created_at', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      record: 'blob',
      sad: 'blob',
      fingerprint: 'blob',
      fingerprint_version: 'integer',
      amount: 'integer',
      currency: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      sad_key: 'text',
    },
  },
];

const INSERT = `insert into captures (account, environment, id, record, sad, sad_key, fingerprint, fingerprint_version,
  amount, currency, created_at, expires_at) values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const COLUMNS = 'id, record, sad, fingerprint, amount, currency, created_at, expires_at';
const FIND = `select ${COLUMNS} from captures where account = ?account and environment = ?environment and id = ? and expires_at > ?`;
/** The newest of those whose ttl has not ended, with one currency or any. */
const COUNT_NEWEST = `select count(*) as looked,
  count(case when expires_at > ? and (currency = ? or 1 = ?) then 1 end) as number from
    (select expires_at, currency from captures where account = ?account and environment = ?environment
      and created_at between ? and ? order by created_at desc limit ${ROWS_COUNTED}) newest`;
const ACTIVE = `select ${COLUMNS} from captures where account = ?account and environment = ?environment and expires_at > ?`;
const LIST_NEWEST = `${ACTIVE} and created_at between ? and ? and (created_at < ? or id < ?)
  order by created_at desc, id desc limit ?`;
const LIST_OLDEST = `${ACTIVE} and created_at between ? and ? and (created_at > ? or id > ?) order by created_at, id limit ?`;
/** The times that the other lists cannot reach, which this service never writes. */
const LIST_UNTIMED = `${ACTIVE} and (created_at < 0 or created_at > ${Number.MAX_SAFE_INTEGER}) and id > ? order by id limit ?`;
const DELETE =
  'delete from captures where account = ?account and environment = ?environment and id = ? and expires_at > ?';
const LIST_EXPIRED = 'select account, environment, id from captures where expires_at <= ? limit ?';
const HAS_EXPIRED = 'select 1 as due from captures where expires_at <= ? limit 1';
const PURGE =
  'delete from captures where account = ?account and environment = ?environment and id = ? and expires_at <= ?';

const FIND_SAD_KEY = 'select sad_key from captures where account = ?account and environment = ?environment and id = ?';
const REPLACE_SAD = `update captures set sad = ?, sad_key = ?
  where account = ?account and environment = ?environment and id = ? and sad_key = ?`;
const NEXT_SAD_KEY = `select sad_key from captures where sad_key is not null and sad_key > ? order by sad_key limit 1`;

type Field = 'record' | 'sad';

type ClearColumns = Pick<Capture, 'id' | 'amount' | 'currency' | 'createdAt' | 'expiresAt'>;

/** Binds the ciphertext to the clear columns: an expiry that an attacker changed in the database unseals nothing. */
function fieldContext(
  { environment, account }: Tenant,
  columns: ClearColumns,
  field: Field,
  ...more: string[]
): EncryptionContext {
  const { id, amount, currency, createdAt, expiresAt } = columns;
  const times = [String(createdAt), String(expiresAt)];
  return encryptionContext(environment, account, 'captures', id, field, String(amount), currency, ...times, ...more);
}

/** The record is bound to the fingerprint of its card number, too: a search for the card finds the capture by it. */
const recordContext = (tenant: Tenant, columns: ClearColumns, fingerprint: string | undefined): EncryptionContext =>
  fieldContext(tenant, columns, 'record', ...(fingerprint === undefined ? [] : [fingerprint]));

/** A capture without its sensitive authentication data, which stays sealed, and the index of its card number. */
export interface StoredCapture {
  readonly capture: Omit<Capture, 'sad'>;
  readonly sealedSad: Uint8Array | undefined;
  /** Equal for equal card numbers of one tenant, until its key is rotated; absent without a card number. */
  readonly panIndex: string | undefined;
}

/** `sad` of this capture, as `sealSad` sealed it. */
export async function insertCapture(
  keyring: Keyring,
  tenant: Tenant,
  capture: Capture,
  sad: SealedSad | undefined,
): Promise<Write> {
  const { id, pan, amount, currency, createdAt, expiresAt } = capture;
  const seal = await keyring.sealer(tenant, 'captures', 1);
  const index = pan === undefined ? undefined : await computePanFingerprint(keyring, tenant, pan);
  const record = seal(recordContext(tenant, capture, toHex(index)), formatCaptureRecord(capture));
  const sealed = [record, sad?.bytes ?? null, sad?.keyId ?? null, index ?? null, FINGERPRINT_VERSION];
  return write(INSERT, [tenant.account, tenant.environment, id, ...sealed, amount, currency, createdAt, expiresAt], 1);
}

/** Returns undefined when the capture has no sensitive authentication data. */
export async function sealSad(sadKeys: SadKeys, tenant: Tenant, capture: Capture): Promise<SealedSad | undefined> {
  const plaintext = formatSadRecord(capture.sad);
  if (plaintext === undefined) return undefined;
  const context = fieldContext(tenant, capture, 'sad');
  return sadKeys.seal({ environment: tenant.environment, expiresAt: capture.expiresAt, context, plaintext });
}

/** Returns the id of the key of the stored sensitive authentication data; undefined when it was erased. */
export async function findSadKeyId(database: Database, tenant: Tenant, id: string): Promise<string | undefined> {
  const [row] = await database.read(FIND_SAD_KEY, tenant.account, tenant.environment, id);
  return row && textOrNull(row, 'sad_key');
}

/** Replaces sensitive authentication data with newly sealed data; conflicts when the stored data has another key. */
export const replaceSad = ({ account, environment }: Tenant, id: string, keyId: string, sad: SealedSad): Write =>
  write(REPLACE_SAD, [sad.bytes, sad.keyId, account, environment, id, keyId], 1);

const INDEX_PURPOSE = 'pan-indexes';

/** Clients store indexes of card numbers: a rotation of their key, which changes all of them, needs an explicit command. */
const loadPanIndexKeys = (keyring: Keyring, tenant: Tenant): Promise<DigestKeys> =>
  keyring.digests({ ...tenant, purpose: INDEX_PURPOSE });

/** The first one names the version of new rows. */
const computePanFingerprint = async (keyring: Keyring, tenant: Tenant, pan: string): Promise<Uint8Array | undefined> =>
  (await loadPanIndexKeys(keyring, tenant)).listFingerprints(pan)[0];

/** Returns the index that clients see: without the version, and of the current one whatever the row has, so that those of all captures are equal. */
async function computePanIndex(keyring: Keyring, tenant: Tenant, pan: string): Promise<string | undefined> {
  return toHex((await computePanFingerprint(keyring, tenant, pan))?.subarray(1));
}

const toHex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');

/** A capture ends within days, so its fingerprint stays under the version of its time. */
export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  { table: 'captures', purpose: INDEX_PURPOSE, scope: 'tenant', key: ['created_at', 'id'], column: 'fingerprint' },
];

/** Returns the capture; undefined when it does not exist or its ttl has ended. */
export async function findCapture(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
  now: number,
): Promise<StoredCapture | undefined> {
  const row = await findCaptureRow(database, tenant, id, now);
  return row && unsealCapture(keyring, tenant, row);
}

/** Returns the row for `unsealCapture`; undefined when the capture does not exist or its ttl has ended. */
export const findCaptureRow = async (
  database: Database,
  { account, environment }: Tenant,
  id: string,
  now: number,
): Promise<Row | undefined> => (await database.read(FIND, account, environment, id, now))[0];

const toClearColumns = (row: Row): ClearColumns => ({
  id: text(row, 'id'),
  amount: integer(row, 'amount'),
  currency: text(row, 'currency'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

const toTenant = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

/** Without `sad`, whose keys are destroyed with their hour of expiry, see `crypto/sad-keys.ts`. */
export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'captures',
    purpose: 'captures',
    scope: 'tenant',
    key: ['created_at', 'id'],
    bound: ['amount', 'currency', 'expires_at', 'fingerprint'],
    contexts: {
      record: (row) => recordContext(toTenant(row), toClearColumns(row), toHex(blobOrNull(row, 'fingerprint'))),
    },
  },
];

/** Unseals a row of `listActiveCaptures`. Throws `UnsealError`. */
export async function unsealCapture(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredCapture> {
  const columns = toClearColumns(row);
  const context = recordContext(tenant, columns, toHex(blobOrNull(row, 'fingerprint')));
  const record = await keyring.unseal(tenant, 'captures', context, blob(row, 'record'));
  const capture = { ...columns, ...parseCaptureRecord(record.toString('utf8')) };
  record.fill(0);
  const panIndex = capture.pan === undefined ? undefined : await computePanIndex(keyring, tenant, capture.pan);
  return { capture, sealedSad: blobOrNull(row, 'sad'), panIndex };
}

/** The place of a capture in the order of lists. */
export interface ListPosition {
  /** Undefined when the time was altered to one that no capture has. */
  readonly createdAt: number | undefined;
  readonly id: string;
}

/** Unix times in milliseconds between which captures were created; `to` is exclusive. */
export interface CreationPeriod {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** A period whose captures are read in an order. */
export interface SortedPeriod extends CreationPeriod {
  /** Absent: the newest first. */
  readonly order?: SortOrder | undefined;
}

/**
 * Returns rows of captures whose ttl has not ended behind a position in the order, and last those with a time that no
 * capture has, which belong to no period.
 */
export async function listActiveCaptures(
  database: Database,
  { account, environment }: Tenant,
  now: number,
  { from, to, order = 'newest' }: SortedPeriod,
  { createdAt, id }: ListPosition,
  limit: number,
): Promise<Row[]> {
  if (createdAt === undefined) return database.read(LIST_UNTIMED, account, environment, now, id, limit);
  const range = order === 'oldest' ? [createdAt, lastTime(to)] : [from ?? 0, createdAt];
  const sql = order === 'oldest' ? LIST_OLDEST : LIST_NEWEST;
  const rows = await database.read(sql, account, environment, now, ...range, createdAt, id, limit);
  if (rows.length === limit || from !== undefined || to !== undefined) return rows;
  return [...rows, ...(await database.read(LIST_UNTIMED, account, environment, now, '', limit - rows.length))];
}

/** Returns the last time before the end of a period. */
const lastTime = (to: number | undefined): number => (to === undefined ? Number.MAX_SAFE_INTEGER : to - 1);

/** Counts captures whose ttl has not ended; undefined when more rows would have to be read than a count may. */
export async function countListedCaptures(
  database: Database,
  { account, environment }: Tenant,
  now: number,
  { from = 0, to }: CreationPeriod,
  currency: string | undefined,
): Promise<RecordCount | undefined> {
  const condition = [now, currency ?? '', currency === undefined ? 1 : 0];
  const [row = {}] = await database.read(COUNT_NEWEST, ...condition, account, environment, from, lastTime(to));
  return toRecordCount(integer(row, 'looked'), integer(row, 'number'));
}

/** Returns no data when the capture has none, or its key does not exist. Throws `UnsealError`. */
export async function unsealSad(sadKeys: SadKeys, tenant: Tenant, stored: StoredCapture): Promise<Capture['sad']> {
  const { sealedSad, capture } = stored;
  if (sealedSad === undefined) return parseSadRecord(undefined);
  const record = await sadKeys.unseal(fieldContext(tenant, capture, 'sad'), sealedSad);
  const sad = parseSadRecord(record?.toString('utf8'));
  record?.fill(0);
  return sad;
}

/** Conflicts when the capture does not exist. */
export const deleteCapture = (tenant: Tenant, id: string, now: number): Write =>
  write(DELETE, [tenant.account, tenant.environment, id, now], 1);

/** Erases the sensitive authentication data of these captures permanently; missing captures are ignored. */
export const eraseSad = ({ account, environment }: Tenant, ids: readonly string[]): Write => ({
  sql: 'update captures set sad = null, sad_key = null where account = ?account and environment = ?environment and id = ?',
  rows: ids.map((id) => [account, environment, id]),
});

export const hasExpiredCaptures = async (database: Database, now: number): Promise<boolean> =>
  (await database.read(HAS_EXPIRED, now)).length > 0;

/** Returns ids of the keys that captures name. Each costs one search of an index, however many captures name it. */
export async function listSadKeyIds(database: Database): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let last = ''; ; ) {
    const [row] = await database.read(NEXT_SAD_KEY, last);
    if (row === undefined) return ids;
    last = text(row, 'sad_key');
    ids.add(last);
  }
}

/** Removes captures whose ttl has ended; returns how many. */
export async function purgeExpiredCaptures(database: Database, now: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_EXPIRED, now, limit);
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => [text(row, 'account'), text(row, 'environment'), text(row, 'id'), now]);
  await database.commit({ writes: [{ sql: PURGE, rows: ids }], scrubAfterCommit: true });
  return rows.length;
}

const COUNT_ACTIVE =
  'select count(*) as number from captures where account = ?account and environment = ?environment and expires_at > ?';

/** Returns how many captures have not expired at `now`. */
export async function countActiveCaptures(database: Database, tenant: Tenant, now: number): Promise<number> {
  const [row = {}] = await database.read(COUNT_ACTIVE, tenant.account, tenant.environment, now);
  return integer(row, 'number');
}
