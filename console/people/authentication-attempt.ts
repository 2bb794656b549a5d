import type { Origin } from '../../src/audit/audit.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { commitOrThrow, type JournalEntry, type Write } from '../../src/storage/database.ts';
import type { AuditThrottle } from './audit-throttle.ts';
import { listMembershipsByPerson, type Membership } from './membership-store.ts';
import { eventPerAccount, personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, lockPerson } from './person-store.ts';
import type { ProofFailure } from './proof.ts';
import type { PeopleDependencies } from './sealing.ts';
import { isExpired, type Session } from './session.ts';
import { deleteReplacedSession, deleteSession, findSession, updateSession } from './session-store.ts';
import { countFactorFailure, countFailure, isLocked, type SignInState, type Source } from './sign-in-state.ts';
import { findSignInState, lockSignInState, type StoredSignInState, updateSignInState } from './sign-in-state-store.ts';

/** Why an attempt is refused without judging what was shown. */
type Barrier = 'person_locked' | 'person_disabled' | 'password_blocked' | 'state_altered';

/** Why an attempt is refused. Only the audit log has it. */
type SignInFailure = ProofFailure | Barrier | 'person_unknown' | 'password_wrong';

/** The result of checking a proof: a refusal, or the writes that it allows. */
export type ProofDecision<T> =
  | { readonly failure: SignInFailure; readonly writes?: readonly Write[] }
  | {
      readonly writes: readonly Write[];
      readonly journal: readonly JournalEntry[];
      readonly value: T;
      /** The state of sign-ins from then on; absent: as it is. */
      readonly state?: SignInState;
    };

/** Refusals that come again and again are counted. */
export interface AuthenticationDependencies extends PeopleDependencies {
  readonly repeats: AuditThrottle;
}

/** The records of a user by which an attempt is judged. */
interface AttemptRecords {
  readonly person: Person;
  readonly memberships: readonly Membership[];
  /** Undefined when it was changed in the database. */
  readonly state: StoredSignInState | undefined;
}

/** An attempt to sign in: whose it is, and where it comes from. */
interface AuthenticationAttempt {
  readonly person: string;
  readonly origin: Origin;
  readonly source: Source;
  /** A passkey cannot be guessed, so it is refused by no lock and counts no failure. */
  readonly proofKind: 'password' | 'code' | 'passkey';
  /**
   * What was read while the password was hashed. A refusal then waits for one record, for each user alike, so that its time
   * does not tell in how many accounts they are, or whether they are in any.
   */
  readonly records?: AttemptRecords;
}

interface RejectedAttempt extends Pick<AuthenticationAttempt, 'origin' | 'records'> {
  readonly person?: string;
  readonly memberships: readonly Membership[];
}

/**
 * Makes one attempt to sign in: what a right proof allows is one unit, and a wrong one is counted, whatever is tried at the
 * same moment. A browser or network gets no more than its limit of wrong ones judged, also of many at once, because a right
 * one counts for nothing when its source was locked meanwhile. `judge` reads anew what it judges by.
 */
