import type { Origin } from '../audit/audit.ts';
import { keyCheckValue } from '../crypto/custody.ts';
import type { KeyEnvironment } from '../crypto/wrapped-key.ts';
import { SECOND } from '../kernel/clock.ts';
import { ENVIRONMENTS } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { EXPIRY_PHASE, listRotations, type Rotation } from '../storage/key-rotation-store.ts';
import { type RotationServices, startDataRotations } from './data-rotation.ts';
import {
  type DestructionCandidate,
  type DestructionServices,
  destroyFormerRootKey,
  destroyKeys,
  findRootDestruction,
  type RootDestruction,
} from './destruction.ts';
import { startDigestRotations } from './digest-rotation.ts';
import { startFingerprintRotations } from './fingerprint-rotation.ts';
import { ownerName, SAD_PURPOSE } from './key-kinds.ts';
import { type RootRotation, type RootServices, rotateRootKey } from './root-rotation.ts';
import type { StartedRotation } from './start-rotation.ts';
import { rotateWrappingKey, type WrappingRotation } from './wrapping-rotation.ts';

export const KEY_ENVIRONMENTS: readonly KeyEnvironment[] = ['service', ...ENVIRONMENTS];

export interface FullRotation {
  readonly root: RootRotation;
  readonly wrapping: readonly WrappingRotation[];
  /** The rotations of data keys, fingerprints and digests. */
  readonly data: readonly StartedRotation[];
}

/**
 * Replaces the keys of all levels, from the root key downwards: an attacker with an older key then opens none of the keys below.
 * What is under data keys, fingerprints and digests is replaced in the background. `withPanIndexes`: the indexes that clients see as well.
 */
export async function rotateEverything(
  services: RotationServices & RootServices,
  origin: Origin,
  options: { readonly withPanIndexes?: boolean; readonly isEmergency?: boolean } = {},
): Promise<FullRotation> {
  const root = await rotateRootKey(services, origin);
  const wrapping: WrappingRotation[] = [];
  for (const environment of KEY_ENVIRONMENTS) {
    const rotated = await rotateWrappingKey(services, origin, environment);
    // The rotation that was interrupted had made a key that the attacker may know.
    const isAgain = options.isEmergency === true && rotated.isContinued;
    wrapping.push(isAgain ? await rotateWrappingKey(services, origin, environment) : rotated);
  }
  const data = await startDataRotations(services, origin, {});
  const fingerprints = await startFingerprintRotations(services, origin, {});
  const digests = await startDigestRotations(services, origin, {}, options);
  return { root, wrapping, data: [...data, ...fingerprints, ...digests] };
}

/** Returns the rotations in progress that have work, without those that end with the hours of expiry of captures, or with other rows. */
export const listUnfinished = async ({ database }: Pick<RotationServices, 'database'>): Promise<Rotation[]> =>
  (await listRotations(database)).filter(
    ({ finishedAt, purpose, phase }) =>
      finishedAt === undefined && purpose !== SAD_PURPOSE && purpose !== 'wrapping' && phase !== EXPIRY_PHASE,
  );

export interface Waiting {
  /** Seals rows again while this process has the lease. */
  reseal(): Promise<void>;
  pause(milliseconds: number): Promise<void>;
  onProgress(unfinished: readonly Rotation[]): void;
}

/** Resolves once the rows of every rotation are sealed again, by this process or by a node. */
export async function waitForRotations(
  services: Pick<RotationServices, 'database'>,
  { reseal, pause, onProgress }: Waiting,
): Promise<void> {
  for (;;) {
    await reseal();
    const unfinished = await listUnfinished(services);
    if (unfinished.length === 0) return;
    onProgress(unfinished);
    await pause(SECOND);
  }
}

export interface EmergencyResult extends FullRotation {
  readonly destroyed: readonly DestructionCandidate[];
  /** Backups that the destroyed root key would open; none of them is readable any more. */
  readonly formerRoot: RootDestruction;
}

/**
 * Replaces every key, seals every row again, and destroys the replaced keys without waiting for backups. For a key that an
 * attacker may have.
 */
export async function rotateInEmergency(
  services: RotationServices & RootServices & DestructionServices,
  origin: Origin,
  waiting: Waiting,
): Promise<EmergencyResult> {
  const began = await endRootRotation(services, origin);
  const rotation = await rotateEverything(began, origin, { withPanIndexes: true, isEmergency: true });
  await waitForRotations(services, waiting);
  const continued = rotation.data.filter(({ isContinued }) => isContinued);
  if (continued.length > 0) {
    await replaceAgain(services, origin, continued);
    await waitForRotations(services, waiting);
  }
  // A request that began before the rotation may still commit what it sealed.
  await waiting.pause(LIMITS.urgentKeyRetirementMs);
  const destroyed = await destroyKeys(services, origin, { now: true });
  const formerRoot = await destroyFormerRootKey(await withRoot(services, rotation.root), origin, { now: true });
  return { ...rotation, destroyed, formerRoot };
}

/**
 * Completes a replacement of the root key that was prepared, and destroys the former one: the prepared key may be known to the attacker,
 * and a former one that exists would prevent another rotation.
 */
async function endRootRotation<Services extends RootServices & DestructionServices>(
  services: Services,
  origin: Origin,
): Promise<Services> {
  const { checkValue, obstacle } = await findRootDestruction(services, { now: true });
  if (checkValue === undefined) return services;
  const present = obstacle === undefined ? services : await withRoot(services, await rotateRootKey(services, origin));
  await destroyFormerRootKey(present, origin, { now: true });
  return present;
}

/** Throws when custody has another root key than the one of this rotation, which the database needs. */
async function withRoot<Services extends RootServices>(
  services: Services,
  { checkValue }: RootRotation,
): Promise<Services> {
  const { root } = await services.custody.open();
  if (keyCheckValue(root) === checkValue) return { ...services, root };
  throw new OperatorError(
    `custody has another root key than the one of this rotation (${checkValue}), which the database needs; the former one was not destroyed`,
  );
}

/** Replaces keys whose rotation was in progress: the attacker may know the version that it had made. */
async function replaceAgain(
  services: RotationServices,
  origin: Origin,
  continued: readonly StartedRotation[],
): Promise<void> {
  const owners = new Set(continued.map(({ owner }) => ownerName(owner)));
  await startDataRotations(services, origin, { owners }, { replacesSad: true });
  await startFingerprintRotations(services, origin, { owners });
  await startDigestRotations(services, origin, { owners }, { withPanIndexes: true });
}
