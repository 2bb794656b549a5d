import type { Origin } from '../audit/audit.ts';
import type { KeyOwner } from '../crypto/wrapped-key.ts';
import { LIMITS } from '../kernel/limits.ts';
import { DIGEST_PURPOSES, PAN_INDEX_PURPOSE } from './key-kinds.ts';
import {
  type KeySelection,
  listOwners,
  type StartedRotation,
  type StartServices,
  startReplacement,
} from './start-rotation.ts';

/** True for keys of digests; for those of the indexes that clients see only where their purpose is selected. */
const isSelected =
  (selected: string | undefined, withPanIndexes: boolean) =>
  ({ purpose }: Pick<KeyOwner, 'purpose'>): boolean =>
    DIGEST_PURPOSES.includes(purpose) && (purpose !== PAN_INDEX_PURPOSE || withPanIndexes || selected === purpose);

/**
 * Adds a version to the selected keys of digests and MACs. It makes digests `digestHandoverMs` later, when every process can
 * verify them, and `Resealing` then computes the others again. A repeat continues the rotations that are in progress.
 * `withPanIndexes`: replaces the indexes of card numbers that clients see as well.
 */
export async function startDigestRotations(
  services: StartServices,
  origin: Origin,
  selection: KeySelection,
  { withPanIndexes = false } = {},
): Promise<StartedRotation[]> {
  const owners = await listOwners(services.database, selection, isSelected(selection.purpose, withPanIndexes));
  const delayMs = LIMITS.digestHandoverMs;
  const started: StartedRotation[] = [];
  // Concurrently, because commits that wait together share one sync of the disk.
  for (let at = 0; at < owners.length; at += LIMITS.keysPerRewrap) {
    const some = owners.slice(at, at + LIMITS.keysPerRewrap);
    started.push(...(await Promise.all(some.map((owner) => startReplacement(services, origin, owner, { delayMs })))));
  }
  return started;
}
