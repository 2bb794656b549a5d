import type { Origin } from '../../src/audit/audit.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Write } from '../../src/storage/database.ts';
import { type ClientContext, sanitizeUserAgent } from './client-context.ts';
import { purgeExpiredInvitations } from './invitation-store.ts';
import { personEvent } from './people-events.ts';
import { findPerson, lockPerson } from './person-store.ts';
import { hashSecret, isSecret, newSecret, type PeopleDependencies } from './sealing.ts';
import {
  ACTIVITY_INTERVAL_MS,
  assertStage,
  isExpired,
  MAX_AGE_MS,
  type Session,
  type SessionNotes,
  type SessionStage,
} from './session.ts';
import {
  deleteOtherSessions,
  deleteSessionById,
  findSession,
  insertSession,
  listLastActivity,
  listSessionsByPerson,
  purgeExpiredSessions,
  recordActivity,
  replaceSession,
  updateSession,
} from './session-store.ts';

/** A session with the secret of its cookie, which is not stored. */
export interface IssuedSession {
  readonly secret: string;
  readonly session: Session;
  /** Set after a sign-in: secret of the cookie that makes the browser known. */
  readonly browser?: string;
}

const ID_CHARACTERS = 14;
/** The last activity is written without an audit record. */
const SERVICE: Origin = { actor: { type: 'service' } };

/** Sessions, read from the database at each request, so that a revocation takes effect on every node. */
export class Sessions {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  /** `isPassive`: the browser polls without the user, so the call is no activity. */
  async find(secret: string | undefined, { isPassive = false } = {}): Promise<Session | undefined> {
    if (secret === undefined || !isSecret(secret)) return undefined;
    const { database, transactions, keyring, clock } = this.#dependencies;
    const session = await findSession(database, keyring, hashSecret('session', secret));
    const now = clock();
    if (session === undefined || isExpired(session, now)) return undefined;
    if (isPassive || session.stage === 'replaced' || now < session.lastActiveAt + ACTIVITY_INTERVAL_MS) return session;
    await transactions.run({ origin: SERVICE }, async (transaction) => {
      transaction.write(await recordActivity(keyring, session, now));
    });
    return { ...session, lastActiveAt: now };
  }

  /** Lists the sessions of a user, newest first. */
  async list(person: string): Promise<Session[]> {
    const { database, keyring, clock } = this.#dependencies;
    const now = clock();
    return (await listSessionsByPerson(database, keyring, person, now)).filter((session) => !isExpired(session, now));
  }

  /** Returns the last activity of each signed-in member of an account. */
  listLastActivity(account: string): Promise<ReadonlyMap<string, number>> {
    const { database, keyring, clock } = this.#dependencies;
    return listLastActivity(database, keyring, account, clock());
  }

  /** Ends a session of the same user. Throws `unknown_record`. */
  revoke(transaction: Transaction, session: Session, id: string): Promise<void> {
    return this.#revoke(transaction, session, deleteSessionById({ person: session.person, id }), id);
  }

  /** Ends all sessions of the user but this one. */
  revokeOthers(transaction: Transaction, session: Session): Promise<void> {
    return this.#revoke(transaction, session, [deleteOtherSessions(session)], 'others');
  }

  /** Deletes sessions and invitations that have expired at this trusted time; returns their number. */
  async sweep(now: number): Promise<number> {
    const { database } = this.#dependencies;
    const ended = await purgeExpiredSessions(database, now, LIMITS.rowsPerSweep);
    return ended + (await purgeExpiredInvitations(database, now, LIMITS.rowsPerSweep));
  }

  async #revoke(transaction: Transaction, session: Session, writes: readonly Write[], id: string): Promise<void> {
    assertStage('signed-in', session);
    const { database, keyring } = this.#dependencies;
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    // A step-up holds the same lock: the new secret of a session that is stepped up concurrently is deleted as well.
    transaction.write(lockPerson(person));
    for (const write of writes) transaction.write(write, new Failure('unknown_record'));
    transaction.record(personEvent('session.revoked', '', { person: person.id, targets: [`session:${id}`] }));
  }
}

/** Builds a session at a stage with a new secret, so that a fixated secret of an earlier stage is useless. */
export async function buildSession(
  { keyring, clock, random }: PeopleDependencies,
  fields: {
    readonly person: string;
    readonly stage: SessionStage;
    readonly client: ClientContext;
    readonly notes?: Pick<SessionNotes, 'pendingEnrollment'>;
  },
): Promise<IssuedSession & { write: Write }> {
  const { person, stage, client } = fields;
  const secret = newSecret(random);
  const now = clock();
  const { address } = client;
  const notes = { ...fields.notes, csrf: newSecret(random), address, userAgent: sanitizeUserAgent(client) };
  const bound = {
    digest: hashSecret('session', secret),
    id: newId('session', ID_CHARACTERS, random),
    person,
    stage,
    createdAt: now,
    lastActiveAt: now,
    steppedUpAt: stage === 'signed-in' ? now : undefined,
    expiresAt: now + MAX_AGE_MS[stage],
  };
  return { secret, ...(await insertSession(keyring, bound, notes)) };
}

/**
 * Builds the session after a step-up, with a new secret: a stolen copy of the old one gains nothing. The CSRF token stays,
 * because other tabs of the browser have it.
 */
export async function buildSteppedUpSession(
  { keyring, clock, random }: PeopleDependencies,
  before: Session,
): Promise<IssuedSession & { writes: [Write, Write] }> {
  const secret = newSecret(random);
  const now = clock();
  const digest = hashSecret('session', secret);
  const renewed = { digest, lastActiveAt: now, steppedUpAt: now, expiresAt: now + MAX_AGE_MS.replaced };
  return { secret, ...(await replaceSession(keyring, before, renewed)) };
}

/** Stores the notes for the next step; returns the updated session. Throws `changed_meanwhile`. */
export async function saveNotes(
  transaction: Transaction,
  keyring: Keyring,
  session: Session,
  notes: Pick<SessionNotes, 'challenge' | 'totp'>,
): Promise<Session> {
  const { write, session: saved } = await updateSession(keyring, session, notes);
  transaction.write(write, new Failure('changed_meanwhile'));
  return saved;
}
