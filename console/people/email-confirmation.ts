import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { MINUTE, type Random } from '../../src/kernel/clock.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { listMembershipsByPerson } from './membership-store.ts';
import { eventPerAccount } from './people-events.ts';
import type { Language, Person } from './person.ts';
import { findPerson, lockPerson, updatePerson } from './person-store.ts';
import { hashSecret, type PeopleDependencies } from './sealing.ts';
import { assertStage, type Session } from './session.ts';
import { updateSession } from './session-store.ts';

const CODE_TTL_MS = 30 * MINUTE;
/** Between two codes of a session: each is a mail to an address that may be another user's. */
const CODE_INTERVAL_MS = MINUTE;
const LETTERS = 'abcdefghjkmnpqrstuvwxyz123456789'; // 32 characters: without i, l, o and 0.
/** 60 bits, so that wrong codes need not be counted. */
const CODE_CHARACTERS = 12;

/** A code, and the address for which it is valid. */
interface EmailCode {
  /** `xxxx-xxxx-xxxx`. */
  readonly code: string;
  readonly to: string;
  /** The language of the user. */
  readonly language: Language;
}

/**
 * Confirmation of an address to which a user has changed: mails about alerts go to no address that only the user has stated.
 * The user enters a code that was sent there, in the session that requested it.
 */
export class EmailConfirmation {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns a code that is to be sent to this address and no other: the caller may have read the user before the address
   * changed. Throws `not_possible` for a confirmed one, `rate_limited`, and `changed_meanwhile`.
   */
  async begin(transaction: Transaction, session: Session): Promise<EmailCode> {
    const { keyring, random } = this.#dependencies;
    const person = await this.#findUnconfirmed(session);
    const { emailCode } = session.notes;
    if (emailCode !== undefined && transaction.now < emailCode.sentAt + CODE_INTERVAL_MS)
      throw new Failure('rate_limited');
    const code = newCode(random);
    const digest = Buffer.from(this.#digest(person, code)).toString('base64');
    const { write } = await updateSession(keyring, session, { emailCode: { digest, sentAt: transaction.now } });
    const changed = new Failure('changed_meanwhile');
    transaction.write(lockPerson(person), changed);
    transaction.write(write, changed);
    return { code, to: person.email, language: person.language };
  }

  /** Throws `invalid_field` for a wrong or expired code, and for one that was sent to an earlier address. */
  async confirm(transaction: Transaction, session: Session, code: string): Promise<void> {
    const { database, keyring } = this.#dependencies;
    const person = await this.#findUnconfirmed(session);
    const { emailCode } = session.notes;
    const isValid =
      emailCode !== undefined &&
      transaction.now < emailCode.sentAt + CODE_TTL_MS &&
      isSameDigest(Buffer.from(emailCode.digest, 'base64'), this.#digest(person, code));
    if (!isValid) throw invalidField('code', 'emailCode');
    const changed = new Failure('changed_meanwhile');
    const { write } = await updatePerson(keyring, person, { isEmailUnconfirmed: undefined });
    transaction.write(write, changed);
    transaction.write((await updateSession(keyring, session, { emailCode: undefined })).write, changed);
    const memberships = await listMembershipsByPerson(database, keyring, person.id);
    for (const event of eventPerAccount('email.confirmed', memberships, { person: person.id }))
      transaction.record(event);
  }

  async #findUnconfirmed(session: Session): Promise<Person> {
    assertStage('signed-in', session);
    const { database, keyring } = this.#dependencies;
    const person = await findPerson(database, keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    if (person.isEmailUnconfirmed !== true) throw notPossible('emailConfirmed');
    return person;
  }

  /** The address is part of the digest: a code confirms the address to which it was sent, and no other. */
  #digest({ id, email }: Person, code: string): Uint8Array {
    return hashSecret('email code', id, email, normalizeCode(code));
  }
}

const newCode = (random: Random): string =>
  Array.from({ length: CODE_CHARACTERS }, () => LETTERS[random.below(LETTERS.length)] ?? '')
    .join('')
    .replace(/(.{4})(?!$)/g, '$1-');

/** Removes the differences of typing. */
const normalizeCode = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '');
