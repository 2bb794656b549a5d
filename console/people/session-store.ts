import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  type Value,
  type Write,
  write,
} from '../../src/storage/database.ts';
import type { DigestColumn } from '../../src/storage/digest-columns.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import {
  computeDigest,
  isDigestValid,
  PEOPLE_DIGESTS,
  sealRecord,
  serviceContext,
  unsealRecord,
  unsealRows,
} from './sealing.ts';
import { IDLE_MS, type Session, type SessionNotes, type SessionStage } from './session.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'sessions',
    key: ['digest'],
    columns: {
      digest: 'blob',
      id: 'text',
      person: 'text',
      stage: 'text',
      record: 'blob',
      created_at: 'integer',
      last_active_at: 'integer',
      stepped_up_at: 'integer',
      expires_at: 'integer',
      activity_mac: 'blob',
    },
    isLocal: true,
  },
];

const COLUMNS =
  'digest, id, person, stage, record, created_at, last_active_at, stepped_up_at, expires_at, activity_mac';
const FIND = `select ${COLUMNS} from sessions where digest = ?`;
const LIST_BY_PERSON = `select ${COLUMNS} from sessions where person = ? and stage = 'signed-in' and expires_at > ?
  order by created_at desc, id`;
const LIST_LAST_ACTIVITY = `select sessions.person as person, sessions.digest as digest, sessions.last_active_at as last_active_at,
    sessions.activity_mac as activity_mac
  from memberships join sessions on sessions.person = memberships.person
  where memberships.account = ?account and sessions.stage = 'signed-in' and sessions.expires_at > ? and sessions.last_active_at > ?
  order by sessions.last_active_at`;
