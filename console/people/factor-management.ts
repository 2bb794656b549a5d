import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { AuditAction } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { Failure, notPossible } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Write } from '../../src/storage/database.ts';
import type { RelyingParty } from './client-context.ts';
import { deleteFactor, type Factor, insertFactor, listFactorsByPerson, updateFactor } from './factor-store.ts';
import { beginPasskey, newRecoveryCodesFactor, newTotpFactor, registerPasskey, wrongCode } from './factors.ts';
import type { Passkey } from './passkey.ts';
import { personEvent } from './people-events.ts';
import { type Person, parseLabel } from './person.ts';
import { findPerson, updatePerson } from './person-store.ts';
import { listPasskeys, toAvailableFactors } from './proof.ts';
import type { PeopleDependencies } from './sealing.ts';
import { assertSteppedUp, type Session } from './session.ts';
import { deleteOtherSessions, updateSession } from './session-store.ts';
import { saveNotes } from './sessions.ts';
import { buildTotpEnrollment, findTotpStep, newTotpSecret, type TotpEnrollment } from './totp.ts';

/** A second factor as its user sees it. */
export interface FactorView extends Pick<Factor, 'id' | 'createdAt' | 'lastUsedAt'> {
  readonly kind: 'totp' | 'passkey';
  readonly label: string;
}

/** A change of the factors of a user. */
interface FactorChange {
  readonly action: AuditAction;
  readonly target: string;
  readonly writes: readonly Write[];
}

/**
 * The second factors of the user; each change needs a step-up. A change of factors is a change of the user, so that of two
 * concurrent changes the second conflicts: a user always keeps one factor.
 */
export class FactorManagement {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  async list(person: string): Promise<{ factors: FactorView[]; recoveryCodes: number }> {
    const all = await this.#factors(person);
    const factors = all.flatMap((factor): FactorView[] => {
      if (factor.kind === 'recovery-codes') return [];
      const { id, kind, createdAt, lastUsedAt } = factor;
      return [{ id, kind, label: factor.kind === 'passkey' ? factor.record.label : '', createdAt, lastUsedAt }];
    });
    return { factors, recoveryCodes: toAvailableFactors(all).recoveryCodes };
  }

