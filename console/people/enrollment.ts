import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { OnConflict, Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import type { Write } from '../../src/storage/database.ts';
import type { ClientContext, RelyingParty } from './client-context.ts';
import { type CompletedEnrollment, completeEnrollment, mayResetFrom } from './complete-enrollment.ts';
import { beginPasskey, newTotpFactor, registerPasskey, wrongCode } from './factors.ts';
import { type Invitation, redeemInvitation } from './invitation-store.ts';
import { type Invitations, invalidLink, teamFull } from './invitations.ts';
import {
  findMembership,
  insertFirstMembership,
  insertMembership,
  listMembershipsByAccount,
  listMembershipsByPerson,
  lockTeam,
  type Membership,
} from './membership-store.ts';
import { assertStrongPassword, recentPassword } from './password.ts';
import type { HashSource, Passwords } from './passwords.ts';
import { personEvent } from './people-events.ts';
import { normalizeEmail, type Person, parseEmail, parseLanguage, parsePersonName } from './person.ts';
import { findPerson, findPersonByEmail, updatePerson } from './person-store.ts';
import type { Role } from './roles.ts';
import type { PeopleDependencies } from './sealing.ts';
import { assertStage, type PendingEnrollment, type Session } from './session.ts';
import { buildSession, type IssuedSession } from './sessions.ts';
import { buildTotpEnrollment, findTotpStep, newTotpSecret, type TotpEnrollment } from './totp.ts';

/** An invitation as its holder sees it. */
interface InvitationView extends Pick<Invitation, 'kind' | 'account' | 'expiresAt'> {
  readonly role?: Role;
  readonly email?: string;
  /** Set for credential resets. */
  readonly name?: string;
  /** A user with this email exists, and accepts an invitation after sign-in. */
  readonly isKnown: boolean;
}

const PERSON_ID_CHARACTERS = 14;

/** Enrollment, from a link to a signed-in session. The entered data is stored in the session until a second factor is confirmed. */
export class Enrollment {
  readonly #dependencies: PeopleDependencies;
  readonly #passwords: Passwords;
  readonly #invitations: Invitations;

  constructor(dependencies: PeopleDependencies & { readonly passwords: Passwords; readonly invitations: Invitations }) {
    this.#dependencies = dependencies;
    this.#passwords = dependencies.passwords;
    this.#invitations = dependencies.invitations;
  }

  /** Throws `not_possible` for a link that is none, was used, or is too old. */
  async showInvitation(secret: string): Promise<InvitationView> {
    const { database, keyring } = this.#dependencies;
    const invitation = await this.#invitations.find(secret);
    const { kind, account, role, email, expiresAt } = invitation;
    if (kind === 'reset') {
      const person = await this.#findResettable(invitation);
      return { kind, account, expiresAt, email: person.email, name: person.name, isKnown: true };
    }
    const isKnown = email !== undefined && (await findPersonByEmail(database, keyring, email)) !== undefined;
    return { kind, account, expiresAt, isKnown, ...(role && { role }), ...(email !== undefined && { email }) };
  }

  /**
   * Begins an enrollment. `email` is used only for an invitation without one, `name` not for a credential reset. Throws
   * `invalid_field` and `not_possible`.
   */
  async begin(
    transaction: Transaction,
    input: { secret: string; email?: string; name?: string; language: string; password: string },
    client: ClientContext,
  ): Promise<IssuedSession> {
    const invitation = await this.#invitations.find(input.secret);
    const language = parseLanguage(input.language);
    const { email, name } = await this.#identify(invitation, input);
    await assertStrongPassword(input.password, { email, name });
    const hashSource: HashSource = `network ${subscriberNetwork(client.address)}`;
    if (await this.#isRecentPassword(invitation, input.password, hashSource)) throw recentPassword();
    const password = await this.#passwords.hash(input.password, hashSource);
    const { account, id, role, inviterId, createdAt } = invitation;
    const invitationReference = {
      account,
      id,
      createdAt,
      ...(role && { role }),
      ...(inviterId !== undefined && { inviterId }),
    };
    const pendingEnrollment: PendingEnrollment = {
      invitation: invitationReference,
      email,
      ...(invitation.email === undefined && role !== undefined && { isEmailUnconfirmed: true }),
      name,
      language,
      password,
      totp: newTotpSecret(this.#dependencies.random),
    };
    const person = invitation.person ?? newId('person', PERSON_ID_CHARACTERS, this.#dependencies.random);
    const { write, ...issued } = await buildSession(this.#dependencies, {
      person,
      stage: 'enrolling',
      client,
      notes: { pendingEnrollment },
    });
    transaction.write(write);
    return issued;
  }

  /** Returns the secret for the user's authenticator app. */
  totp(session: Session): TotpEnrollment {
    const { totp, email } = getPendingEnrollment(session);
    return buildTotpEnrollment(totp, email);
  }

  /** Throws `invalid_field` for a wrong code, and `not_possible` when another request has used the link. */
  async confirmTotp(
    transaction: Transaction,
    session: Session,
    code: string,
    client: ClientContext,
  ): Promise<CompletedEnrollment> {
    const { totp } = getPendingEnrollment(session);
    const step = findTotpStep(totp, code, transaction.now);
    if (step === undefined) throw wrongCode();
    const factor = newTotpFactor(this.#dependencies, session.person, totp, step);
    return completeEnrollment(this.#dependencies, transaction, session, factor, client);
  }

  async passkeyOptions(
    transaction: Transaction,
    session: Session,
    relyingParty: RelyingParty,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { email, name } = getPendingEnrollment(session);
    return beginPasskey(this.#dependencies, transaction, session, relyingParty, { id: session.person, email, name });
  }

  /** Throws as `confirmTotp`. A challenge is valid for one attempt. */
  async confirmPasskey(
    transaction: Transaction,
    session: Session,
    registration: { readonly response: unknown; readonly label: string },
    relyingParty: RelyingParty,
    client: ClientContext,
  ): Promise<CompletedEnrollment> {
    getPendingEnrollment(session);
    const { factor, session: sessionAfter } = await registerPasskey(
      this.#dependencies,
      session,
      registration,
      relyingParty,
      transaction.origin,
    );
    return completeEnrollment(this.#dependencies, transaction, sessionAfter, factor, client);
  }

  /** Makes the signed-in user a member. Throws `not_possible`. */
  async accept(transaction: Transaction, session: Session, secret: string): Promise<Membership> {
    assertStage('signed-in', session);
    const { database, keyring } = this.#dependencies;
    const invitation = await this.#invitations.find(secret);
    const { account, role, email } = invitation;
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    if (role === undefined) throw notPossible('linkForPassword');
    if (email !== undefined && normalizeEmail(email) !== normalizeEmail(person.email))
      throw notPossible('linkForOther');
    const membership = { account, person: person.id, role, createdAt: transaction.now };
    const insert = await insertMembership(keyring, membership);
    const onConflict = async () => {
      const isMember = (await findMembership(database, keyring, account, person.id)) !== undefined;
      return isMember ? notPossible('alreadyMember') : teamFull();
    };
    await this.#addMembership(transaction, person, membership, { write: insert, onConflict });
    transaction.write(redeemInvitation(invitation, transaction.now), invalidLink());
    return membership;
  }

  /**
   * Makes a signed-in operator the first owner of an account, as an invitation of their own would. Throws `not_possible` when
   * the account has a user, also one who joins concurrently: the write itself has the condition.
   */
  async joinAsFirstOwner(transaction: Transaction, session: Session, account: string): Promise<Membership> {
    assertStage('signed-in', session);
    const { database, keyring } = this.#dependencies;
    if ((await listMembershipsByAccount(database, keyring, account)).length > 0) throw notPossible('accountHasUsers');
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    const membership = { account, person: person.id, role: 'owner', createdAt: transaction.now } as const;
    const insert = await insertFirstMembership(keyring, membership);
    const onConflict = notPossible('accountHasUsers');
    await this.#addMembership(transaction, person, membership, { write: insert, onConflict });
    return membership;
  }

  async #addMembership(
    transaction: Transaction,
    person: Person,
    { account, role }: Membership,
    insert: { readonly write: Write; readonly onConflict: OnConflict },
  ): Promise<void> {
    // The user changes too, so that an earlier credential reset by an owner conflicts.
    const { write } = await updatePerson(this.#dependencies.keyring, person, {});
    transaction.write(write, new Failure('changed_meanwhile'));
    for (const lock of lockTeam(account)) transaction.write(lock);
    transaction.write(insert.write, insert.onConflict);
    transaction.record(personEvent('person.joined', account, { person: person.id, detail: { role } }));
  }

  async #identify(
    invitation: Invitation,
    input: { email?: string; name?: string },
  ): Promise<{ email: string; name: string }> {
    if (invitation.kind === 'reset') return this.#findResettable(invitation);
    const email = invitation.email ?? parseEmail(input.email ?? '');
    const name = parsePersonName(input.name ?? '');
    const { database, keyring } = this.#dependencies;
    if ((await findPersonByEmail(database, keyring, email)) !== undefined) throw notPossible('emailHasSignIn');
    return { email, name };
  }

  /** Returns whether a credential reset would set one of the user's last passwords. */
  async #isRecentPassword({ person: id }: Invitation, password: string, hashSource: HashSource): Promise<boolean> {
    if (id === undefined) return false;
    const person = await findPerson(this.#dependencies.database, this.#dependencies.keyring, id);
    return person !== undefined && this.#passwords.isRecent(password, person, hashSource);
  }

  /** Returns the user whose credentials the link resets, while its creator still may. */
  async #findResettable({ account, person: id = '' }: Invitation) {
    const { database, keyring } = this.#dependencies;
    const person = await findPerson(database, keyring, id);
    if (person === undefined || !mayResetFrom(account, await listMembershipsByPerson(database, keyring, id)))
      throw invalidLink();
    return person;
  }
}

function getPendingEnrollment(session: Session): PendingEnrollment {
  assertStage('enrolling', session);
  if (session.notes.pendingEnrollment === undefined) throw new Failure('not_signed_in');
  return session.notes.pendingEnrollment;
}
