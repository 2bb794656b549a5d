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

/** Why an attempt is rejected before its proof is checked. */
type Barrier = 'person_locked' | 'person_disabled' | 'password_blocked' | 'state_altered';

/** Why an attempt is rejected; only the audit log contains it. */
type SignInFailure = ProofFailure | Barrier | 'person_unknown' | 'password_wrong';

/** Result of checking a proof: the reason it failed, or the writes it allows. */
export type ProofDecision<T> =
  | { readonly failure: SignInFailure; readonly writes?: readonly Write[] }
  | {
      readonly writes: readonly Write[];
      readonly journal: readonly JournalEntry[];
      readonly value: T;
      /** The new sign-in state; unchanged when absent. */
      readonly state?: SignInState;
    };

/** Throttles repeated rejections. */
export interface AuthenticationDependencies extends PeopleDependencies {
  readonly repeats: AuditThrottle;
}

/** The records of a user that an attempt is checked against. */
interface AttemptRecords {
  readonly person: Person;
  readonly memberships: readonly Membership[];
  /** Undefined when it was altered in the database. */
  readonly state: StoredSignInState | undefined;
}

/** A sign-in attempt, with its user and its source. */
interface AuthenticationAttempt {
  readonly person: string;
  readonly origin: Origin;
  readonly source: Source;
  /** A passkey cannot be guessed, so no lock rejects it and its failures are not counted. */
  readonly proofKind: 'password' | 'code' | 'passkey';
  /**
   * Records read while the password was hashed. A rejection then waits for one audit record, for every user alike, so that its
   * time does not show in how many accounts the user is, or whether in any.
   */
  readonly records?: AttemptRecords;
}

interface RejectedAttempt extends Pick<AuthenticationAttempt, 'origin' | 'records'> {
  readonly person?: string;
  readonly memberships: readonly Membership[];
}

/**
 * Makes one sign-in attempt: the writes of a valid proof are one unit, and a wrong proof is counted, also under concurrency.
 * A browser or network gets no more wrong proofs checked than its limit, because a valid one is rejected when its source was
 * locked in the meantime. `decide` reads its records again at each attempt.
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

/** Reads the records that an attempt is checked against; undefined without such a user. */
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

/** Records the reason in the audit log and throws the one failure of all sign-ins. */
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
 * Records a rejection that an attacker can repeat: throttled in the logs of the accounts, so that a lock does not flood them.
 * An attempt with a password is in the log of the service each time, as it is for unknown users.
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

/** Does not wait for records whose first copy is committed already: the caller's response time must not depend on them. */
function finishInBackground(writing: Promise<unknown>): void {
  writing.catch(() => undefined);
}

/**
 * Makes one step-up attempt of a signed-in user. Failures are counted in the session alone, so that attempts elsewhere cannot
 * lock it; the last allowed one ends the session. The writes of a success have to conflict when the session has changed.
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

/** Reads a session again; undefined when it has expired or was revoked. */
export async function reloadSession(
  { database, keyring, clock }: PeopleDependencies,
  { digest }: Session,
): Promise<Session | undefined> {
  const session = await findSession(database, keyring, digest);
  return session === undefined || isExpired(session, clock()) ? undefined : session;
}
