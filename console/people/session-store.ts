import { isSameDigest } from '../../src/crypto/fingerprint.ts';
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
import { digestFor, openRecord, placeIn, sealRecord } from './sealing.ts';
import { IDLE_MS, type Session, type SessionNotes, type Stage } from './session.ts';

const COLUMNS = 'digest, id, person, stage, record, created_at, seen_at, stepped_up_at, ends_at, seen_seal';
const FIND = `select ${COLUMNS} from sessions where digest = ?`;
const OF_PERSON = `select ${COLUMNS} from sessions where person = ? and stage = 'signed-in' and ends_at > ?
  order by created_at desc, id`;
const LAST_SEEN = `select sessions.person as person, sessions.digest as digest, sessions.seen_at as seen_at,
    sessions.seen_seal as seen_seal
  from memberships join sessions on sessions.person = memberships.person
  where memberships.account = ? and sessions.stage = 'signed-in' and sessions.ends_at > ? and sessions.seen_at > ?
  order by sessions.seen_at`;
const INSERT = `insert into sessions (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const UPDATE = 'update sessions set record = ? where digest = ? and record = ?';
const REPLACE = `update sessions set stage = 'replaced', record = ?, stepped_up_at = null, ends_at = ?
  where digest = ? and record = ?`;
const SEEN = 'update sessions set seen_at = ?, seen_seal = ? where digest = ? and seen_at < ?';
const DELETE = 'delete from sessions where digest = ? and record = ?';
const END = "delete from sessions where person = ? and id = ? and stage <> 'replaced'";
const END_REPLACED = "delete from sessions where person = ? and id = ? and stage = 'replaced'";
/** By the id, which stays when the secret is replaced at the same moment. */
const DELETE_OTHERS = "delete from sessions where person = ? and (id <> ? or stage = 'replaced')";
const DELETE_OLDEST = `delete from sessions where person = ? and stage = ? and digest not in
  (select digest from sessions where person = ? and stage = ? order by created_at desc, id limit ?)`;
const DELETE_ALL = 'delete from sessions where person = ?';
const ENDED = `select digest from sessions where ends_at <= ? or (stage = 'signed-in' and seen_at <= ?) limit ?`;
const REMOVE_ENDED =
  "delete from sessions where digest = ? and (ends_at <= ? or (stage = 'signed-in' and seen_at <= ?))";

type Bound = Omit<Session, 'sealed' | 'notes' | 'seenAt' | 'csrf' | 'address' | 'userAgent'>;

/**
 * Binds every column in clear but `seen_at`, which changes too often to seal the record with it and has a MAC of its own:
 * neither the stage nor the end of a session can be changed in the database, nor whose it is.
 */
const placeOfNotes = ({ digest, id, person, stage, createdAt, steppedUpAt, endsAt }: Bound): EncryptionContext =>
  placeIn(
    'sessions',
    Buffer.from(digest).toString('hex'),
    id,
    person,
    stage,
    ...[createdAt, steppedUpAt ?? '', endsAt].map(String),
  );

/** Without it a session could be continued in the database after the time without activity that ends it. */
const sealOfActivity = (keyring: Keyring, digest: Uint8Array, seenAt: number): Promise<Uint8Array> =>
  digestFor(keyring, 'activity', Buffer.from(digest).toString('hex'), String(seenAt));

const isActivityGenuine = async (keyring: Keyring, row: Row): Promise<boolean> => {
  const seal = row['seen_seal'];
  const expected = await sealOfActivity(keyring, blob(row, 'digest'), integer(row, 'seen_at'));
  return seal instanceof Uint8Array && isSameDigest(seal, expected);
};

export async function findSession(
  database: Database,
  keyring: Keyring,
  digest: Uint8Array,
): Promise<Session | undefined> {
  const [row] = await database.read(FIND, digest);
  return row === undefined ? undefined : readSession(keyring, row);
}

/** Signed in, newest first; some may be idle for too long. */
export async function sessionsOf(
  database: Database,
  keyring: Keyring,
  person: string,
  now: number,
): Promise<Session[]> {
  const sessions: Session[] = [];
  for (const row of await database.read(OF_PERSON, person, now)) {
    const session = await readSession(keyring, row);
    if (session !== undefined) sessions.push(session);
  }
  return sessions;
}

/** When each member of an account was seen last, of those who are signed in. */
export async function lastSeenIn(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.read(LAST_SEEN, account, now, now - IDLE_MS);
  const seen = new Map<string, number>();
  for (const row of rows)
    if (await isActivityGenuine(keyring, row)) seen.set(text(row, 'person'), integer(row, 'seen_at'));
  return seen;
}

export async function insertSession(
  keyring: Keyring,
  bound: Bound & Pick<Session, 'seenAt'>,
  notes: SessionNotes,
): Promise<{ session: Session; write: Write }> {
  const session = await sealed(keyring, bound, notes);
  const { digest, id, person, stage, createdAt, seenAt, steppedUpAt, endsAt } = session;
  const columns: Value[] = [digest, id, person, stage, session.sealed, createdAt, seenAt, steppedUpAt ?? null, endsAt];
  return { session, write: write(INSERT, [...columns, await sealOfActivity(keyring, digest, seenAt)], 1) };
}

/** Conflicts when the session has ended, or its notes are no longer those that were read. */
export async function updateSession(
  keyring: Keyring,
  before: Session,
  notes: Partial<SessionNotes>,
): Promise<{ session: Session; write: Write }> {
  const session = await sealed(keyring, before, { ...before.notes, ...notes });
  return { session, write: write(UPDATE, [session.sealed, before.digest, before.sealed], 1) };
}

/**
 * The session goes on under another secret; what had the old one ends at `until`, and is not stepped up any more. The first
 * write conflicts as `updateSession`.
 */
export async function replaceSession(
  keyring: Keyring,
  before: Session,
  { until, ...renewed }: Pick<Session, 'digest' | 'seenAt' | 'steppedUpAt'> & { readonly until: number },
): Promise<{ session: Session; writes: [Write, Write] }> {
  const notes = { ...before.notes, challenge: undefined, failures: undefined };
  const ending = {
    ...before,
    stage: 'replaced',
    steppedUpAt: undefined,
    endsAt: Math.min(before.endsAt, until),
  } as const;
  const old = await sealed(keyring, ending, { ...notes, totp: undefined });
  const { session, write: insert } = await insertSession(keyring, { ...before, ...renewed }, notes);
  return { session, writes: [write(REPLACE, [old.sealed, old.endsAt, before.digest, before.sealed], 1), insert] };
}

export const noteSeen = async (keyring: Keyring, { digest }: Session, at: number): Promise<Write> =>
  write(SEEN, [at, await sealOfActivity(keyring, digest, at), digest, at]);

/** Conflicts as `updateSession`. */
export const deleteSession = ({ digest, sealed: record }: Session): Write => write(DELETE, [digest, record], 1);

/** Whatever its secret is by now. The first one conflicts when there is none. */
export const endSession = ({ person, id }: Pick<Session, 'person' | 'id'>): [Write, Write] => [
  write(END, [person, id], 1),
  deleteReplaced({ person, id }),
];

/** Deletes what remains of a session's secrets of before. */
export const deleteReplaced = ({ person, id }: Pick<Session, 'person' | 'id'>): Write =>
  write(END_REPLACED, [person, id]);

export const deleteOtherSessions = ({ person, id }: Session): Write => write(DELETE_OTHERS, [person, id]);

/** Of a person at a stage the newest stay, as many as there may be. */
export const deleteOldest = ({ person, stage }: Pick<Session, 'person' | 'stage'>): Write =>
  write(DELETE_OLDEST, [person, stage, person, stage, LIMITS.sessionsPerPerson]);

export const deleteSessionsOf = (person: string): Write => write(DELETE_ALL, [person]);

/** Returns how many. */
export async function removeEndedSessions(database: Database, now: number, limit: number): Promise<number> {
  const idle = now - IDLE_MS;
  const rows = await database.read(ENDED, now, idle, limit);
  if (rows.length === 0) return 0;
  const ended = rows.map((row) => [blob(row, 'digest'), now, idle]);
  await database.commit({ writes: [{ sql: REMOVE_ENDED, rows: ended }] });
  return rows.length;
}

async function sealed(keyring: Keyring, bound: Bound & Pick<Session, 'seenAt'>, notes: SessionNotes): Promise<Session> {
  const { csrf, address, userAgent } = notes;
  return { ...bound, csrf, address, userAgent, notes, sealed: await sealRecord(keyring, placeOfNotes(bound), notes) };
}

async function readSession(keyring: Keyring, row: Row): Promise<Session | undefined> {
  const record = blob(row, 'record');
  const bound = {
    digest: blob(row, 'digest'),
    id: text(row, 'id'),
    person: text(row, 'person'),
    stage: text(row, 'stage') as Stage,
    createdAt: integer(row, 'created_at'),
    seenAt: integer(row, 'seen_at'),
    steppedUpAt: integerOrNull(row, 'stepped_up_at'),
    endsAt: integer(row, 'ends_at'),
  };
  const notes = await openRecord<SessionNotes>(keyring, placeOfNotes(bound), record);
  if (notes === undefined || !(await isActivityGenuine(keyring, row))) return undefined;
  const { csrf, address, userAgent } = notes;
  return { ...bound, csrf, address, userAgent, notes, sealed: record };
}
