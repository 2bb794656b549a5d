import type { AuditEvent, Origin } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Write } from '../../src/storage/database.ts';
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

/** A proof that failed, with what is written although it failed. */
interface FailedProof {
  readonly failure: SignInFailure;
  readonly writes?: readonly Write[];
}

/** A verified proof with its effect. */
interface VerifiedProof<T> {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
  /** The user that the events name, who is signed in by them. Absent: the origin of the attempt. */
  readonly origin?: Origin;
  readonly value: T;
  /** The new sign-in state; unchanged when absent. */
  readonly state?: SignInState;
}

type ProofDecision<T> = FailedProof | VerifiedProof<T>;

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
  /**
   * A passkey cannot be guessed, so no lock rejects it and its failures are not counted. One alone needs only the id of the
   * user, so its rejections must not fill the logs of the accounts.
   */
  readonly proofKind: 'password' | 'code' | 'passkey' | 'passkey-alone';
  /**
   * Records read while the password was hashed. A rejection then waits for one audit record, for every user alike, so that its
   * time does not show in how many accounts the user is, or whether in any.
   */
  readonly records?: AttemptRecords;
}

/** The decision of an attempt. A rejection is thrown after the commit of its transaction. */
type AttemptResult<T> = { readonly value: T } | { readonly afterRejection: () => Promise<unknown> };

const REJECTED = 'person.sign-in-refused';
/** A signed-in user failed a proof of identity. */
const REJECTED_IN_SESSION = 'person.step-up-refused';

/**
 * Makes one sign-in attempt: the writes of a valid proof are one unit, and a wrong proof is counted, also under concurrency.
 * A browser or network gets no more wrong proofs checked than its limit, because a valid one is rejected when its source was
 * locked in the meantime. `decide` reads its records again at each attempt of the transaction.
 */
export async function attemptProof<T>(
  dependencies: AuthenticationDependencies,
  attempt: AuthenticationAttempt,
  decide: (person: Person, memberships: readonly Membership[], state: StoredSignInState) => Promise<ProofDecision<T>>,
): Promise<T> {
  const { transactions, keyring, time } = dependencies;
  const { origin, records, proofKind } = attempt;
  const fill = async (transaction: Transaction): Promise<AttemptResult<T>> => {
    // A record that has changed since it was read conflicts.
    const read =
      transaction.attempt === 0 && records !== undefined
        ? records
        : await loadAttemptRecords(dependencies, attempt.person);
    const memberships = records?.memberships ?? read?.memberships ?? [];
    if (read === undefined) return recordRejection(transaction, memberships, 'person_unknown');
    const { person, state } = read;
    const barrier = state === undefined ? 'state_altered' : findBarrier(state, attempt, time.steadyNow());
    if (state === undefined || barrier !== undefined)
      return recordThrottled(dependencies, transaction, attempt, memberships, barrier ?? 'state_altered');
    const decision = await decide(person, memberships, state);
    if ('failure' in decision) {
      if (proofKind === 'passkey-alone')
        return recordThrottled(dependencies, transaction, attempt, memberships, decision.failure);
      return countRejection(dependencies, transaction, attempt, { person, memberships, state }, decision);
    }
    const { writes, events, value } = decision;
    const stateWrite =
      decision.state === undefined ? lockSignInState(state) : await updateSignInState(keyring, state, decision.state);
    for (const write of [lockPerson(person), stateWrite, ...writes]) transaction.write(write);
    for (const event of events) transaction.record(event, decision.origin);
    return { value };
  };
  return finishAttempt(await transactions.run({ origin }, fill), records !== undefined);
}

/** Returns the value of a valid proof, and throws the one failure of all sign-ins for any other. */
async function finishAttempt<T>(result: AttemptResult<T>, isInBackground: boolean): Promise<T> {
  if ('value' in result) return result.value;
  const finished = result.afterRejection();
  // The response time of a rejected password must not depend on further records.
  if (isInBackground) finished.catch(() => undefined);
  else await finished;
  throw new Failure('sign_in_refused');
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
  if (proofKind === 'passkey' || proofKind === 'passkey-alone') return undefined;
  if (state.passwordBlockedAt !== undefined) return 'password_blocked';
  return isLocked(state, source, now) ? 'person_locked' : undefined;
}

const nothingElse = (): Promise<void> => Promise.resolve();

/**
 * Records the reason of a rejection in the log of each account. It names no user: the id that the client sent may be any text,
 * such as a card number.
 */
function recordRejection(transaction: Transaction, memberships: readonly Membership[], outcome: SignInFailure) {
  for (const event of eventPerAccount(REJECTED, memberships, { outcome })) transaction.record(event);
  return { afterRejection: nothingElse };
}

