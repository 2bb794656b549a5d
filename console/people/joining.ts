import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import { commitAll } from '../../src/storage/database.ts';
import { admit, type Joined, resetFits } from './admission.ts';
import { passkeyFactor, totpFactor, wrongCode } from './factors.ts';
import { type Invitation, spendInvitation } from './invitation-store.ts';
import { type Invitations, linkIsBad, noRoomForPeople } from './invitations.ts';
import { findMembership, insertMembership, type Membership, membershipsOf } from './membership-store.ts';
import { creationOptions } from './passkey.ts';
import { mustBeGoodPassword, samePassword } from './password.ts';
import type { HashSource, Passwords } from './passwords.ts';
import { personEvent } from './people-events.ts';
import { readEmail, readLanguage, readPersonName, sameEmailForm } from './person.ts';
import { findPerson, findPersonByEmail, updatePerson } from './person-store.ts';
import type { Role } from './roles.ts';
import type { Means } from './sealing.ts';
import { mustBeAt, type Newcomer, type Session } from './session.ts';
import { type Grant, keepNotes, newSession } from './sessions.ts';
import { newTotpSecret, type TotpEnrolment, totpEnrolment, totpStep } from './totp.ts';
import { originOf, type RelyingParty, type Visitor } from './visitor.ts';

/** What a link is for, for whoever holds it. */
export interface Invited extends Pick<Invitation, 'kind' | 'account' | 'expiresAt'> {
  readonly role?: Role;
  readonly email?: string;
  /** Of resets. */
  readonly name?: string;
  /** Somebody with this e-mail address is here. An invitation they accept, once they have signed in. */
  readonly known: boolean;
}

const PERSON_ID_CHARACTERS = 14;

const refused = (message: string): Failure => new Failure('not_possible', { message });

/** From a link to being signed in. What somebody says of themselves lies in their session until they have a second factor. */
export class Joining {
  readonly #means: Means;
  readonly #passwords: Passwords;
  readonly #invitations: Invitations;

  constructor(means: Means & { readonly passwords: Passwords; readonly invitations: Invitations }) {
    this.#means = means;
    this.#passwords = means.passwords;
    this.#invitations = means.invitations;
  }

  /** Throws `not_possible` for a link that is none, was used, or is too old. */
  async look(secret: string): Promise<Invited> {
    const { database, keyring } = this.#means;
    const invitation = await this.#invitations.find(secret);
    const { kind, account, role, email, expiresAt } = invitation;
    if (kind === 'reset') {
      const whose = await this.#whose(invitation);
      return { kind, account, expiresAt, email: whose.email, name: whose.name, known: true };
    }
    const known = email !== undefined && (await findPersonByEmail(database, keyring, email)) !== undefined;
    return { kind, account, expiresAt, known, ...(role && { role }), ...(email !== undefined && { email }) };
  }

