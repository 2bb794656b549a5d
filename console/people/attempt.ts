import type { Origin } from '../../src/audit/audit.ts';
import type { Repeats } from '../../src/audit/repeats.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitAll, type JournalEntry, type Write } from '../../src/storage/database.ts';
import { type Membership, membershipsOf } from './membership-store.ts';
import { eventInEach, personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, holdPerson } from './person-store.ts';
import type { ProofRefusal } from './proof.ts';
import type { Means } from './sealing.ts';
import { hasEnded, type Session } from './session.ts';
import { deleteReplaced, deleteSession, findSession, updateSession } from './session-store.ts';
import { countFactorFailure, countFailure, isLocked, type SignInState, type Source } from './sign-in-state.ts';
import { findSignInState, holdSignInState, type StoredSignInState, updateSignInState } from './sign-in-state-store.ts';

/** Why an attempt is refused without judging what was shown. */
type Barrier = 'person_locked' | 'person_disabled' | 'password_blocked' | 'state_altered';

/** Why an attempt is refused. Only the audit log has it. */
type SignInFailure = ProofRefusal | Barrier | 'person_unknown' | 'password_wrong';

/** The result of checking a proof: a refusal, or the writes that it allows. */
export type Judgement<T> =
  | { readonly refusal: SignInFailure; readonly writes?: readonly Write[] }
  | {
      readonly writes: readonly Write[];
      readonly journal: readonly JournalEntry[];
      readonly value: T;
      /** The state of sign-ins from then on; absent: as it is. */
      readonly state?: SignInState;
    };

/** Refusals that come again and again are counted. */
export interface TrialMeans extends Means {
  readonly repeats: Repeats;
}

/** The records of a user by which an attempt is judged. */
interface Known {
  readonly person: Person;
  readonly memberships: readonly Membership[];
  /** Undefined when it was changed in the database. */
  readonly state: StoredSignInState | undefined;
}

/** An attempt to sign in: whose it is, and where it comes from. */
interface SignInAttempt {
  readonly person: string;
  readonly origin: Origin;
  readonly source: Source;
  /** A passkey cannot be guessed, so it is refused by no lock and counts no failure. */
  readonly shows: 'password' | 'code' | 'passkey';
  /**
   * What was read while the password was hashed. A refusal then waits for one record, for each user alike, so that its time
   * does not tell in how many accounts they are, or whether they are in any.
   */
  readonly known?: Known;
}

interface Refused extends Pick<SignInAttempt, 'origin' | 'known'> {
  readonly person?: string;
  readonly memberships: readonly Membership[];
}

/**
 * Makes one attempt to sign in: what a right proof allows is one unit, and a wrong one is counted, whatever is tried at the
 * same moment. A browser or network gets no more than its limit of wrong ones judged, also of many at once, because a right
 * one counts for nothing when its source was locked meanwhile. `judge` reads anew what it judges by.
 */
export async function attempt<T>(
  means: TrialMeans,
  trial: SignInAttempt,
  judge: (person: Person, memberships: readonly Membership[], state: StoredSignInState) => Promise<Judgement<T>>,
): Promise<T> {
  const { database, time } = means;
  for (let turn = 0; turn < LIMITS.commitAttempts; turn++) {
    // A record that has changed since it was read conflicts below.
    const read = turn === 0 && trial.known !== undefined ? trial.known : await readKnown(means, trial.person);
    const memberships = trial.known?.memberships ?? read?.memberships ?? [];
    const refused = { ...trial, memberships };
    if (read === undefined) return refuse(means, refused, 'person_unknown');
    const { person, state } = read;
    if (state === undefined) return refuseAgain(means, refused, 'state_altered');
    const barrier = barrierOf(state, trial, time.steadyNow());
    if (barrier !== undefined) return refuseAgain(means, refused, barrier);
    const judgement = await judge(person, memberships, state);
    if ('refusal' in judgement) {
      // Only the id of the user is needed to try, so that it must not fill the logs of the accounts.
      if (trial.shows === 'passkey' && judgement.writes === undefined)
        return refuseAgain(means, refused, judgement.refusal);
      if (await count(means, { person, state }, refused, trial, judgement)) throw new Failure('sign_in_refused');
      continue;
    }
    const stateWrite =
      judgement.state === undefined
        ? holdSignInState(state)
        : await updateSignInState(means.keyring, state, judgement.state);
    const writes = [holdPerson(person), stateWrite, ...judgement.writes];
    if ((await database.commit({ writes, journal: judgement.journal })).committed) return judgement.value;
  }
  throw new Failure('unavailable');
}

/** Reads what an attempt is judged by; undefined without such a user. */
async function readKnown({ database, keyring }: Means, id: string): Promise<Known | undefined> {
  const person = await findPerson(database, keyring, id);
  if (person === undefined) return undefined;
  const memberships = await membershipsOf(database, keyring, id);
  return { person, memberships, state: await findSignInState(database, keyring, id) };
}

function barrierOf(state: SignInState, { shows, source }: SignInAttempt, now: number): Barrier | undefined {
  if (state.disabledAt !== undefined) return 'person_disabled';
  if (shows === 'passkey') return undefined;
  if (state.passwordBlockedAt !== undefined) return 'password_blocked';
  return isLocked(state, source, now) ? 'person_locked' : undefined;
}

const REFUSED = 'person.sign-in-refused';

