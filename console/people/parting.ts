import type { Origin } from '../../src/audit/audit.ts';
import type { Unit, Write } from '../../src/storage/database.ts';
import { deleteFactorsOf } from './factor-store.ts';
import { deleteResetsOf } from './invitation-store.ts';
import { type Membership, membershipsOf, removeMembership } from './membership-store.ts';
import { personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { deletePerson, findPerson, updatePerson } from './person-store.ts';
import type { Means } from './sealing.ts';
import { deleteSessionsOf } from './session-store.ts';
import { deleteSignInState } from './sign-in-state-store.ts';

/** The end of a membership. */
export interface Parting {
  readonly unit: Unit;
  /** Whether that write conflicts because the person has changed, as by joining another account. */
  isAboutPerson(write: number): boolean;
}

/**
 * With the last membership the person goes as well: nobody could see or help them any more, and what is not needed is not
 * to be kept. The person changes with every membership that ends, so that of two that end at the same moment one is the last.
 */
export async function partingOf(means: Means, before: Membership, origin: Origin): Promise<Parting> {
  const { database, keyring, clock } = means;
  const { account, person: id, role } = before;
  const person = await findPerson(database, keyring, id);
  const isLast = (await membershipsOf(database, keyring, id)).every((each) => each.account === account);
  const event = personEvent(clock, origin, 'membership.removed', account, { person: id, detail: { role } });
  const first = person === undefined ? [] : [await writeOf(means, person, isLast)];
  const writes = [...first, ...removeMembership(before), ...(isLast ? remainsOf(id) : [])];
  const journal = isLast ? [event, personEvent(clock, origin, 'person.removed', account, { person: id })] : [event];
  return { unit: { writes, journal }, isAboutPerson: (write) => write < first.length };
}

const writeOf = async ({ keyring }: Means, person: Person, isLast: boolean): Promise<Write> =>
  isLast ? deletePerson(person) : (await updatePerson(keyring, person, {})).write;

/** All else that is the person's alone. */
const remainsOf = (person: string): Write[] => [
  deleteFactorsOf(person),
  deleteSessionsOf(person),
  deleteSignInState(person),
  deleteResetsOf(person),
];
