import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitAll, type Write } from '../../src/storage/database.ts';
import { removeExpiredInvitations } from './invitation-store.ts';
import { personEvent } from './people-events.ts';
import { findPerson } from './person-store.ts';
import { digestFor, isSecret, type Means, newSecret } from './sealing.ts';
import { hasEnded, LASTS_MS, mustBeAt, SEEN_EVERY_MS, type Session, type SessionNotes, type Stage } from './session.ts';
import {
  deleteOtherSessions,
  endSession,
  findSession,
  insertSession,
  lastSeenIn,
  noteSeen,
  removeEndedSessions,
  replaceSession,
  sessionsOf,
  updateSession,
} from './session-store.ts';
import { originOf, shortUserAgent, type Visitor } from './visitor.ts';

/** A session and the secret of its cookie, which exists nowhere else. */
export interface Grant {
  readonly secret: string;
  readonly session: Session;
  /** After a sign-in: the secret of the cookie by which the browser is known the next time. */
  readonly browser?: string;
}

const ID_CHARACTERS = 14;

/** Who is at the other end of a cookie. Read from the database every time, so that what was ended has ended everywhere. */
export class Sessions {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  /** `passive`: the browser asks by itself, and nobody need be in front of it. */
  async find(secret: string | undefined, { passive = false } = {}): Promise<Session | undefined> {
    if (secret === undefined || !isSecret(secret)) return undefined;
    const { database, keyring, clock } = this.#means;
    const session = await findSession(database, keyring, await digestFor(keyring, 'session', secret));
    const now = clock();
    if (session === undefined || hasEnded(session, now)) return undefined;
    if (passive || session.stage === 'replaced' || now < session.seenAt + SEEN_EVERY_MS) return session;
    await commitAll(database, { writes: [await noteSeen(keyring, session, now)] });
    return { ...session, seenAt: now };
  }

  /** Where a person is signed in, newest first. */
  async list(person: string): Promise<Session[]> {
    const { database, keyring, clock } = this.#means;
    const now = clock();
    return (await sessionsOf(database, keyring, person, now)).filter((session) => !hasEnded(session, now));
  }

  /** When each member of an account was seen last, of those who are signed in. */
  lastSeenIn(account: string): Promise<ReadonlyMap<string, number>> {
    const { database, keyring, clock } = this.#means;
    return lastSeenIn(database, keyring, account, clock());
  }

  /** Ends one of the person's own. Throws `unknown_record`. */
  async revoke(session: Session, id: string, visitor: Visitor): Promise<void> {
    const unit = await this.#revocation(session, endSession({ person: session.person, id }), id, visitor);
    const { committed } = await this.#means.database.commit(unit);
    if (!committed) throw new Failure('unknown_record');
  }

  /** Ends all of the person's own but this one. */
  async revokeOthers(session: Session, visitor: Visitor): Promise<void> {
    const unit = await this.#revocation(session, [deleteOtherSessions(session)], 'others', visitor);
    await commitAll(this.#means.database, unit);
  }

  /** Removes sessions and invitations that have ended at this trusted time; returns how many. */
  async sweep(now: number): Promise<number> {
    const { database } = this.#means;
    const ended = await removeEndedSessions(database, now, LIMITS.rowsPerSweep);
    return ended + (await removeExpiredInvitations(database, now, LIMITS.rowsPerSweep));
  }

  async #revocation(session: Session, writes: Write[], id: string, visitor: Visitor) {
    mustBeAt('signed-in', session);
    const { database, keyring, clock } = this.#means;
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    const about = { person: person.id, targets: [`session:${id}`] };
    return { writes, journal: [personEvent(clock, originOf(person, visitor), 'session.revoked', '', about)] };
  }
}

/** A session at a stage, with a secret of its own: one that was known before the stage is worth nothing in it. */
export async function newSession(
  { keyring, clock, random }: Means,
  of: {
    readonly person: string;
    readonly stage: Stage;
    readonly visitor: Visitor;
    readonly notes?: Pick<SessionNotes, 'newcomer'>;
  },
): Promise<Grant & { write: Write }> {
  const { person, stage, visitor } = of;
  const secret = newSecret(random);
  const now = clock();
  const { address } = visitor;
  const notes = { ...of.notes, csrf: newSecret(random), address, userAgent: shortUserAgent(visitor) };
  const bound = {
    digest: await digestFor(keyring, 'session', secret),
    id: newId('session', ID_CHARACTERS, random),
    person,
    stage,
    createdAt: now,
    seenAt: now,
    steppedUpAt: stage === 'signed-in' ? now : undefined,
    endsAt: now + LASTS_MS[stage],
  };
  return { secret, ...(await insertSession(keyring, bound, notes)) };
}

/**
 * The session of somebody who has just shown who they are once more, with a new secret: whoever else had the one before has
 * nothing of it. The word against forged requests stays, because other tabs of the browser have it.
 */
export async function steppedUpSession(
  { keyring, clock, random }: Means,
  before: Session,
): Promise<Grant & { writes: [Write, Write] }> {
  const secret = newSecret(random);
  const now = clock();
  const digest = await digestFor(keyring, 'session', secret);
  const renewed = { digest, seenAt: now, steppedUpAt: now, until: now + LASTS_MS.replaced };
  return { secret, ...(await replaceSession(keyring, before, renewed)) };
}

/** What the session needs for its next step; returns it as it is then. Throws `changed_meanwhile`. */
export async function keepNotes(
  { database, keyring }: Means,
  session: Session,
  notes: Pick<SessionNotes, 'challenge' | 'totp'>,
): Promise<Session> {
  const { write, session: kept } = await updateSession(keyring, session, notes);
  if (!(await database.commit({ writes: [write] })).committed) throw new Failure('changed_meanwhile');
  return kept;
}
