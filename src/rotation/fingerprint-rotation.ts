import type { Origin } from '../audit/audit.ts';
import { LIMITS } from '../kernel/limits.ts';
import { FINGERPRINT_PURPOSE } from './key-kinds.ts';
import {
  type KeySelection,
  listOwners,
  type StartedRotation,
  type StartServices,
  startReplacement,
} from './start-rotation.ts';

/**
 * Adds a version to the keys of fingerprints, and begins to replace the fingerprints of all tokens (`vault/fingerprint-keys.ts`).
 * A repeat continues the rotations that are in progress.
 */
export async function startFingerprintRotations(
  services: StartServices,
  origin: Origin,
  selection: Omit<KeySelection, 'purpose'>,
): Promise<StartedRotation[]> {
  const isSelected = ({ purpose }: { purpose: string }): boolean => purpose === FINGERPRINT_PURPOSE;
  const started: StartedRotation[] = [];
  for (const owner of await listOwners(services.database, selection, isSelected))
    started.push(await startReplacement(services, origin, owner, { phase: 1, delayMs: LIMITS.digestHandoverMs }));
  return started;
}
