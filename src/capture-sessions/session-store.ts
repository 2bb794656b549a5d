import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, UnsealError } from '../crypto/seal.ts';
import { sealJson, unsealJson } from '../crypto/sealed-json.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Cache } from '../storage/cache.ts';
import {
  blob,
  blobOrNull,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import type { Session, SessionResult, SessionSettings, SessionStatus } from './session.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'capture_sessions',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      status: 'text',
      record: 'blob',
      secret: 'blob',
      attempts: 'integer',
      created_at: 'integer',
      expires_at: 'integer',
      ended_at: 'integer',
      attempt: 'text',
      result: 'blob',
    },
  },
];

const PURPOSE = 'capture-sessions';
const OF_TENANT = 'account = ?account and environment = ?environment';
const COLUMNS =
  'account, environment, id, status, record, secret, attempts, created_at, expires_at, ended_at, attempt, result';
const INSERT = `insert into capture_sessions (account, environment, id, status, record, secret, attempts, created_at, expires_at)
  values (?account, ?environment, ?, 'open', ?, ?, 0, ?, ?)`;
const FIND = `select ${COLUMNS} from capture_sessions where id = ?`;
const LIST = `select ${COLUMNS} from capture_sessions where ${OF_TENANT} and (created_at, id) < (?, ?)
  order by created_at desc, id desc limit ?`;
/** Each index that a planner may choose for this condition finds one row: PostgreSQL also chooses that by the time of creation. */
const ONE = `${OF_TENANT} and created_at = ? and id = ?`;
/** The condition of every end: open, in time, and with as many refused submissions as were read. */
const OPEN = `${ONE} and status = 'open' and attempts = ? and expires_at > ?`;
const COMPLETE = `update capture_sessions set status = 'completed', ended_at = ?, attempt = ?, result = ? where ${OPEN}`;
const END = `update capture_sessions set status = ?, attempts = ?, ended_at = ? where ${OPEN}`;
const EXPIRE = `update capture_sessions set status = 'expired', ended_at = expires_at
  where ${ONE} and status = 'open' and attempts = ?`;
const LIST_REMOVABLE =
  'select account, environment, created_at, id from capture_sessions where expires_at <= ? limit ?';
const DELETE = `delete from capture_sessions where ${ONE}`;

const contextOf = (
  { environment, account }: Tenant,
  id: string,
  field: 'record' | 'result',
  ...more: readonly string[]
): EncryptionContext => encryptionContext(environment, account, 'capture-sessions', id, field, ...more);

const tenantOf = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

/** The columns that a session is inserted with. They never change. */
interface CreatedRow {
  readonly tenant: Tenant;
  readonly id: string;
  readonly record: Uint8Array;
  readonly secret: Uint8Array;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const createdRowOf = (row: Row): CreatedRow => ({
  tenant: tenantOf(row),
  id: text(row, 'id'),
  record: blob(row, 'record'),
  secret: blob(row, 'secret'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
});

/** Binds the digest of the secret: another one in the database opens no session. */
const createdContext = ({ tenant, id, createdAt, expiresAt, secret }: Omit<CreatedRow, 'record'>): EncryptionContext =>
  contextOf(tenant, id, 'record', String(createdAt), String(expiresAt), Buffer.from(secret).toString('hex'));

const recordContext = (row: Row): EncryptionContext => createdContext(createdRowOf(row));

const resultContext = (row: Row): EncryptionContext =>
  contextOf(tenantOf(row), text(row, 'id'), 'result', textOrNull(row, 'attempt') ?? '');

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'capture_sessions',
    purpose: PURPOSE,
    scope: 'tenant',
    key: ['id'],
    bound: ['created_at', 'expires_at', 'secret', 'attempt'],
    contexts: { record: recordContext, result: resultContext },
  },
];

/** The settings of a session, with the columns that they were sealed into. */
export interface UnsealedSettings {
  readonly created: CreatedRow;
  readonly settings: SessionSettings;
}

/** Settings of sessions that were created or read within a minute, by id. Each of the requests of a form needs them, and they never change. */
export type RecentSettings = Cache<string, UnsealedSettings>;

/**
 * Keeps a copy of the settings, unless the merchant's additional information makes them large. The texts of a copy are parsed again, so
 * that they do not keep the body of the request in memory.
 */
export function keepSettings(recent: RecentSettings, { created, settings }: UnsealedSettings): void {
  recent.dropExpired();
  if (created.record.length > LIMITS.recentSessionBytes) return;
  recent.set(created.id, { created, settings: JSON.parse(JSON.stringify(settings)) });
}

/** A session with the digest of its secret. */
export interface StoredSession {
  readonly session: Session;
  readonly secret: Uint8Array;
}

/** Returns the write that inserts a session, and its settings as the row has them. */
export async function insertSession(
  keyring: Keyring,
  { id, tenant, settings, createdAt, expiresAt }: Session,
  secret: Uint8Array,
): Promise<UnsealedSettings & { readonly write: Write }> {
  const context = createdContext({ tenant, id, secret, createdAt, expiresAt });
  const record = await sealJson(keyring, tenant, PURPOSE, context, settings);
  const values = [tenant.account, tenant.environment, id, record, secret, createdAt, expiresAt];
  return { write: write(INSERT, values, 1), created: { tenant, id, record, secret, createdAt, expiresAt }, settings };
}