  /** Stores the secret in the session until the app has shown a code. */
  async beginTotp(transaction: Transaction, session: Session): Promise<TotpEnrollment> {
    const { email } = await this.#getSteppedUpPerson(session);
    const totp = newTotpSecret(this.#dependencies.random);
    await saveNotes(transaction, this.#dependencies.keyring, session, { totp });
    return buildTotpEnrollment(totp, email);
  }

  /** Replaces an earlier app. Throws `invalid_field` for a wrong code. */
  async confirmTotp(transaction: Transaction, session: Session, code: string): Promise<void> {
    const person = await this.#getSteppedUpPerson(session);
    const { keyring, clock } = this.#dependencies;
    const { totp } = session.notes;
    const step = totp === undefined ? undefined : findTotpStep(totp, code, clock());
    if (totp === undefined || step === undefined) throw wrongCode();
    const factor = newTotpFactor(this.#dependencies, person.id, totp, step);
    const replaced = (await this.#factors(person.id)).filter(({ kind }) => kind === 'totp');
    const { write } = await updateSession(keyring, session, { totp: undefined });
    const removals = replaced.map(({ id }) => deleteFactor(person.id, id));
    const others = replaced.length === 0 ? [] : [deleteOtherSessions(session)];
    const writes = [write, ...removals, await insertFactor(keyring, factor), ...others];
    await this.#change(transaction, person, { action: 'factor.added', target: factor.id, writes });
  }

  /** Throws `not_possible` when there are as many as there may be. */
  async passkeyOptions(
    transaction: Transaction,
    session: Session,
    relyingParty: RelyingParty,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const person = await this.#getSteppedUpPerson(session);
    const existing = await this.#assertPasskeyRoom(person);
    return beginPasskey(this.#dependencies, transaction, session, relyingParty, { ...person, existing });
  }

  /**
   * Adds a passkey, with one attempt for each challenge. Throws `not_possible` when it does not match the options, or at the
   * limit of passkeys.
   */
  async confirmPasskey(
    transaction: Transaction,
    session: Session,
    registration: { readonly response: unknown; readonly label: string },
    relyingParty: RelyingParty,
  ): Promise<void> {
    const person = await this.#getSteppedUpPerson(session);
    const { keyring } = this.#dependencies;
    await this.#assertPasskeyRoom(person);
    const { factor, session: sessionAfter } = await registerPasskey(
      this.#dependencies,
      session,
      registration,
      relyingParty,
      transaction.origin,
    );
    // Conflicts when the session has ended in the meantime.
    const { write } = await updateSession(keyring, sessionAfter, {});
    const writes = [write, await insertFactor(keyring, factor)];
    await this.#change(transaction, person, { action: 'factor.added', target: factor.id, writes });
  }

  /** Renames a passkey. Throws `invalid_field` and `unknown_record`. */
  async rename(transaction: Transaction, session: Session, id: string, label: string): Promise<void> {
    const person = await this.#getSteppedUpPerson(session);
    const found = (await this.#factors(person.id)).find((factor) => factor.id === id);
    if (found?.kind !== 'passkey') throw new Failure('unknown_record');
    const factor = { ...found, record: { ...found.record, label: parseLabel(label) } };
    const writes = [await updateFactor(this.#dependencies.keyring, factor)];
    await this.#change(transaction, person, { action: 'factor.renamed', target: id, writes });
  }

  /** Ends all other sessions. Throws `unknown_record`, and `not_possible` for the last one. */
  async remove(transaction: Transaction, session: Session, id: string): Promise<void> {
    const person = await this.#getSteppedUpPerson(session);
    const loginFactors = (await this.#factors(person.id)).filter(({ kind }) => kind !== 'recovery-codes');
    if (!loginFactors.some((factor) => factor.id === id)) throw new Failure('unknown_record');
    if (loginFactors.length === 1) throw notPossible('lastFactor');
    const writes = [deleteFactor(person.id, id), deleteOtherSessions(session)];
    await this.#change(transaction, person, { action: 'factor.removed', target: id, writes });
  }

  /** Replaces the earlier codes. Returns the new ones, which are shown once. */
  async newRecoveryCodes(transaction: Transaction, session: Session): Promise<string[]> {
    const person = await this.#getSteppedUpPerson(session);
    const { codes, factor } = await newRecoveryCodesFactor(this.#dependencies, person.id);
    const replaced = (await this.#factors(person.id)).filter(({ kind }) => kind === 'recovery-codes');
    const removals = replaced.map(({ id }) => deleteFactor(person.id, id));
    const writes = [...removals, await insertFactor(this.#dependencies.keyring, factor)];
    await this.#change(transaction, person, { action: 'recovery-codes.made', target: factor.id, writes });
    return codes;
  }

  async #assertPasskeyRoom(person: Person): Promise<Passkey[]> {
    const present = listPasskeys(await this.#factors(person.id));
    const max = LIMITS.passkeysPerPerson;
    if (present.length < max) return present;
    throw notPossible('passkeysFull', { number: max });
  }

  #factors(person: string): Promise<Factor[]> {
    return listFactorsByPerson(this.#dependencies.database, this.#dependencies.keyring, person);
  }

  async #getSteppedUpPerson(session: Session): Promise<Person> {
    assertSteppedUp(session, this.#dependencies.clock());
    const person = await findPerson(this.#dependencies.database, this.#dependencies.keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    return person;
  }

  async #change(transaction: Transaction, person: Person, { action, target, writes }: FactorChange): Promise<void> {
    const { write } = await updatePerson(this.#dependencies.keyring, person, {});
    for (const each of [write, ...writes]) transaction.write(each, new Failure('changed_meanwhile'));
    transaction.record(personEvent(action, '', { person: person.id, targets: [`factor:${target}`] }));
  }
}