  /**
   * With the e-mail address only when the invitation has none, and with a name only when it is no reset. Throws
   * `invalid_field` and `not_possible`.
   */
  async begin(
    given: { secret: string; email?: string; name?: string; language: string; password: string },
    visitor: Visitor,
  ): Promise<Grant> {
    const { database, random } = this.#means;
    const invitation = await this.#invitations.find(given.secret);
    const language = readLanguage(given.language);
    const { email, name } = await this.#who(invitation, given);
    await mustBeGoodPassword(given.password, { email, name });
    const queue: HashSource = `network ${subscriberNetwork(visitor.address)}`;
    if (await this.#isPresentPassword(invitation, given.password, queue)) throw samePassword();
    const password = await this.#passwords.hash(given.password, queue);
    const { account, id, role, inviter, createdAt } = invitation;
    const link = { account, id, createdAt, ...(role && { role }), ...(inviter !== undefined && { inviter }) };
    const newcomer: Newcomer = { invitation: link, email, name, language, password, totp: newTotpSecret(random) };
    const person = invitation.person ?? newId('person', PERSON_ID_CHARACTERS, random);
    const session = await newSession(this.#means, { person, stage: 'joining', visitor, notes: { newcomer } });
    await commitAll(database, { writes: [session.write] });
    return { secret: session.secret, session: session.session };
  }

  /** What the person's authenticator app is to be given. */
  totp(session: Session): TotpEnrolment {
    const { totp, email } = newcomerOf(session);
    return totpEnrolment(totp, email);
  }

  /** Throws `invalid_field` for a wrong code, and `not_possible` when the link was used meanwhile. */
  async confirmTotp(session: Session, code: string, visitor: Visitor): Promise<Joined> {
    const { totp } = newcomerOf(session);
    const step = totpStep(totp, code, this.#means.clock());
    if (step === undefined) throw wrongCode();
    return admit(this.#means, session, totpFactor(this.#means, session.person, totp, step), visitor);
  }

  async passkeyOptions(session: Session, relyingParty: RelyingParty): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { email, name } = newcomerOf(session);
    const person = { id: session.person, email, name };
    const options = await creationOptions(this.#means.random, relyingParty, person, []);
    await keepNotes(this.#means, session, { challenge: options.challenge });
    return options;
  }

  /** As `confirmTotp`; one try for each challenge. */
  async confirmPasskey(
    session: Session,
    made: { readonly response: unknown; readonly label: string },
    relyingParty: RelyingParty,
    visitor: Visitor,
  ): Promise<Joined> {
    newcomerOf(session);
    const { factor, session: spent } = await passkeyFactor(this.#means, session, made, relyingParty);
    return admit(this.#means, spent, factor, visitor);
  }

  /** Makes who is signed in a member. Throws `not_possible`. */
  async accept(session: Session, secret: string, visitor: Visitor): Promise<Membership> {
    mustBeAt('signed-in', session);
    const { database, keyring, clock } = this.#means;
    const invitation = await this.#invitations.find(secret);
    const { account, role, email } = invitation;
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    if (role === undefined) throw refused('This link is for a new password. Sign out, and open it again.');
    if (email !== undefined && sameEmailForm(email) !== sameEmailForm(person.email))
      throw refused('This invitation is for somebody else.');
    const membership = { account, person: person.id, role, createdAt: clock() };
    // The person changes with it, so that no link to reset them that was made before can miss it.
    const { write } = await updatePerson(keyring, person, {});
    const writes = [write, await insertMembership(keyring, membership), spendInvitation(invitation, clock())];
    const about = { person: person.id, detail: { role } };
    const journal = [personEvent(clock, originOf(person, visitor), 'person.joined', account, about)];
    const outcome = await database.commit({ writes, journal });
    if (outcome.committed) return membership;
    if (outcome.write === 0) throw new Failure('changed_meanwhile');
    if (outcome.write !== 1) throw linkIsBad();
    const isMember = (await findMembership(database, keyring, account, person.id)) !== undefined;
    throw isMember ? refused('You are a member already.') : noRoomForPeople();
  }

  async #who(
    invitation: Invitation,
    given: { email?: string; name?: string },
  ): Promise<{ email: string; name: string }> {
    if (invitation.kind === 'reset') return this.#whose(invitation);
    const email = invitation.email ?? readEmail(given.email ?? '');
    const name = readPersonName(given.name ?? '');
    const { database, keyring } = this.#means;
    if ((await findPersonByEmail(database, keyring, email)) !== undefined)
      throw refused('Somebody with this e-mail address is here already. Sign in, and open the link again.');
    return { email, name };
  }

  /** Returns whether a credential reset would set the password that the person has already. */
  async #isPresentPassword({ person: id }: Invitation, password: string, queue: HashSource): Promise<boolean> {
    if (id === undefined) return false;
    const person = await findPerson(this.#means.database, this.#means.keyring, id);
    return this.#passwords.isRight(password, person?.password, queue);
  }

  /** Whose password a link replaces, as long as whoever made it may do that. */
  async #whose({ account, person: id = '' }: Invitation) {
    const { database, keyring } = this.#means;
    const person = await findPerson(database, keyring, id);
    if (person === undefined || !resetFits(account, await membershipsOf(database, keyring, id))) throw linkIsBad();
    return person;
  }
}

function newcomerOf(session: Session): Newcomer {
  mustBeAt('joining', session);
  if (session.notes.newcomer === undefined) throw new Failure('not_signed_in');
  return session.notes.newcomer;
}
