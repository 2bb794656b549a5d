import type { Keyring } from './keyring.ts';
import { type EncryptionContext, UnsealError } from './seal.ts';
import type { KeyScope, Purpose } from './wrapped-key.ts';

/** Sealed records are JSON. */

export async function sealJson(
  keyring: Keyring,
  scope: KeyScope,
  purpose: Purpose,
  context: EncryptionContext,
  record: object,
): Promise<Uint8Array> {
  const seal = await keyring.sealer(scope, purpose, 1);
  return seal(context, JSON.stringify(record));
}

/** Undefined when the record was altered or moved in the database. */
export async function unsealJson<T extends object>(
  keyring: Keyring,
  scope: KeyScope,
  purpose: Purpose,
  context: EncryptionContext,
  sealed: Uint8Array,
): Promise<T | undefined> {
  try {
    const plaintext = await keyring.unseal(scope, purpose, context, sealed);
    const record = JSON.parse(plaintext.toString('utf8')) as T;
    plaintext.fill(0);
    return record;
  } catch (error) {
    if (error instanceof UnsealError) return undefined;
    throw error;
  }
}
