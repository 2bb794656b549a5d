import type { Origin } from '../audit/audit.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitAll, type JournalEntry, type Write } from '../storage/database.ts';
import { type Membership, membershipsOf } from './membership-store.ts';
import { eventInEach } from './people-events.ts';
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

/**
 * Lets somebody show who they are, once: what a right proof allows is one unit, and a wrong one is counted, whatever others
 * try at the same moment. No more than the limit of wrong ones in a row are ever judged, also of many at once, because a
 * right one counts for nothing when the person was locked meanwhile. `judge` reads anew what it judges by.
 */
export async function attempt<T>(
  means: Means,
  id: string,
  origin: Origin,
  judge: (person: Person, memberships: readonly Membership[]) => Promise<Judgement<T>>,
): Promise<T> {
  const { database, keyring, clock } = means;
  for (let turn = 0; turn < LIMITS.commitAttempts; turn++) {
    const person = await findPerson(database, keyring, id);
    const memberships = await membershipsOf(database, keyring, id);
    if (person === undefined) return refuse(means, memberships, origin, 'person_unknown', id);
    if (isLocked(person, clock())) return refuse(means, memberships, origin, 'person_locked', id);
    const judgement = await judge(person, memberships);
    if (!('refusal' in judgement)) {
      const { writes, journal, value } = judgement;
      if ((await database.commit({ writes, journal })).committed) return value;
    } else if (await count(means, person, memberships, origin, judgement)) throw new Failure('sign_in_refused');
  }
  throw new Failure('unavailable');
}

/** Refuses with the one failure there is, and tells the audit log why. */
export async function refuse(
  { database, clock }: Means,
  memberships: readonly Membership[],
  origin: Origin,
  outcome: Refusal,
  person?: string,
): Promise<never> {
  const about = { outcome, ...(person !== undefined && { person }) };
  const journal = eventInEach(clock, origin, 'person.sign-in-refused', memberships, about);
  await commitAll(database, { writes: [], journal });
  throw new Failure('sign_in_refused');
}

/** One more failure; false when the person has changed since they were read. */
async function count(
  { database, clock }: Means,
  before: Person,
  memberships: readonly Membership[],
  origin: Origin,
  { refusal, writes = [] }: Extract<Judgement<unknown>, { refusal: Refusal }>,
): Promise<boolean> {
  const attempts = afterFailure(before, clock());
  const person = before.id;
  const journal = eventInEach(clock, origin, 'person.sign-in-refused', memberships, { person, outcome: refusal });
  if (attempts.lockedUntil !== undefined)
    journal.push(...eventInEach(clock, origin, 'person.locked', memberships, { person }));
  const unit = { writes: [putAttempts(before, attempts), ...writes], journal };
  return (await database.commit(unit)).committed;
}
