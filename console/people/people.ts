import type { Origin } from '../../src/audit/audit.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { commitAll } from '../../src/storage/database.ts';
import { attemptInSession } from './attempt.ts';
import { membershipsOf } from './membership-store.ts';
import { mustBeGoodPassword, samePassword } from './password.ts';
import type { HashSource, Passwords } from './passwords.ts';
import { eventInEach, personEvent } from './people-events.ts';
import { type Person, readEmail, readLanguage, readPersonName } from './person.ts';
import { changeEmail, findPerson, findPersonByEmail, updatePerson } from './person-store.ts';
import type { Means } from './sealing.ts';
import { mustBeAt, mustBeSteppedUp, type Session } from './session.ts';
import { deleteOtherSessions, updateSession } from './session-store.ts';
import { withNewPassword, withoutLocks } from './sign-in-state.ts';
import { findSignInState, updateSignInState } from './sign-in-state-store.ts';
import { originOf, type Visitor } from './visitor.ts';

/** Of a person, for people. */
export type Profile = Pick<Person, 'id' | 'email' | 'name' | 'language' | 'createdAt'>;

/** Who may sign in to the console. */
export class People {
  readonly #means: Means;
  readonly #passwords: Passwords;

  constructor(means: Means & { readonly passwords: Passwords }) {
    this.#means = means;
    this.#passwords = means.passwords;
  }

  async profile(id: string): Promise<Profile | undefined> {
    return profileOf(await findPerson(this.#means.database, this.#means.keyring, id));
  }

  async findByEmail(email: string): Promise<Profile | undefined> {
    return profileOf(await findPersonByEmail(this.#means.database, this.#means.keyring, email));
  }

  /** Of oneself. Throws `invalid_field`. */
  async edit(session: Session, given: { name?: string; language?: string }, visitor: Visitor): Promise<Profile> {
    mustBeAt('signed-in', session);
    const { database, keyring, clock } = this.#means;
    const before = await this.#mustFind(session.person);
    const changes = {
      ...(given.name !== undefined && { name: readPersonName(given.name) }),
      ...(given.language !== undefined && { language: readLanguage(given.language) }),
    };
    const { write, person } = await updatePerson(keyring, before, changes);
    const about = { person: person.id, detail: { changed: Object.keys(changes).join(' ') } };
    const journal = [personEvent(clock, originOf(person, visitor), 'person.edited', '', about)];
    if (!(await database.commit({ writes: [write], journal })).committed) throw new Failure('changed_meanwhile');
    return toProfile(person);
  }

  /**
   * Of oneself; ends all other sessions. Throws `step_up_required`, `sign_in_refused` for a wrong present password, and
   * `invalid_field` for a new one that is no good.
   */
  async changePassword(
    session: Session,
    { current, next }: { current: string; next: string },
    visitor: Visitor,
  ): Promise<void> {
    const { database, keyring, clock } = this.#means;
    mustBeSteppedUp(session, clock());
    const before = await this.#mustFind(session.person);
    await mustBeGoodPassword(next, before);
    const origin = originOf(before, visitor);
    const queue: HashSource = `user ${before.id}`;
    await attemptInSession(this.#means, { session, origin, isCounted: true }, async (person, present) => {
      if (!(await this.#passwords.isRight(current, person.password, queue))) return { refusal: 'password_wrong' };
      if (await this.#passwords.isRight(next, person.password, queue)) throw samePassword();
      const { write } = await updatePerson(keyring, person, { password: await this.#passwords.hash(next, queue) });
      const state = await findSignInState(database, keyring, person.id);
      const stateWrites = state === undefined ? [] : [await updateSignInState(keyring, state, withNewPassword(state))];
      const { write: sessionWrite } = await updateSession(keyring, present, { failures: undefined });
      const journal = [personEvent(clock, origin, 'password.changed', '', { person: person.id })];
      return {
        writes: [write, ...stateWrites, sessionWrite, deleteOtherSessions(session)],
        journal,
        value: undefined,
      };
    });
  }

  /**
   * Of oneself; ends all other sessions. No message is sent: that it happened stands in the log of every account of the
   * person, and so does a try with an address that somebody else has. Throws `step_up_required`, `invalid_field`, and
   * `not_possible` for such an address.
   */
  async changeEmail(session: Session, given: string, visitor: Visitor): Promise<void> {
    const { database, keyring, clock } = this.#means;
    mustBeSteppedUp(session, clock());
    const before = await this.#mustFind(session.person);
    const email = readEmail(given);
    if (email === before.email) return;
    const memberships = await membershipsOf(database, keyring, before.id);
    const tell = (outcome: string) =>
      eventInEach(clock, originOf(before, visitor), 'email.changed', memberships, { person: before.id, outcome });
    const { writes } = await changeEmail(keyring, before, email);
    const unit = { writes: [...writes, deleteOtherSessions(session)], journal: tell('success') };
    const outcome = await database.commit(unit);
    if (outcome.committed) return;
    if (outcome.write === 0) throw new Failure('changed_meanwhile');
    await commitAll(database, { writes: [], journal: tell('taken') });
    throw new Failure('not_possible', { message: 'Somebody with this e-mail address is here already.' });
  }

  /** Ends all locks of a user. Throws `unknown_record`, and `not_possible` when their state was changed in the database. */
  async unlock(id: string, origin: Origin): Promise<void> {
    const { database, keyring, clock } = this.#means;
    const person = await findPerson(database, keyring, id);
    if (person === undefined) throw new Failure('unknown_record');
    const memberships = await membershipsOf(database, keyring, id);
    const journal = eventInEach(clock, origin, 'person.unlocked', memberships, { person: id });
    const state = await findSignInState(database, keyring, id);
    if (state === undefined)
      throw new Failure('not_possible', {
        message: 'The sign-in record was changed in the database. Reset the sign-in.',
      });
    const writes = [await updateSignInState(keyring, state, withoutLocks(state))];
    if (!(await database.commit({ writes, journal })).committed) throw new Failure('changed_meanwhile');
  }

  async #mustFind(id: string): Promise<Person> {
    const person = await findPerson(this.#means.database, this.#means.keyring, id);
    if (person === undefined) throw new Failure('not_signed_in');
    return person;
  }
}

const profileOf = (person: Person | undefined): Profile | undefined =>
  person === undefined ? undefined : toProfile(person);

const toProfile = ({ id, email, name, language, createdAt }: Person): Profile => ({
  id,
  email,
  name,
  language,
  createdAt,
});
