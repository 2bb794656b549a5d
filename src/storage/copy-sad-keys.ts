import type { SadKeyStore, WrappedSadKey } from '../crypto/sad-key.ts';
import { CopyError } from './copy.ts';

/**
 * Copies the keys of sensitive authentication data, still wrapped; returns their number. An interrupted copy can be
 * repeated.
 */
export async function copySadKeys(source: SadKeyStore, target: SadKeyStore): Promise<number> {
  const keys = await source.list();
  for (const key of keys) await target.insert(key);
  const copied = new Set((await target.list()).map(formatKey));
  if (copied.size === keys.length && keys.every((key) => copied.has(formatKey(key)))) return keys.length;
  throw new CopyError('the target holds other keys of sensitive authentication data than the source', {
    isUsageError: false,
    problems: ['remove what an earlier vault left beside the target, and begin again'],
  });
}

/**
 * Removes the keys from a target that is a backup: an earlier, interrupted copy may not have been one. Throws
 * `CopyError`.
 */
export async function assertNoSadKeys(target: SadKeyStore): Promise<void> {
  if ((await target.list()).length === 0) return;
  throw new CopyError('the target holds keys of sensitive authentication data; empty it, and begin again');
}

const formatKey = ({ wrapped, ...key }: WrappedSadKey): string =>
  JSON.stringify([key.id, key.environment, key.period, key.closedAt, Buffer.from(wrapped).toString('hex')]);
