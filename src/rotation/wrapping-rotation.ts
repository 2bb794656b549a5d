import type { Origin } from '../audit/audit.ts';
import type { KeyEnvironment, KeyOwner, WrappedKey } from '../crypto/wrapped-key.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findRotation, finishRotation, startRotation } from '../storage/key-rotation-store.ts';
import {
  insertWrappedKeys,
  listKeysByPurpose,
  listWrappedKeys,
  lockKey,
  rewrapKey,
} from '../storage/wrapped-key-store.ts';
import type { RotationServices } from './data-rotation.ts';
import { keyRotated, rotationFinished } from './rotation-events.ts';

export interface WrappingRotation {
  readonly environment: KeyEnvironment;
  readonly version: number;
  readonly rewrapped: number;
  readonly isContinued: boolean;
}

const ownerOf = (environment: KeyEnvironment): KeyOwner => ({ account: '', environment, purpose: 'wrapping' });

/**
 * Replaces the wrapping key of an environment, and wraps all its data keys under the new version. Requests need no wrapping
 * key that was read before, so they continue. A repeat after an interruption continues.
 */
export async function rotateWrappingKey(
  services: RotationServices,
  origin: Origin,
  environment: KeyEnvironment,
): Promise<WrappingRotation> {
  const { transactions } = services;
  const started = await transactions.run({ origin }, (transaction) => start(services, transaction, environment));
  let rewrapped = 0;
  // Another process may have added a data key under the older version in between.
  for (let pass = await rewrapAll(services, environment); pass > 0; pass = await rewrapAll(services, environment))
    rewrapped += pass;
  await transactions.run({ origin }, async (transaction) => {
    const rotation = await findRotation(services.database, ownerOf(environment));
    if (rotation === undefined || rotation.finishedAt !== undefined) return;
    transaction.write(finishRotation(rotation, { resealed: rewrapped, leftOver: 0 }, transaction.now));
    transaction.record(rotationFinished(rotation, { version: rotation.version, resealed: rewrapped, leftOver: 0 }));
  });
  return { environment, rewrapped, ...started };
}

async function start(
  { database, keyring }: RotationServices,
  transaction: Transaction,
  environment: KeyEnvironment,
): Promise<Pick<WrappingRotation, 'version' | 'isContinued'>> {
  const owner = ownerOf(environment);
  const running = await findRotation(database, owner);
  if (running !== undefined && running.finishedAt === undefined) return { version: running.version, isContinued: true };
  const newest = (await listKeysByPurpose(database, 'wrapping')).findLast((key) => key.environment === environment);
  if (newest === undefined) throw new Error('a vault without wrapping keys does not open');
  const key = await keyring.generateVersion(owner, newest);
  // Conflicts with a rotation of the root key that is committed in between, which would not wrap the new version.
  transaction.write(lockKey(newest));
  transaction.write(insertWrappedKeys([key]));
  transaction.write(startRotation(owner, { version: key.version, at: transaction.now }));
  transaction.record(keyRotated(key, newest));
  return { version: key.version, isContinued: false };
}

/** Returns how many data keys were wrapped again. */
async function rewrapAll({ database, keyring }: RotationServices, environment: KeyEnvironment): Promise<number> {
  const isBelow = (key: WrappedKey): boolean =>
    key.environment === environment && key.purpose !== 'wrapping' && key.destroyedAt === undefined;
  const keys = (await listWrappedKeys(database)).filter(isBelow);
  let count = 0;
  for (let at = 0; at < keys.length; at += LIMITS.keysPerRewrap) {
    const rewrapped = await keyring.rewrap(environment, keys.slice(at, at + LIMITS.keysPerRewrap));
    // Each key alone, because each is a row of its account; concurrently, so that they share one sync of the disk.
    const commits = rewrapped.map(({ row, wrapped }) =>
      database.commit({ ...(row.account !== '' && { account: row.account }), writes: [rewrapKey(row, wrapped)] }),
    );
    await Promise.all(commits);
    count += rewrapped.length;
  }
  return count;
}
