import type { Origin } from '../audit/audit.ts';
import type { KeyOwner } from '../crypto/wrapped-key.ts';
import type { Environment } from '../kernel/environment.ts';
import { startRotation } from '../storage/key-rotation-store.ts';
import { insertWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import type { RotationServices } from './data-rotation.ts';
import { API_KEY_PURPOSE } from './key-kinds.ts';
import { keyRotated } from './rotation-events.ts';

export interface ApiKeyRotation {
  readonly environment: Environment;
  readonly version: number;
}

/**
 * Adds a version to the key that makes the digests of an environment's API keys. The secrets are stored nowhere, so the digest
 * of each key is replaced when the key is used; until then it is found under the former version. Undefined in an environment
 * that never had an API key.
 */
export async function rotateApiKeyDigests(
  { database, keyring, transactions }: Pick<RotationServices, 'database' | 'keyring' | 'transactions'>,
  origin: Origin,
  environment: Environment,
): Promise<ApiKeyRotation | undefined> {
  const owner: KeyOwner = { account: '', environment, purpose: API_KEY_PURPOSE };
  const store = wrappedKeyStore(database);
  return transactions.run({ origin }, async (transaction) => {
    const replaced = (await store.find(owner)).at(-1);
    if (replaced === undefined) return undefined;
    const key = await keyring.generateVersion(owner, replaced);
    transaction.write(insertWrappedKeys([key]));
    const times = { at: transaction.now, finishedAt: transaction.now };
    transaction.write(startRotation(owner, { version: key.version, ...times }));
    transaction.record(keyRotated(key, replaced));
    return { environment, version: key.version };
  });
}
