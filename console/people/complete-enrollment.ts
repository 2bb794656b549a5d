import type { AuditEvent } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import type { Write } from '../../src/storage/database.ts';
import { browserSecret, type ClientContext, personOrigin, toSource } from './client-context.ts';
import { deleteFactorsByPerson, insertFactor, type NewFactor } from './factor-store.ts';
import { newRecoveryCodesFactor } from './factors.ts';
import { deleteResetsByPerson, redeemInvitation } from './invitation-store.ts';
import { assertInviterStillAllowed, invalidLink, teamFull } from './invitations.ts';
import { insertMembership, listMembershipsByPerson, lockTeam, type Membership } from './membership-store.ts';
import { withPassword } from './passwords.ts';
import { eventPerAccount, personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, insertPerson, updatePerson } from './person-store.ts';
import { type Authority, OPERATOR, type Role } from './roles.ts';
import type { PeopleDependencies } from './sealing.ts';
import type { PendingEnrollment, Session } from './session.ts';
import { deleteSession, deleteSessionsByPerson } from './session-store.ts';
import { buildSession, type IssuedSession } from './sessions.ts';
import { newSignInState } from './sign-in-state.ts';
import { replaceSignInState } from './sign-in-state-store.ts';
import { BROWSER_TIME_ZONE } from './time-zone.ts';

/** A session signed in for the first time, with its user and the recovery codes, which are shown once. */
export interface CompletedEnrollment extends IssuedSession {
  readonly recoveryCodes: readonly string[];
  /** True for a credential reset. */
  readonly isReset: boolean;
  readonly person: Person;
  readonly memberships: readonly Membership[];
}

/** A user as an invitation or a credential reset changes them. */
interface EnrolledUser {
  readonly person: Person;
  readonly memberships: readonly Membership[];
  readonly writes: readonly { readonly write: Write; readonly onConflict: Failure }[];
  readonly events: readonly AuditEvent[];
}

/** True while the inviter may reset this user: an operator always, an owner only if the user belongs to no other account. */
export const mayResetFrom = (account: string, memberships: readonly Authority[]): boolean =>
  account === OPERATOR.account || (memberships.length === 1 && memberships[0]?.account === account);

/**
 * Completes an enrollment: the user or the new password, the role, the second factor and the recovery codes, the redeemed
 * invitation, and a signed-in session. Throws `not_possible` when the invitation was used in the meantime.
 */
export async function completeEnrollment(
  dependencies: PeopleDependencies,
  transaction: Transaction,
  session: Session,
  factor: NewFactor,
  client: ClientContext,
): Promise<CompletedEnrollment> {
  const { keyring, time } = dependencies;
  const { pendingEnrollment } = session.notes;
  if (pendingEnrollment === undefined) throw new Failure('not_signed_in');
  const { invitation } = pendingEnrollment;
  const { role } = invitation;
  await assertInviterStillAllowed(dependencies, invitation);
  const { person, memberships, writes, events } =
    role === undefined
      ? await buildCredentialReset(dependencies, session, pendingEnrollment)
      : await buildNewPerson(dependencies, session, pendingEnrollment, { account: invitation.account, role });
  for (const { write, onConflict } of writes) transaction.write(write, onConflict);
  transaction.write(redeemInvitation(invitation, transaction.now), invalidLink());
  const add = (write: Write): void => transaction.write(write, new Failure('changed_meanwhile'));
  // The write above conflicts unless the invitation is pending; the other resets of the user end with it.
  if (role === undefined) add(deleteResetsByPerson(person.id));
  const browser = browserSecret(dependencies.random, client);
  const source = toSource(person.id, { ...client, browser });
  add(await replaceSignInState(keyring, person.id, newSignInState(source, time.latestNow())));
  add(await insertFactor(keyring, factor));
  const { codes, factor: recovery } = await newRecoveryCodesFactor(dependencies, person.id);
  add(await insertFactor(keyring, recovery));
  const { write, ...issued } = await buildSession(dependencies, { person: person.id, stage: 'signed-in', client });
  add(write);
  const origin = personOrigin(person, client);
  const details = { person: person.id, targets: [`session:${issued.session.id}`], detail: { factor: factor.kind } };
  for (const event of [...events, ...eventPerAccount('person.signed-in', memberships, details)])
    transaction.record(event, origin);
  return { ...issued, browser, recoveryCodes: codes, isReset: role === undefined, person, memberships };
}

/** Builds a new user with a role. */
async function buildNewPerson(
  { keyring, clock }: PeopleDependencies,
  session: Session,
  { email, isEmailUnconfirmed, name, language, password }: PendingEnrollment,
  to: Authority & { role: Role },
): Promise<EnrolledUser> {
  const createdAt = clock();
  const settings = { language, timeZone: BROWSER_TIME_ZONE };
  const identity = { id: session.person, email, isEmailUnconfirmed, name };
  const person: Person = { ...identity, ...settings, password, revision: 1, createdAt };
  const membership = { ...to, person: person.id, createdAt };
  return {
    person,
    memberships: [membership],
    writes: [
      ...(await insertPerson(keyring, person)).map((write) => ({ write, onConflict: notPossible('emailHasSignIn') })),
      { write: deleteSession(session), onConflict: new Failure('not_signed_in') },
      ...lockTeam(to.account).map((lock) => ({ write: lock, onConflict: new Failure('changed_meanwhile') })),
      { write: await insertMembership(keyring, membership), onConflict: teamFull() },
    ],
    events: [personEvent('person.joined', to.account, { person: person.id, detail: { role: to.role } })],
  };
}

/** Builds a credential reset: it replaces password and factors, and ends all sessions and locks. */
async function buildCredentialReset(
  { database, keyring }: PeopleDependencies,
  session: Session,
  { invitation, language, password }: PendingEnrollment,
): Promise<EnrolledUser> {
  const before = await findPerson(database, keyring, session.person);
  const memberships = await listMembershipsByPerson(database, keyring, session.person);
  if (before === undefined || !mayResetFrom(invitation.account, memberships)) throw invalidLink();
  // A user who becomes a member of another account concurrently changes, so this write conflicts.
  const { write, person } = await updatePerson(keyring, before, { language, ...withPassword(before, password) });
  const changed = new Failure('changed_meanwhile');
  return {
    person,
    memberships,
    writes: [
      { write, onConflict: changed },
      { write: deleteSession(session), onConflict: new Failure('not_signed_in') },
      { write: deleteSessionsByPerson(person.id), onConflict: changed },
      { write: deleteFactorsByPerson(person.id), onConflict: changed },
    ],
    events: eventPerAccount('person.reset', memberships, { person: person.id }),
  };
}
