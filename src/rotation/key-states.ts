import { countKeysByDigestVersion } from '../accounts/api-key-store.ts';
import { versionByte } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import { parseKeyId, UnsealError } from '../crypto/seal.ts';
import type { KeyOwner, WrappedKey } from '../crypto/wrapped-key.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, isAlteration } from '../storage/database.ts';
import {
  countDigests,
  type DigestColumn,
  isOfVersion,
  type RotatedColumns,
  readDigestRows,
} from '../storage/digest-columns.ts';
import { listRotations, type Rotation } from '../storage/key-rotation-store.ts';
import { positionOf, type RowPosition } from '../storage/owned-rows.ts';
import { countSealed, readAllSealedRows } from '../storage/sealed-columns.ts';
import { listWrappedKeys, wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { countTokensByFingerprintVersion } from '../vault/fingerprint-rekeying.ts';
import { type KeyKind, kindOf, ownerName } from './key-kinds.ts';

/** One version of a key, and what depends on it. */
export interface KeyState {
  readonly key: WrappedKey;
  readonly kind: KeyKind;
  /** `retiring`: a newer version has replaced it, and it is kept for what is sealed under it, and for safety. */
  readonly state: 'current' | 'retiring' | 'destroyed';
  /** Time at which the next version replaced it. */
  readonly replacedAt: number | undefined;
  /** Rows that are sealed, digests, or keys that are wrapped, under it. Undefined for permanent keys, and where nothing is counted. */
  readonly dependents: number | undefined;
  /** The newest rotation of the key. */
  readonly rotation: Rotation | undefined;
}

export interface KeyStateServices extends RotatedColumns {
  readonly database: Database;
  readonly sadKeys: SadKeys;
  readonly clock: Clock;
}

/** The kinds whose dependents are counted by reading all their rows. */
const COUNTED: readonly KeyKind[] = ['data', 'sad', 'fingerprints', 'digest'];

/** Lists every version of every key. `count`: reads all sealed rows of the vault. */
export async function listKeyStates(services: KeyStateServices, { count = true } = {}): Promise<KeyState[]> {
  const { database, sealed } = services;
  const keys = await listWrappedKeys(database);
  const rotations = new Map((await listRotations(database)).map((each) => [ownerName(each as KeyOwner), each]));
  const wrapped = countWrapped(keys);
  const counts = new Map<string, Map<string, number>>();
  const states: KeyState[] = [];
  for (const [index, key] of keys.entries()) {
    const name = ownerName(key);
    const kind = kindOf(key, sealed);
    let dependents = kind === 'wrapping' ? (wrapped.get(key.id) ?? 0) : undefined;
    if (kind === 'api-keys' || (count && COUNTED.includes(kind))) {
      const known = counts.get(name) ?? (await countDependents(services, key));
      counts.set(name, known);
      dependents = known.get(key.id) ?? 0;
    }
    states.push({ key, kind, dependents, rotation: rotations.get(name), ...lifeOf(key, keys[index + 1]) });
  }
  return states;
}

/** `next`: the key that follows in the order of owners and versions. */
function lifeOf(key: WrappedKey, next: WrappedKey | undefined): Pick<KeyState, 'state' | 'replacedAt'> {
  const replacedAt = next !== undefined && ownerName(next) === ownerName(key) ? next.createdAt : undefined;
  if (key.destroyedAt !== undefined) return { state: 'destroyed', replacedAt };
  return { state: replacedAt === undefined ? 'current' : 'retiring', replacedAt };
}

/** Counts keys by the id of the wrapping key that wraps them. */
function countWrapped(keys: readonly WrappedKey[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { purpose, wrapped, destroyedAt } of keys) {
    if (purpose === 'wrapping' || destroyedAt !== undefined) continue;
    const id = parseKeyId(wrapped);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Counts what is sealed under the versions of a data key, by their ids. */
export async function countDependents(
  { database, sadKeys, sealed, digests, clock }: KeyStateServices,
  owner: KeyOwner,
): Promise<Map<string, number>> {
  const kind = kindOf(owner, sealed);
  if (kind === 'sad') return sadKeys.countByWrappingKey(owner.environment as Environment);
  if (kind === 'api-keys') return countApiKeys(database, clock, owner);
  if (kind === 'fingerprints') return countFingerprints(database, owner);
  if (kind === 'digest') return countDigestsByKey(database, listDigestColumns(digests, owner), owner);
  const counts = new Map<string, number>();
  for (const columns of sealed.filter((each) => kindOf(owner, [each]) === 'data')) {
    for (const [id, number] of await countSealed(database, columns, owner, LIMITS.rowsPerSealedCount))
      counts.set(id, (counts.get(id) ?? 0) + number);
  }
  return counts;
}

/** Counts active API keys by the id of the key of their digests. */
async function countApiKeys(database: Database, clock: Clock, owner: KeyOwner): Promise<Map<string, number>> {
  const counts = await countKeysByDigestVersion(database, owner.environment as Environment, clock());
  const versions = await wrappedKeyStore(database).find(owner);
  return new Map(versions.map(({ id, version }) => [id, counts.get(version) ?? 0]));
}

/** Counts live tokens by the id of the key of their fingerprints. */
async function countFingerprints(database: Database, owner: KeyOwner): Promise<Map<string, number>> {
  const tenant = { account: owner.account, environment: owner.environment as Environment };
  const counts = await countTokensByFingerprintVersion(database, tenant);
  const versions = await wrappedKeyStore(database).find(owner);
  return new Map(versions.map(({ id, version }) => [id, counts.get(version) ?? 0]));
}

/** Returns the columns of digests under the key of an owner. */
export const listDigestColumns = (
  digests: readonly DigestColumn[],
  { account, purpose }: KeyOwner,
): readonly DigestColumn[] =>
  digests.filter((column) => column.purpose === purpose && (column.scope === 'service') === (account === ''));

/** Counts digests by the id of their key. */
async function countDigestsByKey(
  database: Database,
  columns: readonly DigestColumn[],
  owner: KeyOwner,
): Promise<Map<string, number>> {
  const versions = await wrappedKeyStore(database).find(owner);
  const counts = new Map<string, number>();
  for (const column of columns) {
    const found = await countDigests(database, column, owner, LIMITS.rowsPerSealedCount);
    for (const { id, version } of versions)
      counts.set(id, (counts.get(id) ?? 0) + (found.get(String(versionByte(version))) ?? 0));
  }
  return counts;
}

/** Counts the digests under this version that it has made, or that cannot be checked; the rows of the others were altered. */
export async function countValidDigests(
  { database, keyring, digests }: Pick<KeyStateServices, 'database' | 'digests'> & { readonly keyring: Keyring },
  key: WrappedKey,
): Promise<number> {
  let count = 0;
  for (const column of listDigestColumns(digests, key)) {
    for (let after: RowPosition; ; ) {
      const rows = await readDigestRows(database, column, key, { after, limit: LIMITS.rowsPerRotationStep });
      const parts = { database, keyring, scope: key, keys: await keyring.digests(key) };
      for (const row of rows) {
        if (!isOfVersion(row[column.column], key.version)) continue;
        if (column.renew === undefined || (await column.renew(parts, row)) !== 'altered') count++;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < LIMITS.rowsPerRotationStep) break;
      after = positionOf(column, last);
    }
  }
  return count;
}

/** Counts the rows that are sealed under this version and that it opens; the others were altered. */
export async function countOpenable(
  { database, keyring, sealed }: Pick<KeyStateServices, 'database' | 'sealed'> & { readonly keyring: Keyring },
  key: WrappedKey,
): Promise<number> {
  let count = 0;
  for (const columns of sealed.filter((each) => kindOf(key, [each]) === 'data')) {
    for await (const row of readAllSealedRows(database, columns, key, LIMITS.rowsPerRotationStep)) {
      for (const [column, context] of Object.entries(columns.contexts)) {
        const value = row[column];
        if (!(value instanceof Uint8Array) || keyIdOf(value) !== key.id) continue;
        try {
          (await keyring.unseal(key, key.purpose, context(row), value)).fill(0);
          count++;
        } catch (error) {
          if (!(error instanceof UnsealError) && !isAlteration(error)) throw error;
        }
      }
    }
  }
  return count;
}

/** Returns '' for a value that is not sealed. */
export function keyIdOf(value: unknown): string {
  try {
    return value instanceof Uint8Array ? parseKeyId(value) : '';
  } catch {
    return '';
  }
}