export async function findSession(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<StoredSession | undefined> {
  const [row] = await database.read(FIND, id);
  if (row === undefined) return undefined;
  const { account, environment } = tenantOf(row);
  return account === tenant.account && environment === tenant.environment ? unsealFound(keyring, row) : undefined;
}

/** Finds a session of any tenant, because the card form knows nothing but its id. */
export async function findSessionById(
  database: Database,
  keyring: Keyring,
  id: string,
  recent?: RecentSettings,
): Promise<StoredSession | undefined> {
  const [row] = await database.read(FIND, id);
  return unsealFound(keyring, row, recent);
}

/** A row of a list; the session is undefined when its row was altered in the database. */
export interface ListedSession {
  readonly id: string;
  readonly createdAt: number;
  readonly session: Session | undefined;
}

/** Lists sessions of before a position, the newest first. */
export async function listSessions(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  { createdAt, id, limit }: { readonly createdAt: number; readonly id: string; readonly limit: number },
): Promise<ListedSession[]> {
  const rows = await database.read(LIST, tenant.account, tenant.environment, createdAt, id, limit);
  return Promise.all(
    rows.map(async (row) => ({
      id: text(row, 'id'),
      createdAt: integer(row, 'created_at'),
      session: (await unsealSession(keyring, row))?.session,
    })),
  );
}

/** Throws `UnsealError` when the row was altered in the database. */
async function unsealFound(
  keyring: Keyring,
  row: Row | undefined,
  recent?: RecentSettings,
): Promise<StoredSession | undefined> {
  if (row === undefined) return undefined;
  const stored = await unsealSession(keyring, row, recent);
  if (stored === undefined) throw new UnsealError();
  return stored;
}

/** Returns undefined when the row was altered in the database. */
async function unsealSession(keyring: Keyring, row: Row, recent?: RecentSettings): Promise<StoredSession | undefined> {
  const created = createdRowOf(row);
  const { tenant, id, createdAt, expiresAt, secret } = created;
  const settings = await unsealSettings(keyring, created, recent);
  const attempt = textOrNull(row, 'attempt');
  const sealedResult = blobOrNull(row, 'result');
  const result =
    sealedResult && (await unsealJson<SessionResult>(keyring, tenant, PURPOSE, resultContext(row), sealedResult));
  if (settings === undefined || (sealedResult !== undefined && result === undefined)) return undefined;
  const session: Session = {
    ...{ id, tenant, settings, createdAt, expiresAt, attempt, result },
    status: text(row, 'status') as SessionStatus,
    attempts: integer(row, 'attempts'),
    endedAt: integerOrNull(row, 'ended_at'),
  };
  return { session, secret };
}

/** Returns undefined when the row was altered in the database: recent settings are those of an equal row alone. */
async function unsealSettings(
  keyring: Keyring,
  created: CreatedRow,
  recent: RecentSettings | undefined,
): Promise<SessionSettings | undefined> {
  const { tenant, id, record } = created;
  const known = recent?.peek(id);
  if (known !== undefined && isEqual(known.created, created)) return known.settings;
  const settings = await unsealJson<SessionSettings>(keyring, tenant, PURPOSE, createdContext(created), record);
  if (settings !== undefined && recent !== undefined) keepSettings(recent, { created, settings });
  return settings;
}

const isEqual = (one: CreatedRow, other: CreatedRow): boolean =>
  one.tenant.account === other.tenant.account &&
  one.tenant.environment === other.tenant.environment &&
  one.createdAt === other.createdAt &&
  one.expiresAt === other.expiresAt &&
  Buffer.compare(one.secret, other.secret) === 0 &&
  Buffer.compare(one.record, other.record) === 0;

const openValues = ({ tenant, createdAt, id, attempts }: Session): Value[] => [
  tenant.account,
  tenant.environment,
  createdAt,
  id,
  attempts,
];

/** Conflicts unless the session is still as it was read. */
export async function completeSession(
  keyring: Keyring,
  session: Session,
  { attempt, result }: { readonly attempt: string; readonly result: SessionResult },
  now: number,
): Promise<Write> {
  const context = contextOf(session.tenant, session.id, 'result', attempt);
  const sealed = await sealJson(keyring, session.tenant, PURPOSE, context, result);
  return write(COMPLETE, [now, attempt, sealed, ...openValues(session), now], 1);
}

/** Counts a refused submission, or ends the session. Conflicts unless it is still as it was read. */
export const changeSession = (
  session: Session,
  { status, attempts }: Pick<Session, 'status' | 'attempts'>,
  now: number,
): Write => write(END, [status, attempts, status === 'open' ? null : now, ...openValues(session), now], 1);

/** Ends an open session whose time is over. Conflicts unless it is still as it was read. */
export const expireSession = (session: Session): Write => write(EXPIRE, openValues(session), 1);

/** Deletes sessions that expired before a time; returns how many. An index has them in this order, so that no other is read. */
export async function removeSessions(database: Database, expiredBefore: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_REMOVABLE, expiredBefore, limit);
  if (rows.length === 0) return 0;
  const keys = rows.map((row) => [
    ...[text(row, 'account'), text(row, 'environment')],
    ...[integer(row, 'created_at'), text(row, 'id')],
  ]);
  await database.commit({ writes: [{ sql: DELETE, rows: keys }] });
  return rows.length;
}
