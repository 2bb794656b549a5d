import type { Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { KeyEnvironment, KeyOwner, Purpose } from '../crypto/wrapped-key.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { findRotation, startRotation } from '../storage/key-rotation-store.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import { insertWrappedKeys, listWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { kindOf, ownerName } from './key-kinds.ts';
import { keyRotated } from './rotation-events.ts';

export interface RotationServices {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly sadKeys: SadKeys;
  readonly transactions: Transactions;
  /** The sealed columns of all tables of the vault and the console. */
  readonly sealed: readonly SealedColumns[];
}

/** Which data keys to rotate; an absent member selects all. */
export interface DataKeySelection {
  readonly account?: string | undefined;
  readonly environment?: KeyEnvironment | undefined;
  readonly purpose?: Purpose | undefined;
}

export interface StartedRotation {
  readonly owner: KeyOwner;
  readonly version: number;
  /** True when an earlier rotation of this key is still in progress, which continues instead. */
  readonly isContinued: boolean;
}

/** Lists the data keys that exist, each once. */
async function listDataKeyOwners(
  { database, sealed }: Pick<RotationServices, 'database' | 'sealed'>,
  { account, environment, purpose }: DataKeySelection = {},
): Promise<KeyOwner[]> {
  const owners = new Map<string, KeyOwner>();
  for (const key of await listWrappedKeys(database)) {
    const kind = kindOf(key, sealed);
    if (kind !== 'data' && kind !== 'sad') continue;
    if (account !== undefined && key.account !== account) continue;
    if (environment !== undefined && key.environment !== environment) continue;
    if (purpose !== undefined && key.purpose !== purpose) continue;
    const owner = { account: key.account, environment: key.environment, purpose: key.purpose };
    owners.set(ownerName(owner), owner);
  }
  return [...owners.values()];
}

/**
 * Adds a version to each selected data key. New records are sealed under it within `keyRefreshMs` on every node; `Resealing`
 * then seals the others again. A repeat continues the rotations that are in progress.
 */
export async function startDataRotations(
  services: RotationServices,
  origin: Origin,
  selection: DataKeySelection,
): Promise<StartedRotation[]> {
  const owners = await listDataKeyOwners(services, selection);
  const started: StartedRotation[] = [];
  // Concurrently, because commits that wait together share one sync of the disk.
  for (let at = 0; at < owners.length; at += LIMITS.keysPerRewrap) {
    const some = owners.slice(at, at + LIMITS.keysPerRewrap);
    started.push(...(await Promise.all(some.map((owner) => startDataRotation(services, origin, owner)))));
  }
  return started;
}

async function startDataRotation(
  { database, keyring, sadKeys, transactions, sealed }: RotationServices,
  origin: Origin,
  owner: KeyOwner,
): Promise<StartedRotation> {
  const { account } = owner;
  const store = wrappedKeyStore(database);
  const context = { origin, ...(account !== '' && { account }) };
  const started = await transactions.run(context, async (transaction): Promise<StartedRotation> => {
    const running = await findRotation(database, owner);
    if (running !== undefined && running.finishedAt === undefined)
      return { owner, version: running.version, isContinued: true };
    const replaced = (await store.find(owner)).at(-1);
    if (replaced === undefined) throw new Error('a key that was listed is gone');
    const key = await keyring.generateVersion(owner, replaced);
    transaction.write(insertWrappedKeys([key]));
    transaction.write(startRotation(owner, { version: key.version, at: transaction.now }));
    transaction.record(keyRotated(key, replaced));
    return { owner, version: key.version, isContinued: false };
  });
  if (kindOf(owner, sealed) === 'sad') await sadKeys.closeAll(owner.environment as Environment);
  return started;
}