/** Refuses with the one failure there is, and tells the audit log why. */
export async function refuse(
  { database, clock }: Means,
  { origin, memberships, person }: Refused,
  outcome: SignInFailure,
): Promise<never> {
  const about = { outcome, ...(person !== undefined && { person }) };
  const journal = eventInEach(clock, origin, REFUSED, memberships, about);
  await commitAll(database, { writes: [], journal });
  throw new Failure('sign_in_refused');
}

/**
 * A lock lasts, and an attacker who goes on trying must not fill the logs of the accounts: there it is counted. A password
 * that is given is in the log of the service each time, as it is for unknown users.
 */
async function refuseAgain(means: TrialMeans, refused: Refused, outcome: SignInFailure): Promise<never> {
  const { clock, repeats } = means;
  const { origin, memberships, person = '', known } = refused;
  const about = { person, outcome };
  const note = repeats.note.bind(
    repeats,
    [REFUSED, outcome, person, origin.address ?? '', known === undefined ? 'factor' : 'password'],
    (times) => eventInEach(clock, origin, REFUSED, memberships, { ...about, ...(times && { detail: { times } }) }),
  );
  if (known === undefined) await note();
  else {
    const journal = [personEvent(clock, origin, REFUSED, '', about)];
    await commitAll(means.database, { writes: [], journal });
    leave(note());
  }
  throw new Failure('sign_in_refused');
}

/** Counts one more failure; false when person or state have changed since they were read. */
async function count(
  { database, keyring, clock, time }: Means,
  before: { readonly person: Person; readonly state: StoredSignInState },
  { origin, memberships, known }: Refused,
  { shows, source }: SignInAttempt,
  { refusal, writes = [] }: Extract<Judgement<unknown>, { refusal: SignInFailure }>,
): Promise<boolean> {
  const now = time.steadyNow();
  const person = before.person.id;
  const isCounted = shows !== 'passkey';
  const counted = countFailure(before.state, source, now);
  const state = shows === 'code' ? countFactorFailure(counted.state, now) : counted.state;
  const isBlock = isCounted && state.passwordBlockedAt !== undefined;
  const journalOf = (to: readonly Membership[]): JournalEntry[] => [
    ...eventInEach(clock, origin, REFUSED, to, { person, outcome: refusal }),
    ...(isCounted && counted.locked !== undefined
      ? eventInEach(clock, origin, 'person.locked', to, { person, detail: { scope: counted.locked } })
      : []),
    ...(isBlock ? eventInEach(clock, origin, 'password.blocked', to, { person }) : []),
  ];
  const others = known === undefined ? [] : memberships.slice(1);
  const first = memberships.slice(0, memberships.length - others.length);
  const stateWrite = isCounted ? await updateSignInState(keyring, before.state, state) : holdSignInState(before.state);
  const unit = { writes: [holdPerson(before.person), stateWrite, ...writes], journal: journalOf(first) };
  if (!(await database.commit(unit)).committed) return false;
  if (others.length > 0) leave(database.commit({ writes: [], journal: journalOf(others) }));
  return true;
}

/** On its way, also when the service stops; by then the same is in the log of one account, or of the service. */
function leave(writing: Promise<unknown>): void {
  writing.catch(() => undefined);
}

/**
 * Makes one attempt of a signed-in user to prove once more who they are. Failures are counted by the session alone, so that
 * nothing that happens elsewhere refuses it; the last one that is allowed ends the session. `writes` of a success have to
 * conflict when the session has changed.
 */
export async function attemptInSession<T>(
  means: Means,
  { session, origin, isCounted }: { readonly session: Session; readonly origin: Origin; readonly isCounted: boolean },
  judge: (person: Person, present: Session, memberships: readonly Membership[]) => Promise<Judgement<T>>,
): Promise<T> {
  const { database, keyring, clock } = means;
  for (let turn = 0; turn < LIMITS.commitAttempts; turn++) {
    const person = await findPerson(database, keyring, session.person);
    const memberships = await membershipsOf(database, keyring, session.person);
    const present = await findPresent(means, session);
    if (person === undefined || present === undefined) throw new Failure('not_signed_in');
    if (present.stage === 'replaced') throw new Failure('changed_meanwhile');
    const judgement = await judge(person, present, memberships);
    if (!('refusal' in judgement)) {
      const writes = [holdPerson(person), ...judgement.writes];
      if ((await database.commit({ writes, journal: judgement.journal })).committed) return judgement.value;
      continue;
    }
    const failures = (present.notes.failures ?? 0) + (isCounted ? 1 : 0);
    const isLast = failures >= LIMITS.signInFailures;
    const about = { person: person.id, targets: [`session:${present.id}`] };
    const journal = [
      ...eventInEach(clock, origin, REFUSED, memberships, { ...about, outcome: judgement.refusal }),
      ...(isLast
        ? eventInEach(clock, origin, 'person.locked', memberships, { ...about, detail: { scope: 'session' } })
        : []),
    ];
    const { write } = await updateSession(keyring, present, { failures, ...(!isCounted && { challenge: undefined }) });
    const writes = isLast ? [deleteSession(present), deleteReplaced(present)] : [write];
    if ((await database.commit({ writes, journal })).committed) throw new Failure('sign_in_refused');
  }
  throw new Failure('unavailable');
}

/** Reads a session again; undefined when it has ended. */
export async function findPresent(
  { database, keyring, clock }: Means,
  { digest }: Session,
): Promise<Session | undefined> {
  const session = await findSession(database, keyring, digest);
  return session === undefined || hasEnded(session, clock()) ? undefined : session;
}
