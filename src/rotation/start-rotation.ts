import type { Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { KeyEnvironment, KeyOwner, Purpose, WrappedKey } from '../crypto/wrapped-key.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Database } from '../storage/database.ts';
import { findRotation, startRotation } from '../storage/key-rotation-store.ts';
import { insertWrappedKeys, listWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { ownerName } from './key-kinds.ts';
import { keyRotated } from './rotation-events.ts';

export interface StartServices {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly transactions: Transactions;
}

/** Which keys to rotate; an absent member selects all. */
export interface KeySelection {
  readonly account?: string | undefined;
  readonly environment?: KeyEnvironment | undefined;
  readonly purpose?: Purpose | undefined;
  /** Names of owners, see `ownerName`. */
  readonly owners?: ReadonlySet<string> | undefined;
}

export interface StartedRotation {
  readonly owner: KeyOwner;
  readonly version: number;
  /** True when an earlier rotation of this key is still in progress, which continues instead. */
  readonly isContinued: boolean;
}

/** Lists the owners of selected keys that exist, each once. */
export async function listOwners(
  database: Database,
  { account, environment, purpose, owners: selected }: KeySelection,
  accept: (key: WrappedKey) => boolean,
): Promise<KeyOwner[]> {
  const owners = new Map<string, KeyOwner>();
  for (const key of await listWrappedKeys(database)) {
    if (!accept(key)) continue;
    if (account !== undefined && key.account !== account) continue;
    if (environment !== undefined && key.environment !== environment) continue;
    if (purpose !== undefined && key.purpose !== purpose) continue;
    const owner = { account: key.account, environment: key.environment, purpose: key.purpose };
    if (selected?.has(ownerName(owner)) !== false) owners.set(ownerName(owner), owner);
  }
  return [...owners.values()];
}

/**
 * Adds a version to a key, and starts to replace what is under the older ones. `delayMs`: until the first pass begins. `replaces`: also
 * while a rotation is in progress, whose version is then an older one.
 */
export function startReplacement(
  { database, keyring, transactions }: StartServices,
  origin: Origin,
  owner: KeyOwner,
  {
    phase = 0,
    delayMs = 0,
    replaces = false,
  }: { readonly phase?: number; readonly delayMs?: number; readonly replaces?: boolean } = {},
): Promise<StartedRotation> {
  const { account } = owner;
  const context = { origin, ...(account !== '' && { account }) };
  return transactions.run(context, async (transaction): Promise<StartedRotation> => {
    const running = await findRotation(database, owner);
    if (running !== undefined && running.finishedAt === undefined && !replaces)
      return { owner, version: running.version, isContinued: true };
    const replaced = (await wrappedKeyStore(database).find(owner)).at(-1);
    if (replaced === undefined) throw new Error('a key that was listed is gone');
    const key = await keyring.generateVersion(owner, replaced);
    const at = transaction.now;
    transaction.write(insertWrappedKeys([key]));
    transaction.write(startRotation(owner, { version: key.version, at, phase, dueAt: at + delayMs }));
    transaction.record(keyRotated(key, replaced));
    return { owner, version: key.version, isContinued: false };
  });
}
