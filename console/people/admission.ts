import { Failure } from '../../src/kernel/failure.ts';
import type { JournalEntry, Write } from '../../src/storage/database.ts';
import { deleteFactorsOf, insertFactor, type NewFactor } from './factor-store.ts';
import { recoveryFactor } from './factors.ts';
import { deleteResetsOf, spendInvitation } from './invitation-store.ts';
import { linkIsBad, mustStillInvite, noRoomForPeople } from './invitations.ts';
import { insertMembership, membershipsOf } from './membership-store.ts';
import { eventInEach, personEvent } from './people-events.ts';
import type { Person } from './person.ts';
import { findPerson, insertPerson, updatePerson } from './person-store.ts';
import { type Authority, OPERATOR, type Role } from './roles.ts';
import type { Means } from './sealing.ts';
import type { Newcomer, Session } from './session.ts';
import { deleteSession, deleteSessionsOf } from './session-store.ts';
import { type Grant, newSession } from './sessions.ts';
import { newSignInState } from './sign-in-state.ts';
import { replaceSignInState } from './sign-in-state-store.ts';
import { browserOf, originOf, sourceOf, type Visitor } from './visitor.ts';

/** Signed in for the first time, with the recovery codes, which are shown this once. */
export interface Joined extends Grant {
  readonly recoveryCodes: readonly string[];
}

/** A write, and what is told when it conflicts. */
interface Step {
  readonly write: Write;
  readonly otherwise?: () => Failure;
}

interface Admission {
  readonly person: Pick<Person, 'id' | 'name'>;
  readonly steps: readonly Step[];
  /** Whose logs tell of it. */
  readonly accounts: readonly { readonly account: string }[];
  readonly journal: (origin: ReturnType<typeof originOf>) => JournalEntry[];
}

const changed = (): Failure => new Failure('changed_meanwhile');
const gone = (): Failure => new Failure('not_signed_in');
const taken = (): Failure =>
  new Failure('not_possible', {
    message: 'Somebody with this e-mail address is here already. Sign in, and open the link again.',
  });

/** What a link that was made in an account may still do to a person: an operator's anything, an owner's if they see nothing else. */
export const resetFits = (account: string, memberships: readonly Authority[]): boolean =>
  account === OPERATOR.account || (memberships.length === 1 && memberships[0]?.account === account);

/**
 * The end of joining, in one unit: the person or their new password, the role, the second factor and the recovery codes,
 * the used link, and a session that is signed in. Throws `not_possible` when the link was used meanwhile.
 */
export async function admit(means: Means, session: Session, factor: NewFactor, visitor: Visitor): Promise<Joined> {
  const { database, keyring, clock, time } = means;
  const { newcomer } = session.notes;
  if (newcomer === undefined) throw gone();
  const { invitation } = newcomer;
  const { role } = invitation;
  await mustStillInvite(means, invitation);
  const admission =
    role === undefined
      ? await newPassword(means, session, newcomer)
      : await newPerson(means, session, newcomer, { account: invitation.account, role });
  const { codes, factor: recovery } = await recoveryFactor(means, session.person);
  const { write, ...grant } = await newSession(means, { person: session.person, stage: 'signed-in', visitor });
  const browser = browserOf(means.random, visitor);
  const source = await sourceOf(keyring, session.person, { ...visitor, browser });
  const steps: Step[] = [
    ...admission.steps,
    { write: spendInvitation(invitation, clock()), otherwise: linkIsBad },
    // The link is spent above, for that tells whether it was open still; with it end all that were made beside it.
    ...(role === undefined ? [{ write: deleteResetsOf(session.person) }] : []),
    { write: await replaceSignInState(keyring, session.person, newSignInState(source, time.latestNow())) },
    { write: await insertFactor(keyring, factor) },
    { write: await insertFactor(keyring, recovery) },
    { write },
  ];
  const origin = originOf(admission.person, visitor);
  const about = { person: session.person, targets: [`session:${grant.session.id}`], detail: { factor: factor.kind } };
  const journal = [
    ...admission.journal(origin),
    ...eventInEach(clock, origin, 'person.signed-in', admission.accounts, about),
  ];
  const outcome = await database.commit({ writes: steps.map((step) => step.write), journal });
  if (!outcome.committed) throw (steps[outcome.write]?.otherwise ?? changed)();
  return { ...grant, browser, recoveryCodes: codes };
}

async function newPerson(
  { keyring, clock }: Means,
  session: Session,
  { email, name, language, password }: Newcomer,
  to: Authority & { role: Role },
): Promise<Admission> {
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
  const about = { person: person.id, detail: { role: to.role } };
  return {
    person,
    accounts: [to],
    steps: [
      { write: await insertPerson(keyring, person), otherwise: taken },
      { write: deleteSession(session), otherwise: gone },
      { write: await insertMembership(keyring, { ...to, person: person.id, createdAt }), otherwise: noRoomForPeople },
    ],
    journal: (origin) => [personEvent(clock, origin, 'person.joined', to.account, about)],
  };
}

/** A new password and new factors for somebody who is here: what they had is worth nothing any more, nor is a lock. */
async function newPassword(
  { database, keyring, clock }: Means,
  session: Session,
  { invitation, language, password }: Newcomer,
): Promise<Admission> {
  const before = await findPerson(database, keyring, session.person);
  const memberships = await membershipsOf(database, keyring, session.person);
  if (before === undefined || !resetFits(invitation.account, memberships)) throw linkIsBad();
  // Whoever becomes a member of another account meanwhile changes the person, and this conflicts.
  const { write, person } = await updatePerson(keyring, before, { language, password });
  return {
    person,
    accounts: memberships,
    steps: [
      { write, otherwise: changed },
      { write: deleteSession(session), otherwise: gone },
      { write: deleteSessionsOf(person.id) },
      { write: deleteFactorsOf(person.id) },
    ],
    journal: (origin) => eventInEach(clock, origin, 'person.reset', memberships, { person: person.id }),
  };
}
