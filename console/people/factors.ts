import { Failure, invalid } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { NewFactor } from './factor-store.ts';
import { readNewPasskey } from './passkey.ts';
import { readLabel } from './person.ts';
import { digestsOfCodes, newRecoveryCodes } from './recovery-codes.ts';
import type { Means } from './sealing.ts';
import type { Session } from './session.ts';
import { keepNotes } from './sessions.ts';
import type { RelyingParty } from './visitor.ts';

/** New second factors of a person, to be kept. */

const ID_CHARACTERS = 14;

/** `step`: of the code that showed that the app works, which is used with this. */
export const totpFactor = (means: Means, person: string, secret: string, step: number): NewFactor => ({
  ...newFactor(means, person),
  kind: 'totp',
  record: { secret },
  counter: step,
});

/**
 * With the session as it is then: its challenge is used up, whatever comes of it. Throws `not_possible` when the browser did
 * not make the passkey as the session asked for, and `changed_meanwhile` when somebody else uses the challenge.
 */
export async function passkeyFactor(
  means: Means,
  before: Session,
  made: { readonly response: unknown; readonly label: string },
  relyingParty: RelyingParty,
): Promise<{ factor: NewFactor; session: Session }> {
  const label = readLabel(made.label);
  const { challenge } = before.notes;
  const session = challenge === undefined ? before : await keepNotes(means, before, { challenge: undefined });
  const read = challenge && (await readNewPasskey(made.response, { challenge, relyingParty, label }));
  if (!read) throw new Failure('not_possible', { message: 'The passkey could not be made. Try again.' });
  const record = { record: read.passkey, counter: read.counter };
  return { session, factor: { ...newFactor(means, before.person), kind: 'passkey', ...record } };
}

/** The codes themselves are shown once and kept nowhere. */
export async function recoveryFactor(means: Means, person: string): Promise<{ codes: string[]; factor: NewFactor }> {
  const codes = newRecoveryCodes(means.random);
  const record = { digests: await digestsOfCodes(means.keyring, person, codes) };
  return { codes, factor: { ...newFactor(means, person), kind: 'recovery-codes', record, counter: 0 } };
}

const newFactor = ({ clock, random }: Means, person: string) => ({
  person,
  id: newId('factor', ID_CHARACTERS, random),
  createdAt: clock(),
  lastUsedAt: undefined,
});

export const wrongCode = (): Failure => invalid('code', 'expected the code that the app shows now');
