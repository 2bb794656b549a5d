import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { Origin } from '../../src/audit/audit.ts';
import type { Transaction } from '../../src/idempotency/transaction.ts';
import { type Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { RelyingParty } from './client-context.ts';
import type { NewFactor } from './factor-store.ts';
import { buildCreationOptions, type Passkey, verifyRegistration } from './passkey.ts';
import { type Person, parseLabel } from './person.ts';
import { digestRecoveryCodes, newRecoveryCodes } from './recovery-codes.ts';
import type { PeopleDependencies } from './sealing.ts';
import type { Session } from './session.ts';
import { saveNotes } from './sessions.ts';

/** New second factors of a user, to be inserted. */

const ID_CHARACTERS = 14;

/** `step`: the time step of the confirmed code, which is used up with it. */
export const newTotpFactor = (
  dependencies: PeopleDependencies,
  person: string,
  secret: string,
  step: number,
): NewFactor => ({
  ...newFactorColumns(dependencies, person),
  kind: 'totp',
  record: { secret },
  counter: step,
});

interface PasskeyUser extends Pick<Person, 'id' | 'email' | 'name'> {
  /** Passkeys whose authenticators do not make another one. */
  readonly existing?: readonly Passkey[];
}

/** Returns the options to create a passkey. Their challenge is stored in the session. */
export async function beginPasskey(
  { keyring, random }: PeopleDependencies,
  transaction: Transaction,
  session: Session,
  relyingParty: RelyingParty,
  { existing = [], ...person }: PasskeyUser,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const options = await buildCreationOptions(random, relyingParty, person, existing);
  await saveNotes(transaction, keyring, session, { challenge: options.challenge });
  return options;
}

/**
 * Verifies a new passkey. Returns it with the updated session, whose challenge is consumed in any case. Throws `not_possible`
 * when the passkey does not match the session's options, and `changed_meanwhile` when another call uses the challenge.
 */
export async function registerPasskey(
  dependencies: PeopleDependencies,
  before: Session,
  registration: { readonly response: unknown; readonly label: string },
  relyingParty: RelyingParty,
  origin: Origin,
): Promise<{ factor: NewFactor; session: Session }> {
  const label = parseLabel(registration.label);
  const { challenge } = before.notes;
  // Committed first, so that a registration that fails has consumed it too.
  const session =
    challenge === undefined
      ? before
      : await dependencies.transactions.run({ origin }, (transaction) =>
          saveNotes(transaction, dependencies.keyring, before, { challenge: undefined }),
        );
  const verified = challenge && (await verifyRegistration(registration.response, { challenge, relyingParty, label }));
  if (!verified) throw notPossible('passkeyFailed');
  const record = { record: verified.passkey, counter: verified.counter };
  return { session, factor: { ...newFactorColumns(dependencies, before.person), kind: 'passkey', ...record } };
}

/** The codes are shown once, and only their digests are stored. */
export async function newRecoveryCodesFactor(
  dependencies: PeopleDependencies,
  person: string,
): Promise<{ codes: string[]; factor: NewFactor }> {
  const codes = newRecoveryCodes(dependencies.random);
  const record = digestRecoveryCodes(dependencies.random, person, codes);
  return { codes, factor: { ...newFactorColumns(dependencies, person), kind: 'recovery-codes', record, counter: 0 } };
}

const newFactorColumns = ({ clock, random }: PeopleDependencies, person: string) => ({
  person,
  id: newId('factor', ID_CHARACTERS, random),
  createdAt: clock(),
  lastUsedAt: undefined,
});

export const wrongCode = (): Failure => invalidField('code', 'appCode');
