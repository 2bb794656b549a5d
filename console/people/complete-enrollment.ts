import { Failure, notPossible } from '../../src/kernel/failure.ts';
import type { JournalEntry, Write } from '../../src/storage/database.ts';
import { browserSecret, type ClientContext, personOrigin, toSource } from './client-context.ts';
import { deleteFactorsByPerson, insertFactor, type NewFactor } from './factor-store.ts';
import { newRecoveryCodesFactor } from './factors.ts';
import { deleteResetsByPerson, redeemInvitation } from './invitation-store.ts';
import { assertInviterStillAllowed, invalidLink, teamFull } from './invitations.ts';
import { insertMembership, listMembershipsByPerson } from './membership-store.ts';
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

/** A session signed in for the first time, with the recovery codes, which are shown once. */
export interface CompletedEnrollment extends IssuedSession {
  readonly recoveryCodes: readonly string[];
}

/** A write with the failure to throw when it conflicts. */
interface ConditionalWrite {
  readonly write: Write;
  readonly onConflict?: () => Failure;
}

interface EnrollmentWrites {
  readonly person: Pick<Person, 'id' | 'name'>;
  readonly conditionalWrites: readonly ConditionalWrite[];
  /** Accounts whose logs get the record. */
  readonly accounts: readonly { readonly account: string }[];
  readonly journal: (origin: ReturnType<typeof personOrigin>) => JournalEntry[];
}

const changedMeanwhile = (): Failure => new Failure('changed_meanwhile');
const notSignedIn = (): Failure => new Failure('not_signed_in');
const emailTaken = (): Failure => notPossible('emailIsHere');

/** True while the inviter may reset this user: an operator always, an owner only if the user belongs to no other account. */
export const mayResetFrom = (account: string, memberships: readonly Authority[]): boolean =>
  account === OPERATOR.account || (memberships.length === 1 && memberships[0]?.account === account);

/**
 * Completes an enrollment in one unit: the user or the new password, the role, the second factor and the recovery codes,
 * the redeemed invitation, and a signed-in session. Throws `not_possible` when the invitation was used in the meantime.
 */
export async function completeEnrollment(
  dependencies: PeopleDependencies,
  session: Session,
  factor: NewFactor,
  client: ClientContext,
): Promise<CompletedEnrollment> {
  const { database, keyring, clock, time } = dependencies;
  const { pendingEnrollment } = session.notes;
  if (pendingEnrollment === undefined) throw notSignedIn();
  const { invitation } = pendingEnrollment;
  const { role } = invitation;
  await assertInviterStillAllowed(dependencies, invitation);
  const enrollment =
    role === undefined
      ? await buildCredentialReset(dependencies, session, pendingEnrollment)
      : await buildNewPerson(dependencies, session, pendingEnrollment, { account: invitation.account, role });
  const { codes, factor: recovery } = await newRecoveryCodesFactor(dependencies, session.person);
  const { write, ...grant } = await buildSession(dependencies, { person: session.person, stage: 'signed-in', client });
  const browser = browserSecret(dependencies.random, client);
  const source = await toSource(keyring, session.person, { ...client, browser });
  const conditionalWrites: ConditionalWrite[] = [
    ...enrollment.conditionalWrites,
    { write: redeemInvitation(invitation, clock()), onConflict: invalidLink },
    // The write above conflicts unless the invitation is pending; the other resets of the user end with it.
    ...(role === undefined ? [{ write: deleteResetsByPerson(session.person) }] : []),
    { write: await replaceSignInState(keyring, session.person, newSignInState(source, time.latestNow())) },
    { write: await insertFactor(keyring, factor) },
    { write: await insertFactor(keyring, recovery) },
    { write },
  ];
  const origin = personOrigin(enrollment.person, client);
  const details = { person: session.person, targets: [`session:${grant.session.id}`], detail: { factor: factor.kind } };
  const journal = [
    ...enrollment.journal(origin),
    ...eventPerAccount(clock, origin, 'person.signed-in', enrollment.accounts, details),
  ];
  const outcome = await database.commit({ writes: conditionalWrites.map((step) => step.write), journal });
  if (!outcome.committed) throw (conditionalWrites[outcome.write]?.onConflict ?? changedMeanwhile)();
  return { ...grant, browser, recoveryCodes: codes };
}

async function buildNewPerson(
  { keyring, clock }: PeopleDependencies,
  session: Session,
  { email, name, language, password }: PendingEnrollment,
  to: Authority & { role: Role },
): Promise<EnrollmentWrites> {
  const createdAt = clock();
  const person: Person = {
    id: session.person,
    email,
    name,
    language,
    password,
    revision: 1,
    createdAt,
  };
  const details = { person: person.id, detail: { role: to.role } };
  return {
    person,
    accounts: [to],
    conditionalWrites: [
      { write: await insertPerson(keyring, person), onConflict: emailTaken },
      { write: deleteSession(session), onConflict: notSignedIn },
      { write: await insertMembership(keyring, { ...to, person: person.id, createdAt }), onConflict: teamFull },
    ],
    journal: (origin) => [personEvent(clock, origin, 'person.joined', to.account, details)],
  };
}

/** Builds a credential reset: it replaces password and factors, and ends all sessions and locks. */
async function buildCredentialReset(
  { database, keyring, clock }: PeopleDependencies,
  session: Session,
  { invitation, language, password }: PendingEnrollment,
): Promise<EnrollmentWrites> {
  const before = await findPerson(database, keyring, session.person);
  const memberships = await listMembershipsByPerson(database, keyring, session.person);
  if (before === undefined || !mayResetFrom(invitation.account, memberships)) throw invalidLink();
  // A user who becomes a member of another account concurrently changes, so this write conflicts.
  const { write, person } = await updatePerson(keyring, before, { language, password });
  return {
    person,
    accounts: memberships,
    conditionalWrites: [
      { write, onConflict: changedMeanwhile },
      { write: deleteSession(session), onConflict: notSignedIn },
      { write: deleteSessionsByPerson(person.id) },
      { write: deleteFactorsByPerson(person.id) },
    ],
    journal: (origin) => eventPerAccount(clock, origin, 'person.reset', memberships, { person: person.id }),
  };
}
