import { FINGERPRINT_VERSION, fingerprint } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Place, placeOf } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { blob, blobOrNull, type Database, integer, type Row, text, type Write, write } from '../storage/database.ts';
import { type Capture, captureRecord, readCaptureRecord, readSensitiveRecord, sensitiveRecord } from './capture.ts';

const INSERT = `insert into captures (account, environment, id, record, sensitive, fingerprint, fingerprint_version, amount,
  currency, created_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const COLUMNS = 'id, record, sensitive, fingerprint, amount, currency, created_at, expires_at';
const FIND = `select ${COLUMNS} from captures where account = ? and environment = ? and id = ? and expires_at > ?`;
const LIVE = `select ${COLUMNS} from captures where account = ? and environment = ? and expires_at > ?
  and created_at <= ? and (created_at < ? or id < ?) order by created_at desc, id desc limit ?`;
const DELETE = 'delete from captures where account = ? and environment = ? and id = ? and expires_at > ?';
const EXPIRED = 'select account, environment, id from captures where expires_at <= ? limit ?';
const REMOVE = 'delete from captures where account = ? and environment = ? and id = ? and expires_at <= ?';

type Field = 'record' | 'sensitive';

type Bound = Pick<Capture, 'id' | 'amount' | 'currency' | 'expiresAt'>;

/** Bound to the columns that stand in clear, too: whoever changes an expiry in the database gets nothing. */
function placeOfField({ environment, account }: Tenant, bound: Bound, field: Field): Place {
  const { id, amount, currency, expiresAt } = bound;
  return placeOf(environment, account, 'captures', id, field, String(amount), currency, String(expiresAt));
}

/** A capture without its sensitive authentication data, which stays sealed, and the index of its card number. */
export interface StoredCapture {
  readonly capture: Omit<Capture, 'sensitive'>;
  readonly sealedSensitive: Uint8Array | undefined;
  /** Equal for equal card numbers of one tenant; absent without a card number. */
  readonly panIndex: string | undefined;
}

export async function insertCapture(keyring: Keyring, tenant: Tenant, capture: Capture): Promise<Write> {
  const { id, pan, amount, currency, createdAt, expiresAt } = capture;
  const seal = await keyring.sealer(tenant, 'captures', 1);
  const record = seal(placeOfField(tenant, capture, 'record'), captureRecord(capture));
  const sensitive = await sealSensitive(keyring, tenant, capture);
  const index = pan === undefined ? null : await panFingerprint(keyring, tenant, pan);
  const sealed = [record, sensitive, index, FINGERPRINT_VERSION];
  return write(INSERT, [tenant.account, tenant.environment, id, ...sealed, amount, currency, createdAt, expiresAt], 1);
}

async function sealSensitive(keyring: Keyring, tenant: Tenant, capture: Capture): Promise<Uint8Array | null> {
  const record = sensitiveRecord(capture.sensitive);
  if (record === undefined) return null;
  const seal = await keyring.sealer(tenant, 'sensitive-authentication-data', 1);
  return seal(placeOfField(tenant, capture, 'sensitive'), record);
}

const panFingerprint = async (keyring: Keyring, tenant: Tenant, pan: string): Promise<Uint8Array> =>
  new Uint8Array(fingerprint(await keyring.digestKey({ ...tenant, purpose: 'fingerprints' }), pan));

/** The capture, when it exists and its ttl has not ended. */
export async function findCapture(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
  now: number,
): Promise<StoredCapture | undefined> {
  const [row] = await database.read(FIND, tenant.account, tenant.environment, id, now);
  return row && openCapture(keyring, tenant, row);
}

/** A row of `liveCaptures`. Throws `UnsealError`. */
export async function openCapture(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredCapture> {
  const bound = {
    id: text(row, 'id'),
    amount: integer(row, 'amount'),
    currency: text(row, 'currency'),
    expiresAt: integer(row, 'expires_at'),
  };
  const record = await keyring.open(tenant, 'captures', placeOfField(tenant, bound, 'record'), blob(row, 'record'));
  const index = blobOrNull(row, 'fingerprint');
  const capture = { ...bound, ...readCaptureRecord(record.toString('utf8')), createdAt: integer(row, 'created_at') };
  const panIndex = index === undefined ? undefined : Buffer.from(index).toString('hex');
  return { capture, sealedSensitive: blobOrNull(row, 'sensitive'), panIndex };
}

/** Rows of captures whose ttl has not ended, the newest first, behind a place in that order. */
export const liveCaptures = (
  database: Database,
  { account, environment }: Tenant,
  now: number,
  { createdAt, id }: { readonly createdAt: number; readonly id: string },
  limit: number,
): Promise<Row[]> => database.read(LIVE, account, environment, now, createdAt, createdAt, id, limit);

export async function openSensitive(
  keyring: Keyring,
  tenant: Tenant,
  stored: StoredCapture,
): Promise<Capture['sensitive']> {
  const { sealedSensitive, capture } = stored;
  if (sealedSensitive === undefined) return readSensitiveRecord(undefined);
  const place = placeOfField(tenant, capture, 'sensitive');
  const record = await keyring.open(tenant, 'sensitive-authentication-data', place, sealedSensitive);
  return readSensitiveRecord(record.toString('utf8'));
}

/** Conflicts when there is no such capture any more. */
export const deleteCapture = (tenant: Tenant, id: string, now: number): Write =>
  write(DELETE, [tenant.account, tenant.environment, id, now], 1);

/** Sensitive authentication data of these captures, for good; one that is gone is no fault. */
export const eraseSensitive = ({ account, environment }: Tenant, ids: readonly string[]): Write => ({
  sql: 'update captures set sensitive = null where account = ? and environment = ? and id = ?',
  rows: ids.map((id) => [account, environment, id]),
});

/** Removes captures whose ttl has ended; returns how many. */
export async function removeExpiredCaptures(database: Database, now: number, limit: number): Promise<number> {
  const rows = await database.read(EXPIRED, now, limit);
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => [text(row, 'account'), text(row, 'environment'), text(row, 'id'), now]);
  await database.commit({ writes: [{ sql: REMOVE, rows: ids }], erases: true });
  return rows.length;
}
