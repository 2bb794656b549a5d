import type { OnConflict, Transaction } from '../../src/idempotency/transaction.ts';
import type { Write } from '../../src/storage/database.ts';
import { deleteFactorsByPerson } from './factor-store.ts';
import { deleteResetsByPerson } from './invitation-store.ts';
import { deleteMembership, listMembershipsByPerson, type Membership } from './membership-store.ts';
import { personEvent } from './people-events.ts';
import { deletePerson, findPerson, updatePerson } from './person-store.ts';
import { deleteSavedViewsByMember } from './saved-view-store.ts';
import type { PeopleDependencies } from './sealing.ts';
import { deleteSessionsByPerson } from './session-store.ts';
import { deleteSignInState } from './sign-in-state-store.ts';

/**
 * Removes a membership. The last one deletes the user: the account could no longer be administered, and unneeded data must not be
 * stored. The user changes with every removal, so that of two concurrent ones one is the last; a user who joins another
 * account concurrently conflicts, and is not deleted. `onConflict`: for the membership.
 */
export async function removeMembership(
  { database, keyring }: PeopleDependencies,
  transaction: Transaction,
  before: Membership,
  onConflict: OnConflict,
): Promise<void> {
  const { account, person: id, role } = before;
  const person = await findPerson(database, keyring, id);
  const isLast = (await listMembershipsByPerson(database, keyring, id)).every((each) => each.account === account);
  if (person !== undefined)
    transaction.write(isLast ? deletePerson(person) : (await updatePerson(keyring, person, {})).write);
  for (const write of deleteMembership(before)) transaction.write(write, onConflict);
  transaction.write(deleteSavedViewsByMember(account, id));
  transaction.record(personEvent('membership.removed', account, { person: id, detail: { role } }));
  if (!isLast) return;
  for (const write of deletePersonalData(id)) transaction.write(write);
  transaction.record(personEvent('person.removed', account, { person: id }));
}

/** Returns the deletion of all other data of the user. */
const deletePersonalData = (person: string): Write[] => [
  deleteFactorsByPerson(person),
  deleteSessionsByPerson(person),
  deleteSignInState(person),
  deleteResetsByPerson(person),
];