/** Rejects an attempt with an email of no user. Throws the one failure of all sign-ins. */
export async function rejectUnknown(
  { transactions }: PeopleDependencies,
  origin: Origin,
  memberships: readonly Membership[],
): Promise<never> {
  await transactions.run({ origin }, async (transaction) =>
    recordRejection(transaction, memberships, 'person_unknown'),
  );
  throw new Failure('sign_in_refused');
}

/**
 * Records a rejection that an attacker can repeat: throttled in the logs of the accounts, so that a lock does not flood them.
 * An attempt with a password is in the log of the service each time, as it is for unknown users.
 */
function recordThrottled(
  { repeats }: AuthenticationDependencies,
  transaction: Transaction,
  { origin, person, records }: AuthenticationAttempt,
  memberships: readonly Membership[],
  outcome: SignInFailure,
) {
  const details = { person, outcome };
  if (records !== undefined) transaction.record(personEvent(REJECTED, '', details));
  const kind = records === undefined ? 'factor' : 'password';
  return {
    afterRejection: () =>
      repeats.record([REJECTED, outcome, person, origin.address ?? '', kind], origin, (times) =>
        eventPerAccount(REJECTED, memberships, { ...details, ...(times !== undefined && { detail: { times } }) }),
      ),
  };
}

/** Counts one more failure. The first account's log records it immediately, and those of the others after the commit. */
async function countRejection(
  { transactions, keyring, time }: PeopleDependencies,
  transaction: Transaction,
  { origin, proofKind, source, records }: AuthenticationAttempt,
  before: AttemptRecords & { readonly state: StoredSignInState },
  { failure, writes = [] }: FailedProof,
) {
  const now = time.steadyNow();
  const { memberships } = before;
  const person = before.person.id;
  const isCounted = proofKind !== 'passkey';
  const counted = countFailure(before.state, source, now);
  const state = proofKind === 'code' ? countFactorFailure(counted.state, now) : counted.state;
  const isBlock = isCounted && state.passwordBlockedAt !== undefined;
  const stateWrite = isCounted ? await updateSignInState(keyring, before.state, state) : lockSignInState(before.state);
  for (const write of [lockPerson(before.person), stateWrite, ...writes]) transaction.write(write);
  const recordIn = (target: Transaction, to: readonly Membership[]): void => {
    const events = [
      ...eventPerAccount(REJECTED, to, { person, outcome: failure }),
      ...(isCounted && counted.locked !== undefined
        ? eventPerAccount('person.locked', to, { person, detail: { scope: counted.locked } })
        : []),
      ...(isBlock ? eventPerAccount('password.blocked', to, { person }) : []),
    ];
    for (const event of events) target.record(event);
  };
  const others = records === undefined ? [] : memberships.slice(1);
  recordIn(transaction, memberships.slice(0, memberships.length - others.length));
  if (others.length === 0) return { afterRejection: nothingElse };
  return { afterRejection: () => transactions.run({ origin }, async (later) => recordIn(later, others)) };
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
  const { database, transactions, keyring } = dependencies;
  const fill = async (transaction: Transaction): Promise<AttemptResult<T>> => {
    const person = await findPerson(database, keyring, session.person);
    const memberships = await listMembershipsByPerson(database, keyring, session.person);
    const present = await reloadSession(dependencies, session);
    if (person === undefined || present === undefined) throw new Failure('not_signed_in');
    if (present.stage === 'replaced') throw new Failure('changed_meanwhile');
    const decision = await decide(person, present, memberships);
    if ('failure' in decision) {
      const details = { person: person.id, targets: [`session:${present.id}`] };
      for (const event of eventPerAccount(REJECTED_IN_SESSION, memberships, { ...details, outcome: decision.failure }))
        transaction.record(event);
      const failures = (present.notes.failures ?? 0) + (isCounted ? 1 : 0);
      if (failures >= LIMITS.signInFailures) {
        transaction.write(deleteSession(present));
        transaction.write(deleteReplacedSession(present));
        for (const event of eventPerAccount('person.locked', memberships, { ...details, detail: { scope: 'session' } }))
          transaction.record(event);
      } else {
        const notes = { failures, ...(!isCounted && { challenge: undefined }) };
        transaction.write((await updateSession(keyring, present, notes)).write);
      }
      return { afterRejection: nothingElse };
    }
    for (const write of [lockPerson(person), ...decision.writes]) transaction.write(write);
    for (const event of decision.events) transaction.record(event);
    return { value: decision.value };
  };
  return finishAttempt(await transactions.run({ origin }, fill), false);
}

/** Reads a session again; undefined when it has expired or was revoked. */
export async function reloadSession(
  { database, keyring, clock }: PeopleDependencies,
  { digest }: Session,
): Promise<Session | undefined> {
  const session = await findSession(database, keyring, digest);
  return session === undefined || isExpired(session, clock()) ? undefined : session;
}
