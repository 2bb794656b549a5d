import type { Origin } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import type { Write } from '../../src/storage/database.ts';
import { attemptProofInSession } from './authentication-attempt.ts';
import { listMembershipsByPerson } from './membership-store.ts';
import { assertStrongPassword, recentPassword } from './password.ts';
import { type HashSource, type Passwords, withPassword } from './passwords.ts';
import { eventPerAccount, personEvent } from './people-events.ts';
import { type AlertMails, type Person, parseEmail, parseLanguage, parsePersonName, parseTimeZone } from './person.ts';
import { findPerson, findPersonByEmail, updateEmail, updatePerson } from './person-store.ts';
import type { PeopleDependencies } from './sealing.ts';
import { assertStage, assertSteppedUp, type Session } from './session.ts';
import { deleteOtherSessions, updateSession } from './session-store.ts';
import { withNewPassword, withoutLocks } from './sign-in-state.ts';
import { findSignInState, updateSignInState } from './sign-in-state-store.ts';

/** A user as others see them. */
export type Profile = Pick<
  Person,
  'id' | 'email' | 'isEmailUnconfirmed' | 'name' | 'language' | 'timeZone' | 'alertMails' | 'createdAt'
>;

/** Returns writes that queue a message to a user about their own sign-in. */
export type Notify = (person: Person) => Promise<readonly Write[]>;

export const noNotice: Notify = () => Promise.resolve([]);

/** The users of the console. */
export class People {
  readonly #dependencies: PeopleDependencies;
  readonly #passwords: Passwords;

  constructor(dependencies: PeopleDependencies & { readonly passwords: Passwords }) {
    this.#dependencies = dependencies;
    this.#passwords = dependencies.passwords;
  }

  async findProfile(id: string): Promise<Profile | undefined> {
    return toOptionalProfile(await findPerson(this.#dependencies.database, this.#dependencies.keyring, id));
  }

  async findByEmail(email: string): Promise<Profile | undefined> {
    return toOptionalProfile(await findPersonByEmail(this.#dependencies.database, this.#dependencies.keyring, email));
  }

  /** Changes the user's own name, language and time zone. Throws `invalid_field`. */
  async edit(
    transaction: Transaction,
    session: Session,
    input: { name?: string; language?: string; timeZone?: string; alertMails?: AlertMails },
  ): Promise<Profile> {
    assertStage('signed-in', session);
    const before = await this.#get(session.person);
    const changes = {
      ...(input.name !== undefined && { name: parsePersonName(input.name) }),
      ...(input.language !== undefined && { language: parseLanguage(input.language) }),
      ...(input.timeZone !== undefined && { timeZone: parseTimeZone(input.timeZone) }),
      ...(input.alertMails !== undefined && { alertMails: input.alertMails }),
    };
    const { write, person } = await updatePerson(this.#dependencies.keyring, before, changes);
    transaction.write(write, new Failure('changed_meanwhile'));
    const details = { person: person.id, detail: { changed: Object.keys(changes).join(' ') } };
    transaction.record(personEvent('person.edited', '', details));
    return toProfile(person);
  }

  /**
   * Changes the user's own password; ends all other sessions. A wrong current password is counted, so this commits its own
   * transaction. Throws `step_up_required`, `sign_in_refused` for a wrong current password, and `invalid_field` for a weak new
   * one. `notify` returns what is written with the change to tell the user of it.
   */
  async changePassword(
    session: Session,
    { current, next }: { current: string; next: string },
    origin: Origin,
    notify: Notify = noNotice,
  ): Promise<void> {
    const { database, keyring, clock } = this.#dependencies;
    assertSteppedUp(session, clock());
    const before = await this.#get(session.person);
    await assertStrongPassword(next, before);
    const hashSource: HashSource = `user ${before.id}`;
    await attemptProofInSession(this.#dependencies, { session, origin, isCounted: true }, async (person, present) => {
      if (!(await this.#passwords.verify(current, person.password, hashSource))) return { failure: 'password_wrong' };
      if (await this.#passwords.isRecent(next, person, hashSource)) throw recentPassword();
      const hash = await this.#passwords.hash(next, hashSource);
      const { write } = await updatePerson(keyring, person, withPassword(person, hash));
      const state = await findSignInState(database, keyring, person.id);
      const stateWrites = state === undefined ? [] : [await updateSignInState(keyring, state, withNewPassword(state))];
      const { write: sessionWrite } = await updateSession(keyring, present, { failures: undefined });
      return {
        writes: [write, ...stateWrites, sessionWrite, deleteOtherSessions(session), ...(await notify(person))],
        events: [personEvent('password.changed', '', { person: person.id })],
        value: undefined,
      };
    });
  }

  /**
   * Changes the user's own email, which is not confirmed then; ends all other sessions. The logs of all accounts of the user record it,
   * and an attempt with the email of another user as well. Throws `step_up_required`, `invalid_field`, and `not_possible` for
   * such an email.
   */
  async changeEmail(transaction: Transaction, session: Session, input: string): Promise<Profile> {
    const { database, keyring } = this.#dependencies;
    assertSteppedUp(session, transaction.now);
    const before = await this.#get(session.person);
    const email = parseEmail(input);
    if (email === before.email) return toProfile(before);
    const memberships = await listMembershipsByPerson(database, keyring, before.id);
    const buildEvents = (outcome: string) =>
      eventPerAccount('email.changed', memberships, { person: before.id, outcome });
    const { writes, person } = await updateEmail(keyring, before, email);
    const [deletion, ...insertion] = writes;
    transaction.write(deletion, new Failure('changed_meanwhile'));
    const onTaken = async (): Promise<Failure> => {
      for (const event of buildEvents('taken')) transaction.recordAlways(event);
      return notPossible('emailTaken');
    };
    for (const write of insertion) transaction.write(write, onTaken);
    transaction.write(deleteOtherSessions(session));
    for (const event of buildEvents('success')) transaction.record(event);
    return toProfile(person);
  }

  /** Ends all locks of a user. Throws `unknown_record`, and `not_possible` when their state was changed in the database. */
  async unlock(transaction: Transaction, id: string): Promise<void> {
    const { database, keyring } = this.#dependencies;
    const person = await findPerson(database, keyring, id);
    if (person === undefined) throw new Failure('unknown_record');
    const memberships = await listMembershipsByPerson(database, keyring, id);
    const state = await findSignInState(database, keyring, id);
    if (state === undefined) throw notPossible('signInAltered');
    transaction.write(await updateSignInState(keyring, state, withoutLocks(state)), new Failure('changed_meanwhile'));
    for (const event of eventPerAccount('person.unlocked', memberships, { person: id })) transaction.record(event);
  }

  async #get(id: string): Promise<Person> {
    const person = await findPerson(this.#dependencies.database, this.#dependencies.keyring, id);
    if (person === undefined) throw new Failure('not_signed_in');
    return person;
  }
}

const toOptionalProfile = (person: Person | undefined): Profile | undefined =>
  person === undefined ? undefined : toProfile(person);

const toProfile = ({
  id,
  email,
  isEmailUnconfirmed,
  name,
  language,
  timeZone,
  alertMails,
  createdAt,
}: Person): Profile => ({
  id,
  email,
  ...(isEmailUnconfirmed === true && { isEmailUnconfirmed }),
  name,
  language,
  timeZone,
  alertMails,
  createdAt,
});