const INSERT = `insert into sessions (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const UPDATE = 'update sessions set record = ? where digest = ? and record = ?';
const REPLACE = `update sessions set stage = 'replaced', record = ?, stepped_up_at = null, expires_at = ?
  where digest = ? and record = ?`;
const RECORD_ACTIVITY =
  'update sessions set last_active_at = ?, activity_mac = ? where digest = ? and last_active_at < ?';
const DELETE = 'delete from sessions where digest = ? and record = ?';
const DELETE_BY_ID = "delete from sessions where person = ? and id = ? and stage <> 'replaced'";
const DELETE_REPLACED = "delete from sessions where person = ? and id = ? and stage = 'replaced'";
const DELETE_BY_EVERY_SECRET = 'delete from sessions where person = ? and id = ?';
/** Keeps the session by its id, which stays when the secret is replaced concurrently. */
const DELETE_OTHERS = "delete from sessions where person = ? and (id <> ? or stage = 'replaced')";
const DELETE_OLDEST = `delete from sessions where person = ? and stage = ? and digest not in
  (select digest from sessions where person = ? and stage = ? order by created_at desc, id limit ?)`;
const DELETE_BY_PERSON = 'delete from sessions where person = ?';
const LIST_EXPIRED = `select digest from sessions where expires_at <= ? or (stage = 'signed-in' and last_active_at <= ?) limit ?`;
const DELETE_EXPIRED =
  "delete from sessions where digest = ? and (expires_at <= ? or (stage = 'signed-in' and last_active_at <= ?))";

type BoundColumns = Omit<Session, 'sealed' | 'notes' | 'lastActiveAt' | 'csrf' | 'address' | 'userAgent'>;

/**
 * Binds every column in clear, so that stage, expiry and user of a session cannot be changed in the database. The time of the
 * last activity changes too often for it, and has a MAC of its own.
 */
const recordContext = ({
  digest,
  id,
  person,
  stage,
  createdAt,
  steppedUpAt,
  expiresAt,
}: BoundColumns): EncryptionContext =>
  serviceContext(
    'sessions',
    Buffer.from(digest).toString('hex'),
    id,
    person,
    stage,
    ...[createdAt, steppedUpAt ?? '', expiresAt].map(String),
  );

/** Returns the MAC of the last activity: without it an idle session could be extended in the database. */
const computeActivityMac = (keyring: Keyring, digest: Uint8Array, lastActiveAt: number): Promise<Uint8Array> =>
  computeDigest(keyring, 'activity', ...activityTexts(digest, lastActiveAt));

const activityTexts = (digest: Uint8Array, lastActiveAt: number): string[] => [
  Buffer.from(digest).toString('hex'),
  String(lastActiveAt),
];

const isActivityAuthentic = (keyring: Keyring, row: Row): Promise<boolean> => {
  const texts = activityTexts(blob(row, 'digest'), integer(row, 'last_active_at'));
  return isDigestValid(keyring, row['activity_mac'], 'activity', ...texts);
};

const REPLACE_ACTIVITY_MAC =
  'update sessions set activity_mac = ? where digest = ? and last_active_at = ? and activity_mac = ?';

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'sessions',
    purpose: PEOPLE_DIGESTS,
    scope: 'service',
    key: ['digest'],
    column: 'activity_mac',
    selects: ['last_active_at'],
    renew: async ({ keyring }, row) => {
      if (!(await isActivityAuthentic(keyring, row))) return 'altered';
      const [digest, at] = [blob(row, 'digest'), integer(row, 'last_active_at')];
      const mac = await computeActivityMac(keyring, digest, at);
      return [write(REPLACE_ACTIVITY_MAC, [mac, digest, at, blob(row, 'activity_mac')], 1)];
    },
  },
];

export async function findSession(
  database: Database,
  keyring: Keyring,
  digest: Uint8Array,
): Promise<Session | undefined> {
  const [row] = await database.read(FIND, digest);
  return row === undefined ? undefined : unsealSession(keyring, row);
}

/** Lists signed-in sessions, newest first; some may have expired by inactivity. */
export async function listSessionsByPerson(
  database: Database,
  keyring: Keyring,
  person: string,
  now: number,
): Promise<Session[]> {
  const rows = await database.read(LIST_BY_PERSON, person, now);
  return unsealRows(rows, (row) => unsealSession(keyring, row));
}

/** Returns the last activity of each signed-in member of an account. */
export async function listLastActivity(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.read(LIST_LAST_ACTIVITY, account, now, now - IDLE_MS);
  const lastActivity = new Map<string, number>();
  for (const row of rows)
    if (await isActivityAuthentic(keyring, row)) lastActivity.set(text(row, 'person'), integer(row, 'last_active_at'));
  return lastActivity;
}

export async function insertSession(
  keyring: Keyring,
  bound: BoundColumns & Pick<Session, 'lastActiveAt'>,
  notes: SessionNotes,
): Promise<{ session: Session; write: Write }> {
  const session = await sealed(keyring, bound, notes);
  const { digest, id, person, stage, createdAt, lastActiveAt, steppedUpAt, expiresAt } = session;
  const columns: Value[] = [
    digest,
    id,
    person,
    stage,
    session.sealed,
    createdAt,
    lastActiveAt,
    steppedUpAt ?? null,
    expiresAt,
  ];
  return { session, write: write(INSERT, [...columns, await computeActivityMac(keyring, digest, lastActiveAt)], 1) };
}

/** Conflicts when the session has ended, or its notes have changed since they were read. */
export async function updateSession(
  keyring: Keyring,
  before: Session,
  notes: Partial<SessionNotes>,
): Promise<{ session: Session; write: Write }> {
  const session = await sealed(keyring, before, { ...before.notes, ...notes });
  return { session, write: write(UPDATE, [session.sealed, before.digest, before.sealed], 1) };
}

/**
 * Continues a session under a new secret. The old secret stays valid until `expiresAt`, without the step-up. The first write
 * conflicts as `updateSession`.
 */
export async function replaceSession(
  keyring: Keyring,
  before: Session,
  { expiresAt, ...renewed }: Pick<Session, 'digest' | 'lastActiveAt' | 'steppedUpAt'> & { readonly expiresAt: number },
): Promise<{ session: Session; writes: [Write, Write] }> {
  const notes = { ...before.notes, challenge: undefined, failures: undefined };
  const ending = {
    ...before,
    stage: 'replaced',
    steppedUpAt: undefined,
    expiresAt: Math.min(before.expiresAt, expiresAt),
  } as const;
  const old = await sealed(keyring, ending, { ...notes, totp: undefined });
  const { session, write: insert } = await insertSession(keyring, { ...before, ...renewed }, notes);
  return { session, writes: [write(REPLACE, [old.sealed, old.expiresAt, before.digest, before.sealed], 1), insert] };
}

export const recordActivity = async (keyring: Keyring, { digest }: Session, at: number): Promise<Write> =>
  write(RECORD_ACTIVITY, [at, await computeActivityMac(keyring, digest, at), digest, at]);

/** Conflicts as `updateSession`. */
export const deleteSession = ({ digest, sealed: record }: Session): Write => write(DELETE, [digest, record], 1);

/** Deletes a session under its current and its replaced secret. The first write conflicts when there is none. */
export const deleteSessionById = ({ person, id }: Pick<Session, 'person' | 'id'>): [Write, Write] => [
  write(DELETE_BY_ID, [person, id], 1),
  deleteReplacedSession({ person, id }),
];

/** Deletes a session under all its secrets, where there is one. */
export const deleteSessionIfPresent = ({ person, id }: Pick<Session, 'person' | 'id'>): Write =>
  write(DELETE_BY_EVERY_SECRET, [person, id]);

/** Deletes the earlier secrets of a session. */
export const deleteReplacedSession = ({ person, id }: Pick<Session, 'person' | 'id'>): Write =>
  write(DELETE_REPLACED, [person, id]);

export const deleteOtherSessions = ({ person, id }: Session): Write => write(DELETE_OTHERS, [person, id]);

/** Deletes the oldest sessions of a user at a stage, above the limit. */
export const deleteOldestSessions = ({ person, stage }: Pick<Session, 'person' | 'stage'>): Write =>
  write(DELETE_OLDEST, [person, stage, person, stage, LIMITS.sessionsPerPerson]);

export const deleteSessionsByPerson = (person: string): Write => write(DELETE_BY_PERSON, [person]);

/** Returns how many. */
export async function purgeExpiredSessions(database: Database, now: number, limit: number): Promise<number> {
  const idle = now - IDLE_MS;
  const rows = await database.read(LIST_EXPIRED, now, idle, limit);
  if (rows.length === 0) return 0;
  const expired = rows.map((row) => [blob(row, 'digest'), now, idle]);
  await database.commit({ writes: [{ sql: DELETE_EXPIRED, rows: expired }] });
  return rows.length;
}

async function sealed(
  keyring: Keyring,
  bound: BoundColumns & Pick<Session, 'lastActiveAt'>,
  notes: SessionNotes,
): Promise<Session> {
  const { csrf, address, userAgent } = notes;
  return { ...bound, csrf, address, userAgent, notes, sealed: await sealRecord(keyring, recordContext(bound), notes) };
}

const toBoundColumns = (row: Row): BoundColumns => ({
  digest: blob(row, 'digest'),
  id: text(row, 'id'),
  person: text(row, 'person'),
  stage: text(row, 'stage') as SessionStage,
  createdAt: integer(row, 'created_at'),
  steppedUpAt: integerOrNull(row, 'stepped_up_at'),
  expiresAt: integer(row, 'expires_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'sessions',
    purpose: 'people',
    scope: 'service',
    key: ['digest'],
    bound: ['id', 'person', 'stage', 'created_at', 'stepped_up_at', 'expires_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

async function unsealSession(keyring: Keyring, row: Row): Promise<Session | undefined> {
  const record = blob(row, 'record');
  const bound = { ...toBoundColumns(row), lastActiveAt: integer(row, 'last_active_at') };
  const notes = await unsealRecord<SessionNotes>(keyring, recordContext(bound), record);
  if (notes === undefined || !(await isActivityAuthentic(keyring, row))) return undefined;
  const { csrf, address, userAgent } = notes;
  return { ...bound, csrf, address, userAgent, notes, sealed: record };
}
