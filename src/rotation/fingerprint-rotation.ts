import type { Origin } from '../audit/audit.ts';
import type { KeyOwner } from '../crypto/wrapped-key.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findRotation, startRotation } from '../storage/key-rotation-store.ts';
import { insertWrappedKeys, listWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import type { DataKeySelection, RotationServices, StartedRotation } from './data-rotation.ts';
import { FINGERPRINT_PURPOSE, ownerName } from './key-kinds.ts';
import { keyRotated } from './rotation-events.ts';

/**
 * Adds a version to the keys of fingerprints, and begins to replace the fingerprints of all tokens (`vault/fingerprint-keys.ts`).
 * A repeat continues the rotations that are in progress.
 */
export async function startFingerprintRotations(
  services: Pick<RotationServices, 'database' | 'keyring' | 'transactions'>,
  origin: Origin,
  { account, environment }: Omit<DataKeySelection, 'purpose'>,
): Promise<StartedRotation[]> {
  const owners = new Map<string, KeyOwner>();
  for (const key of await listWrappedKeys(services.database)) {
    if (key.purpose !== FINGERPRINT_PURPOSE) continue;
    if (account !== undefined && key.account !== account) continue;
    if (environment !== undefined && key.environment !== environment) continue;
    const owner = { account: key.account, environment: key.environment, purpose: FINGERPRINT_PURPOSE };
    owners.set(ownerName(owner), owner);
  }
  const started: StartedRotation[] = [];
  for (const owner of owners.values()) started.push(await start(services, origin, owner));
  return started;
}

function start(
  { database, keyring, transactions }: Pick<RotationServices, 'database' | 'keyring' | 'transactions'>,
  origin: Origin,
  owner: KeyOwner,
): Promise<StartedRotation> {
  const store = wrappedKeyStore(database);
  return transactions.run({ origin, account: owner.account }, async (transaction): Promise<StartedRotation> => {
    const running = await findRotation(database, owner);
    if (running !== undefined && running.finishedAt === undefined)
      return { owner, version: running.version, isContinued: true };
    const replaced = (await store.find(owner)).at(-1);
    if (replaced === undefined) throw new Error('a key that was listed is gone');
    const key = await keyring.generateVersion(owner, replaced);
    transaction.write(insertWrappedKeys([key]));
    const at = transaction.now;
    transaction.write(
      startRotation(owner, { version: key.version, at, phase: 1, dueAt: at + LIMITS.fingerprintHandoverMs }),
    );
    transaction.record(keyRotated(key, replaced));
    return { owner, version: key.version, isContinued: false };
  });
}