export async function attemptProof<T>(
  dependencies: AuthenticationDependencies,
  attempt: AuthenticationAttempt,
  decide: (person: Person, memberships: readonly Membership[], state: StoredSignInState) => Promise<ProofDecision<T>>,
): Promise<T> {
  const { database, time } = dependencies;
  for (let attemptNumber = 0; attemptNumber < LIMITS.commitAttempts; attemptNumber++) {
    // A record that has changed since it was read conflicts below.
    const read =
      attemptNumber === 0 && attempt.records !== undefined
        ? attempt.records
        : await loadAttemptRecords(dependencies, attempt.person);
    const memberships = attempt.records?.memberships ?? read?.memberships ?? [];
    const rejected = { ...attempt, memberships };
    if (read === undefined) return rejectAttempt(dependencies, rejected, 'person_unknown');
    const { person, state } = read;
    if (state === undefined) return rejectThrottled(dependencies, rejected, 'state_altered');
    const barrier = findBarrier(state, attempt, time.steadyNow());
    if (barrier !== undefined) return rejectThrottled(dependencies, rejected, barrier);
    const decision = await decide(person, memberships, state);
    if ('failure' in decision) {
      // Only the id of the user is needed to try, so that it must not fill the logs of the accounts.
      if (attempt.proofKind === 'passkey' && decision.writes === undefined)
        return rejectThrottled(dependencies, rejected, decision.failure);
      if (await recordFailure(dependencies, { person, state }, rejected, attempt, decision))
        throw new Failure('sign_in_refused');
      continue;
    }
    const stateWrite =
      decision.state === undefined
        ? lockSignInState(state)
        : await updateSignInState(dependencies.keyring, state, decision.state);
    const writes = [lockPerson(person), stateWrite, ...decision.writes];
    if ((await database.commit({ writes, journal: decision.journal })).committed) return decision.value;
  }
  throw new Failure('unavailable');
}

/** Reads what an attempt is judged by; undefined without such a user. */
async function loadAttemptRecords(
  { database, keyring }: PeopleDependencies,
  id: string,
): Promise<AttemptRecords | undefined> {
  const person = await findPerson(database, keyring, id);
  if (person === undefined) return undefined;
  const memberships = await listMembershipsByPerson(database, keyring, id);
  return { person, memberships, state: await findSignInState(database, keyring, id) };
}

function findBarrier(
  state: SignInState,
  { proofKind, source }: AuthenticationAttempt,
  now: number,
): Barrier | undefined {
  if (state.disabledAt !== undefined) return 'person_disabled';
  if (proofKind === 'passkey') return undefined;
  if (state.passwordBlockedAt !== undefined) return 'password_blocked';
  return isLocked(state, source, now) ? 'person_locked' : undefined;
}

const REJECTED = 'person.sign-in-refused';

/** Refuses with the one failure there is, and tells the audit log why. */
export async function rejectAttempt(
  { database, clock }: PeopleDependencies,
  { origin, memberships, person }: RejectedAttempt,
  outcome: SignInFailure,
): Promise<never> {
  const details = { outcome, ...(person !== undefined && { person }) };
  const journal = eventPerAccount(clock, origin, REJECTED, memberships, details);
  await commitOrThrow(database, { writes: [], journal });
  throw new Failure('sign_in_refused');
}

/**
 * A lock lasts, and an attacker who goes on trying must not fill the logs of the accounts: there it is counted. A password
 * that is given is in the log of the service each time, as it is for unknown users.
 */
async function rejectThrottled(
  dependencies: AuthenticationDependencies,
  rejected: RejectedAttempt,
  outcome: SignInFailure,
): Promise<never> {
  const { clock, repeats } = dependencies;
  const { origin, memberships, person = '', records } = rejected;
  const details = { person, outcome };
  const recordRepeat = repeats.record.bind(
    repeats,
    [REJECTED, outcome, person, origin.address ?? '', records === undefined ? 'factor' : 'password'],
    (times) =>
      eventPerAccount(clock, origin, REJECTED, memberships, { ...details, ...(times && { detail: { times } }) }),
  );
  if (records === undefined) await recordRepeat();
  else {
    const journal = [personEvent(clock, origin, REJECTED, '', details)];
    await commitOrThrow(dependencies.database, { writes: [], journal });
    finishInBackground(recordRepeat());
  }
  throw new Failure('sign_in_refused');
}

