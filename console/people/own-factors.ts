import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { AuditAction } from '../../src/audit/audit.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Write } from '../../src/storage/database.ts';
import { changeFactor, deleteFactor, type Factor, factorsOf, insertFactor } from './factor-store.ts';
import { passkeyFactor, recoveryFactor, totpFactor, wrongCode } from './factors.ts';
import { creationOptions, type Passkey } from './passkey.ts';
import { personEvent } from './people-events.ts';
import { type Person, readLabel } from './person.ts';
import { findPerson, updatePerson } from './person-store.ts';
import { offeredBy, passkeysOf } from './proof.ts';
import type { Means } from './sealing.ts';
import { mustBeSteppedUp, type Session } from './session.ts';
import { deleteOtherSessions, updateSession } from './session-store.ts';
import { keepNotes } from './sessions.ts';
import { newTotpSecret, type TotpEnrolment, totpEnrolment, totpStep } from './totp.ts';
import { originOf, type RelyingParty, type Visitor } from './visitor.ts';

/** Of a second factor, for its person. */
export interface FactorView extends Pick<Factor, 'id' | 'createdAt' | 'lastUsedAt'> {
  readonly kind: 'totp' | 'passkey';
  readonly label: string;
}

/** A change of somebody's factors. */
interface Change {
  readonly action: AuditAction;
  readonly target: string;
  readonly writes: readonly Write[];
}

/**
 * Somebody's own second factors; each change needs stepping up. A change of factors is a change of the person, so that of
 * two at once the second finds that the first has happened: somebody always keeps one.
 */
export class OwnFactors {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  async list(person: string): Promise<{ factors: FactorView[]; recoveryCodes: number }> {
    const all = await this.#factors(person);
    const factors = all.flatMap((factor): FactorView[] => {
      if (factor.kind === 'recovery-codes') return [];
      const { id, kind, createdAt, lastUsedAt } = factor;
      return [{ id, kind, label: factor.kind === 'passkey' ? factor.record.label : '', createdAt, lastUsedAt }];
    });
    return { factors, recoveryCodes: offeredBy(all).recoveryCodes };
  }

  /** The secret is kept in the session until its app has shown a code. */
  async beginTotp(session: Session): Promise<TotpEnrolment> {
    const { email } = await this.#ready(session);
    const totp = newTotpSecret(this.#means.random);
    await keepNotes(this.#means, session, { totp });
    return totpEnrolment(totp, email);
  }

  /** In the place of an older one, if there is one. Throws `invalid_field` for a wrong code. */
  async confirmTotp(session: Session, code: string, visitor: Visitor): Promise<void> {
    const person = await this.#ready(session);
    const { keyring, clock } = this.#means;
    const { totp } = session.notes;
    const step = totp === undefined ? undefined : totpStep(totp, code, clock());
    if (totp === undefined || step === undefined) throw wrongCode();
    const factor = totpFactor(this.#means, person.id, totp, step);
    const older = (await this.#factors(person.id)).filter(({ kind }) => kind === 'totp');
    const { write } = await updateSession(keyring, session, { totp: undefined });
    const removals = older.map(({ id }) => deleteFactor(person.id, id));
    const others = older.length === 0 ? [] : [deleteOtherSessions(session)];
    const writes = [write, ...removals, await insertFactor(keyring, factor), ...others];
    await this.#commit(person, { action: 'factor.added', target: factor.id, writes }, visitor);
  }

  /** Throws `not_possible` when there are as many as there may be. */
  async passkeyOptions(session: Session, relyingParty: RelyingParty): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const person = await this.#ready(session);
    const present = await this.#roomForPasskey(person);
    const options = await creationOptions(this.#means.random, relyingParty, person, present);
    await keepNotes(this.#means, session, { challenge: options.challenge });
    return options;
  }

  /**
   * One try for each challenge. Throws `not_possible` when it was not made as it was asked for, or when there are as many
   * as there may be.
   */
  async confirmPasskey(
    session: Session,
    made: { readonly response: unknown; readonly label: string },
    relyingParty: RelyingParty,
    visitor: Visitor,
  ): Promise<void> {
    const person = await this.#ready(session);
    const { keyring } = this.#means;
    await this.#roomForPasskey(person);
    const { factor, session: spent } = await passkeyFactor(this.#means, session, made, relyingParty);
    // Conflicts when the session has ended meanwhile.
    const { write } = await updateSession(keyring, spent, {});
    const writes = [write, await insertFactor(keyring, factor)];
    await this.#commit(person, { action: 'factor.added', target: factor.id, writes }, visitor);
  }

  /** What the person calls a passkey. Throws `invalid_field` and `unknown_record`. */
  async rename(session: Session, id: string, label: string, visitor: Visitor): Promise<void> {
    const person = await this.#ready(session);
    const found = (await this.#factors(person.id)).find((factor) => factor.id === id);
    if (found?.kind !== 'passkey') throw new Failure('unknown_record');
    const factor = { ...found, record: { ...found.record, label: readLabel(label) } };
    const writes = [await changeFactor(this.#means.keyring, factor)];
    await this.#commit(person, { action: 'factor.renamed', target: id, writes }, visitor);
  }

  /** Ends all other sessions. Throws `unknown_record`, and `not_possible` for the last one. */
  async remove(session: Session, id: string, visitor: Visitor): Promise<void> {
    const person = await this.#ready(session);
    const real = (await this.#factors(person.id)).filter(({ kind }) => kind !== 'recovery-codes');
    if (!real.some((factor) => factor.id === id)) throw new Failure('unknown_record');
    if (real.length === 1)
      throw new Failure('not_possible', { message: 'This is your last second factor; add another one first.' });
    const writes = [deleteFactor(person.id, id), deleteOtherSessions(session)];
    await this.#commit(person, { action: 'factor.removed', target: id, writes }, visitor);
  }

  /** In the place of the older ones. They are shown this once. */
  async newRecoveryCodes(session: Session, visitor: Visitor): Promise<string[]> {
    const person = await this.#ready(session);
    const { codes, factor } = await recoveryFactor(this.#means, person.id);
    const older = (await this.#factors(person.id)).filter(({ kind }) => kind === 'recovery-codes');
    const removals = older.map(({ id }) => deleteFactor(person.id, id));
    const writes = [...removals, await insertFactor(this.#means.keyring, factor)];
    await this.#commit(person, { action: 'recovery-codes.made', target: factor.id, writes }, visitor);
    return codes;
  }

  async #roomForPasskey(person: Person): Promise<Passkey[]> {
    const present = passkeysOf(await this.#factors(person.id));
    const most = LIMITS.passkeysPerPerson;
    if (present.length < most) return present;
    throw new Failure('not_possible', { message: `You have ${most} passkeys; remove one first.` });
  }

  #factors(person: string): Promise<Factor[]> {
    return factorsOf(this.#means.database, this.#means.keyring, person);
  }

  async #ready(session: Session): Promise<Person> {
    mustBeSteppedUp(session, this.#means.clock());
    const person = await findPerson(this.#means.database, this.#means.keyring, session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    return person;
  }

  /** Throws `changed_meanwhile`. */
  async #commit(person: Person, { action, target, writes }: Change, visitor: Visitor): Promise<void> {
    const { database, keyring, clock } = this.#means;
    const { write } = await updatePerson(keyring, person, {});
    const about = { person: person.id, targets: [`factor:${target}`] };
    const journal = [personEvent(clock, originOf(person, visitor), action, '', about)];
    const outcome = await database.commit({ writes: [write, ...writes], journal });
    if (!outcome.committed) throw new Failure('changed_meanwhile');
  }
}
