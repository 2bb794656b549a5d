import type { Origin } from '../audit/audit.ts';
import { SIGNING_KEY } from '../crypto/signing-key.ts';
import { startRotation } from '../storage/key-rotation-store.ts';
import { insertWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import type { RotationServices } from './data-rotation.ts';
import { keyRotated } from './rotation-events.ts';

/**
 * Adds a version to the signing key; returns its number. It signs from now on. The older versions stay, because their public
 * keys verify what they have signed.
 */
export async function rotateSigningKey(
  { database, keyring, transactions }: Pick<RotationServices, 'database' | 'keyring' | 'transactions'>,
  origin: Origin,
): Promise<number> {
  const store = wrappedKeyStore(database);
  return transactions.run({ origin }, async (transaction) => {
    const replaced = (await store.find(SIGNING_KEY)).at(-1);
    if (replaced === undefined) throw new Error('the signing key of a vault is never absent');
    const key = await keyring.generateVersion(SIGNING_KEY, replaced);
    transaction.write(insertWrappedKeys([key]));
    const times = { at: transaction.now, finishedAt: transaction.now };
    transaction.write(startRotation(SIGNING_KEY, { version: key.version, ...times }));
    transaction.record(keyRotated(key, replaced));
    return key.version;
  });
}
