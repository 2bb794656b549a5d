import type { Origin } from '../../src/audit/audit.ts';
import type { UnitOfWork, Write } from '../../src/storage/database.ts';
import { deleteFactorsByPerson } from './factor-store.ts';
import { deleteResetsByPerson } from './invitation-store.ts';
import { deleteMembership, listMembershipsByPerson, type Membership } from './membership-store.ts';
import { personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { deletePerson, findPerson, updatePerson } from './person-store.ts';
import type { PeopleDependencies } from './sealing.ts';
import { deleteSessionsByPerson } from './session-store.ts';
import { deleteSignInState } from './sign-in-state-store.ts';

/** The end of a membership. */
export interface MembershipRemoval {
  readonly unit: UnitOfWork;
  /** True for a write that conflicts because the user has changed, for example by joining another account. */
  isPersonConflict(write: number): boolean;
}

/**
 * Builds the removal of a membership. The last one deletes the user: no one could administer the account, and unneeded data
 * must not be stored. The user changes with every removal, so that of two concurrent ones one is the last.
 */
export async function buildMembershipRemoval(
  dependencies: PeopleDependencies,
  before: Membership,
  origin: Origin,
): Promise<MembershipRemoval> {
  const { database, keyring, clock } = dependencies;
  const { account, person: id, role } = before;
  const person = await findPerson(database, keyring, id);
  const isLast = (await listMembershipsByPerson(database, keyring, id)).every((each) => each.account === account);
  const event = personEvent(clock, origin, 'membership.removed', account, { person: id, detail: { role } });
  const personWrites = person === undefined ? [] : [await buildPersonWrite(dependencies, person, isLast)];
  const writes = [...personWrites, ...deleteMembership(before), ...(isLast ? deletePersonalData(id) : [])];
  const journal = isLast ? [event, personEvent(clock, origin, 'person.removed', account, { person: id })] : [event];
  return { unit: { writes, journal }, isPersonConflict: (write) => write < personWrites.length };
}

const buildPersonWrite = async ({ keyring }: PeopleDependencies, person: Person, isLast: boolean): Promise<Write> =>
  isLast ? deletePerson(person) : (await updatePerson(keyring, person, {})).write;

/** All else that is the person's alone. */
const deletePersonalData = (person: string): Write[] => [
  deleteFactorsByPerson(person),
  deleteSessionsByPerson(person),
  deleteSignInState(person),
  deleteResetsByPerson(person),
];