/** Counts one more failure; false when person or state have changed since they were read. */
async function recordFailure(
  { database, keyring, clock, time }: PeopleDependencies,
  before: { readonly person: Person; readonly state: StoredSignInState },
  { origin, memberships, records }: RejectedAttempt,
  { proofKind, source }: AuthenticationAttempt,
  { failure, writes = [] }: Extract<ProofDecision<unknown>, { failure: SignInFailure }>,
): Promise<boolean> {
  const now = time.steadyNow();
  const person = before.person.id;
  const isCounted = proofKind !== 'passkey';
  const counted = countFailure(before.state, source, now);
  const state = proofKind === 'code' ? countFactorFailure(counted.state, now) : counted.state;
  const isBlock = isCounted && state.passwordBlockedAt !== undefined;
  const buildJournal = (to: readonly Membership[]): JournalEntry[] => [
    ...eventPerAccount(clock, origin, REJECTED, to, { person, outcome: failure }),
    ...(isCounted && counted.locked !== undefined
      ? eventPerAccount(clock, origin, 'person.locked', to, { person, detail: { scope: counted.locked } })
      : []),
    ...(isBlock ? eventPerAccount(clock, origin, 'password.blocked', to, { person }) : []),
  ];
  const others = records === undefined ? [] : memberships.slice(1);
  const first = memberships.slice(0, memberships.length - others.length);
  const stateWrite = isCounted ? await updateSignInState(keyring, before.state, state) : lockSignInState(before.state);
  const unit = { writes: [lockPerson(before.person), stateWrite, ...writes], journal: buildJournal(first) };
  if (!(await database.commit(unit)).committed) return false;
  if (others.length > 0) finishInBackground(database.commit({ writes: [], journal: buildJournal(others) }));
  return true;
}

/** On its way, also when the service stops; by then the same is in the log of one account, or of the service. */
function finishInBackground(writing: Promise<unknown>): void {
  writing.catch(() => undefined);
}

/**
 * Makes one attempt of a signed-in user to prove once more who they are. Failures are counted by the session alone, so that
 * nothing that happens elsewhere refuses it; the last one that is allowed ends the session. `writes` of a success have to
 * conflict when the session has changed.
 */
export async function attemptProofInSession<T>(
  dependencies: PeopleDependencies,
  { session, origin, isCounted }: { readonly session: Session; readonly origin: Origin; readonly isCounted: boolean },
  decide: (person: Person, present: Session, memberships: readonly Membership[]) => Promise<ProofDecision<T>>,
): Promise<T> {
  const { database, keyring, clock } = dependencies;
  for (let attemptNumber = 0; attemptNumber < LIMITS.commitAttempts; attemptNumber++) {
    const person = await findPerson(database, keyring, session.person);
    const memberships = await listMembershipsByPerson(database, keyring, session.person);
    const present = await reloadSession(dependencies, session);
    if (person === undefined || present === undefined) throw new Failure('not_signed_in');
    if (present.stage === 'replaced') throw new Failure('changed_meanwhile');
    const decision = await decide(person, present, memberships);
    if (!('failure' in decision)) {
      const writes = [lockPerson(person), ...decision.writes];
      if ((await database.commit({ writes, journal: decision.journal })).committed) return decision.value;
      continue;
    }
    const failures = (present.notes.failures ?? 0) + (isCounted ? 1 : 0);
    const isLast = failures >= LIMITS.signInFailures;
    const details = { person: person.id, targets: [`session:${present.id}`] };
    const journal = [
      ...eventPerAccount(clock, origin, REJECTED, memberships, { ...details, outcome: decision.failure }),
      ...(isLast
        ? eventPerAccount(clock, origin, 'person.locked', memberships, { ...details, detail: { scope: 'session' } })
        : []),
    ];
    const { write } = await updateSession(keyring, present, { failures, ...(!isCounted && { challenge: undefined }) });
    const writes = isLast ? [deleteSession(present), deleteReplacedSession(present)] : [write];
    if ((await database.commit({ writes, journal })).committed) throw new Failure('sign_in_refused');
  }
  throw new Failure('unavailable');
}

/** Reads a session again; undefined when it has ended. */
export async function reloadSession(
  { database, keyring, clock }: PeopleDependencies,
  { digest }: Session,
): Promise<Session | undefined> {
  const session = await findSession(database, keyring, digest);
  return session === undefined || isExpired(session, clock()) ? undefined : session;
}
