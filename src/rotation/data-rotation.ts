import type { Origin } from '../audit/audit.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { KeyOwner } from '../crypto/wrapped-key.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { RotatedColumns } from '../storage/digest-columns.ts';
import { kindOf } from './key-kinds.ts';
import {
  type KeySelection,
  listOwners,
  type StartedRotation,
  type StartServices,
  startReplacement,
} from './start-rotation.ts';

/** With the columns of all tables of the vault and the console. */
export interface RotationServices extends StartServices, RotatedColumns {
  readonly sadKeys: SadKeys;
}

/**
 * Adds a version to each selected data key. New records are sealed under it within `keyRefreshMs` on every node; `Resealing`
 * then seals the others again. A repeat continues the rotations that are in progress; with `replacesSad` it replaces those of the keys
 * of sensitive authentication data, which take until captures end.
 */
export async function startDataRotations(
  services: RotationServices,
  origin: Origin,
  selection: KeySelection,
  { replacesSad = false } = {},
): Promise<StartedRotation[]> {
  const owners = await listOwners(services.database, selection, (key) =>
    ['data', 'sad'].includes(kindOf(key, services.sealed)),
  );
  const started: StartedRotation[] = [];
  // Concurrently, because commits that wait together share one sync of the disk.
  for (let at = 0; at < owners.length; at += LIMITS.keysPerRewrap) {
    const some = owners.slice(at, at + LIMITS.keysPerRewrap);
    started.push(...(await Promise.all(some.map((owner) => startDataRotation(services, origin, owner, replacesSad)))));
  }
  return started;
}

async function startDataRotation(
  services: RotationServices,
  origin: Origin,
  owner: KeyOwner,
  replacesSad: boolean,
): Promise<StartedRotation> {
  const isSad = kindOf(owner, services.sealed) === 'sad';
  const started = await startReplacement(services, origin, owner, { replaces: isSad && replacesSad });
  if (isSad) await services.sadKeys.closeAll(owner.environment as Environment);
  return started;
}
