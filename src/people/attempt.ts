import type { Origin } from '../audit/audit.ts';
import type { Repeats } from '../audit/repeats.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitAll, type JournalEntry, type Write } from '../storage/database.ts';
import { type Membership, membershipsOf } from './membership-store.ts';
import { eventInEach, personEvent } from './people-events.ts';
import { afterFailure, isLocked, type Person } from './person.ts';
import { findPerson, putAttempts } from './person-store.ts';
import type { ProofRefusal } from './proof.ts';
import type { Means } from './sealing.ts';

/** Why somebody is not believed. Only the audit log tells. */
type Refusal = ProofRefusal | 'person_unknown' | 'person_locked' | 'password_wrong';

/** What somebody shows, judged: not believed, or what follows from it. */
export type Judgement<T> =
  | { readonly refusal: Refusal; readonly writes?: readonly Write[] }
  | {
      /** The first of them writes the person, and conflicts when they have changed since they were read. */
      readonly writes: readonly [Write, ...Write[]];
      readonly journal: readonly JournalEntry[];
      readonly value: T;
    };

/** Beside the means of all: who is refused again and again is counted. */
export interface TrialMeans extends Means {
  readonly repeats: Repeats;
}

/** Who tries to show who they are, and from where. */
export interface Trial {
  readonly person: string;
  readonly origin: Origin;
  /**
   * Of who has shown nothing yet: what was read of them while their password was hashed. A refusal then waits for one
   * record, whoever it is, so that its time does not tell in how many accounts they are, or whether they are in any.
   */
  readonly known?: { readonly person: Person; readonly memberships: readonly Membership[] };
}

interface Refused extends Omit<Trial, 'person'> {
  readonly person?: string;
  readonly memberships: readonly Membership[];
}

/**
 * Lets somebody show who they are, once: what a right proof allows is one unit, and a wrong one is counted, whatever others
 * try at the same moment. No more than the limit of wrong ones in a row are ever judged, also of many at once, because a
 * right one counts for nothing when the person was locked meanwhile. `judge` reads anew what it judges by.
 */
export async function attempt<T>(
  means: TrialMeans,
  trial: Trial,
  judge: (person: Person, memberships: readonly Membership[]) => Promise<Judgement<T>>,
): Promise<T> {
  const { database, keyring, clock } = means;
  const { person: id, known } = trial;
  for (let turn = 0; turn < LIMITS.commitAttempts; turn++) {
    // One that has changed since conflicts below.
    const person = turn === 0 && known !== undefined ? known.person : await findPerson(database, keyring, id);
    const memberships = known?.memberships ?? (await membershipsOf(database, keyring, id));
    const refused = { ...trial, memberships };
    if (person === undefined) return refuse(means, refused, 'person_unknown');
    if (isLocked(person, clock())) return refuseLocked(means, refused);
    const judgement = await judge(person, memberships);
    if (!('refusal' in judgement)) {
      const { writes, journal, value } = judgement;
      if ((await database.commit({ writes, journal })).committed) return value;
    } else if (await count(means, person, refused, judgement)) throw new Failure('sign_in_refused');
  }
  throw new Failure('unavailable');
}

const REFUSED = 'person.sign-in-refused';

/** Refuses with the one failure there is, and tells the audit log why. */
export async function refuse(
  { database, clock }: Means,
  { origin, memberships, person }: Refused,
  outcome: Refusal,
): Promise<never> {
  const about = { outcome, ...(person !== undefined && { person }) };
  const journal = eventInEach(clock, origin, REFUSED, memberships, about);
  await commitAll(database, { writes: [], journal });
  throw new Failure('sign_in_refused');
}

/**
 * A lock lasts, and whoever goes on trying must not fill the logs of the accounts: there it is counted. Of who has shown
 * nothing yet each try is in the log of the service, as tries of nobody are.
 */
async function refuseLocked(means: TrialMeans, refused: Refused): Promise<never> {
  const { clock, repeats } = means;
  const { origin, memberships, person = '', known } = refused;
  const about = { person, outcome: 'person_locked' };
  const told = repeats.note.bind(
    repeats,
    [REFUSED, about.outcome, person, origin.address ?? '', known === undefined ? 'factor' : 'password'],
    (times) => eventInEach(clock, origin, REFUSED, memberships, { ...about, ...(times && { detail: { times } }) }),
  );
  if (known === undefined) await told();
  else {
    const journal = [personEvent(clock, origin, REFUSED, '', about)];
    await commitAll(means.database, { writes: [], journal });
    leave(told());
  }
  throw new Failure('sign_in_refused');
}

/** One more failure; false when the person has changed since they were read. */
async function count(
  { database, clock }: Means,
  before: Person,
  { origin, memberships, known }: Refused,
  { refusal, writes = [] }: Extract<Judgement<unknown>, { refusal: Refusal }>,
): Promise<boolean> {
  const attempts = afterFailure(before, clock());
  const person = before.id;
  const isLock = attempts.lockedUntil !== undefined;
  const journalOf = (to: readonly Membership[]): JournalEntry[] => [
    ...eventInEach(clock, origin, REFUSED, to, { person, outcome: refusal }),
    ...(isLock ? eventInEach(clock, origin, 'person.locked', to, { person }) : []),
  ];
  const others = known === undefined ? [] : memberships.slice(1);
  const first = memberships.slice(0, memberships.length - others.length);
  const unit = { writes: [putAttempts(before, attempts), ...writes], journal: journalOf(first) };
  if (!(await database.commit(unit)).committed) return false;
  if (others.length > 0) leave(database.commit({ writes: [], journal: journalOf(others) }));
  return true;
}

/** On its way, also when the service stops; by then the same is in the log of one account, or of the service. */
function leave(writing: Promise<unknown>): void {
  writing.catch(() => undefined);
}
