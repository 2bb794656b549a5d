import type { KeyObject } from 'node:crypto';
import type { Origin } from '../audit/audit.ts';
import { removeRemains } from '../crypto/custody/replacement.ts';
import { type Custody, keyCheckValue } from '../crypto/custody.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { WrappedKey } from '../crypto/wrapped-key.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import { SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { commitOrThrow } from '../storage/database.ts';
import { findRotation, reopenRotation } from '../storage/key-rotation-store.ts';
import { destroyKey, lockKey } from '../storage/wrapped-key-store.ts';
import { countOpenable, countValidDigests, type KeyState, type KeyStateServices, listKeyStates } from './key-states.ts';
import { runWithRootKeyLock } from './root-key-lock.ts';
import { keyDestroyed, ROOT_OWNER, rootDestroyed } from './rotation-events.ts';

/** A verified backup that has not ended. */
export interface KnownBackup {
  readonly id: string;
  /** Unix time in milliseconds of the moment that it contains. */
  readonly createdAt: number;
  readonly file: string;
}

export interface DestructionServices extends KeyStateServices {
  readonly keyring: Keyring;
  readonly transactions: Transactions;
  listBackups(): Promise<readonly KnownBackup[]>;
}

/** A replaced version of a key, and why it may not be destroyed yet. */
export interface DestructionCandidate {
  readonly key: WrappedKey;
  /** Undefined when it may be destroyed. */
  readonly obstacle: string | undefined;
  /** Backups from before the end of its rotation: they contain it under the root key of their time. */
  readonly backups: readonly KnownBackup[];
  /** Rows under it that it does not open, because they were altered. */
  readonly leftOver: number;
  /** True when the rotation finished, and rows are under it nevertheless. */
  readonly hasLateRows: boolean;
}

export interface DestructionOptions {
  /** True to wait neither for a backup nor for the end of older ones. */
  readonly now: boolean;
}

/** Lists the replaced versions that still exist, with what hinders their destruction. Reads all sealed rows of the vault. */
export async function listDestructionCandidates(
  services: DestructionServices,
  { now }: DestructionOptions,
): Promise<DestructionCandidate[]> {
  const states = (await listKeyStates(services)).filter(
    ({ state, kind }) => state === 'retiring' && kind !== 'permanent',
  );
  const backups = await services.listBackups();
  const at = services.clock();
  const candidates: DestructionCandidate[] = [];
  for (const each of states) {
    const { kind, rotation, dependents = 0 } = each;
    const needing = await countNeeding(services, each);
    const judged = judgeBackups(backups, rotation?.finishedAt, now);
    candidates.push({
      key: each.key,
      leftOver: dependents - needing,
      hasLateRows: (kind === 'data' || kind === 'digest') && needing > 0 && rotation?.finishedAt !== undefined,
      backups: judged.older,
      obstacle: findObstacle(each, needing, at, now) ?? judged.obstacle,
    });
  }
  return candidates;
}

/** Counts rows or keys that need the version: a row that it does not open was altered, and needs no key. */
async function countNeeding(services: DestructionServices, { kind, key, rotation, dependents = 0 }: KeyState) {
  if (kind === 'data' && dependents > 0) return countOpenable(services, key);
  if (kind === 'digest' && dependents > 0) return countValidDigests(services, key);
  if (kind === 'fingerprints') return Math.max(0, dependents - (rotation?.leftOver ?? 0));
  return dependents;
}

/** Returns what hinders the destruction of a version, apart from backups. `needing`: rows or keys that only it opens. */
function findObstacle(
  { kind, rotation, replacedAt = 0 }: KeyState,
  needing: number,
  at: number,
  now: boolean,
): string | undefined {
  if (rotation !== undefined && rotation.finishedAt === undefined) return 'its rotation is not finished';
  if (needing > 0 && kind === 'api-keys') return `${needing} API keys were not used since it was replaced`;
  if (needing > 0) return `${needing} records or keys are still sealed under it`;
  const wait = now ? LIMITS.urgentKeyRetirementMs : LIMITS.keyRetirementMs;
  if (at - replacedAt < wait) return `it was replaced less than ${wait / SECOND} seconds ago`;
  return undefined;
}

/** `finishedAt`: since when nothing needs the replaced key; undefined when no rotation replaced it. */
function judgeBackups(
  backups: readonly KnownBackup[],
  finishedAt: number | undefined,
  now: boolean,
): { older: readonly KnownBackup[]; obstacle: string | undefined } {
  const since = finishedAt ?? Number.POSITIVE_INFINITY;
  const older = backups.filter(({ createdAt }) => createdAt < since);
  if (now) return { older, obstacle: undefined };
  if (finishedAt === undefined) return { older, obstacle: 'no rotation has finished since it was replaced' };
  if (older.length === backups.length)
    return { older, obstacle: 'there is no verified backup from after its rotation' };
  if (older.length > 0) return { older, obstacle: `${older.length} backups from before its rotation have not ended` };
  return { older, obstacle: undefined };
}

/**
 * Destroys replaced versions that nothing hinders, and returns them. `ids`: only these. A version whose rows came back, for
 * example by a request that was suspended, is not destroyed; its rotation continues.
 */
export async function destroyKeys(
  services: DestructionServices,
  origin: Origin,
  options: DestructionOptions & { readonly ids?: ReadonlySet<string> },
): Promise<DestructionCandidate[]> {
  const { transactions, keyring } = services;
  const candidates = await listDestructionCandidates(services, options);
  await reopenRotations(services, candidates);
  const due = candidates.filter(
    ({ key, obstacle }) => obstacle === undefined && (options.ids === undefined || options.ids.has(key.id)),
  );
  for (const { key, leftOver, backups } of due) {
    await transactions.run({ origin, ...(key.account !== '' && { account: key.account }) }, async (transaction) => {
      // It was counted under these bytes.
      transaction.write(lockKey(key), new OperatorError('a key changed while it was destroyed; repeat the command'));
      transaction.write(destroyKey(key, transaction.now));
      const { checkValue } = key;
      const evidence = { checkValue, leftOver, isImmediate: options.now, backups: namesOf(backups) };
      transaction.record(keyDestroyed(key, evidence));
      transaction.scrub();
    });
    keyring.forget([key.id]);
  }
  return due;
}

/** Continues finished rotations of keys under which there are rows again. */
async function reopenRotations(
  { database, clock }: DestructionServices,
  candidates: readonly DestructionCandidate[],
): Promise<void> {
  for (const { key } of candidates.filter(({ hasLateRows }) => hasLateRows)) {
    const rotation = await findRotation(database, key);
    if (rotation?.finishedAt === undefined) continue;
    const account = key.account === '' ? {} : { account: key.account };
    await commitOrThrow(database, { ...account, writes: [reopenRotation(rotation, clock())] });
  }
}

const namesOf = (backups: readonly KnownBackup[]): string[] =>
  backups
    .toSorted((one, other) => other.createdAt - one.createdAt)
    .slice(0, LIMITS.backupsInEvidence)
    .map(({ id, file }) => `${id} ${file}`);

export interface RootDestructionServices
  extends Pick<DestructionServices, 'database' | 'transactions' | 'listBackups'> {
  readonly custody: Custody;
  /** The root key that opens the database. */
  readonly root: KeyObject;
}

/** The destruction of the former root key. */
export interface RootDestruction {
  /** Check value of the former root key; undefined when there is none. */
  readonly checkValue: string | undefined;
  /** Undefined when it may be, or was, destroyed. */
  readonly obstacle: string | undefined;
  /** Backups that need it: they become unreadable. */
  readonly backups: readonly KnownBackup[];
}

/** Finds out whether the former root key may be destroyed. */
export async function findRootDestruction(
  { custody, root, database, listBackups }: RootDestructionServices,
  { now }: DestructionOptions,
): Promise<RootDestruction> {
  const { root: stored, previous } = await custody.open();
  if (previous === undefined) return { checkValue: undefined, obstacle: undefined, backups: [] };
  if (keyCheckValue(stored) !== keyCheckValue(root)) {
    const obstacle = 'the database still needs it; complete the rotation: cardvault keyring rotate root';
    return { checkValue: keyCheckValue(previous), obstacle, backups: [] };
  }
  const rotation = await findRotation(database, ROOT_OWNER);
  const { older, obstacle } = judgeBackups(await listBackups(), rotation?.finishedAt, now);
  return { checkValue: keyCheckValue(previous), obstacle, backups: older };
}

/**
 * Destroys the former root key, which nothing but older backups needs. Throws when something hinders it. No rotation may begin
 * meanwhile: the former root key would then be another one than the one that was judged.
 */
export const destroyFormerRootKey = (
  services: RootDestructionServices,
  origin: Origin,
  options: DestructionOptions,
): Promise<RootDestruction> =>
  runWithRootKeyLock(services.custody.file, () => destroyLocked(services, origin, options));

async function destroyLocked(
  services: RootDestructionServices,
  origin: Origin,
  options: DestructionOptions,
): Promise<RootDestruction> {
  const found = await findRootDestruction(services, options);
  const { checkValue, obstacle, backups } = found;
  if (checkValue === undefined) {
    removeRemains(services.custody.file);
    return found;
  }
  if (obstacle !== undefined) throw new OperatorError(`the former root key ${checkValue} is kept: ${obstacle}`);
  // Recorded first: a crash in between leaves the key, and a repeat destroys it.
  await services.transactions.run({ origin }, async (transaction) => {
    const evidence = { checkValue, leftOver: 0, isImmediate: options.now, backups: namesOf(backups) };
    transaction.record(rootDestroyed(evidence));
  });
  services.custody.finishReplacement();
  return found;
}
