import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock, Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { deriveKey, keyCheckValue } from './custody.ts';
import { chooseCurrent, type DigestKey, DigestKeys } from './digest-keys.ts';
import {
  type EncryptionContext,
  encryptionContext,
  KEY_ID_BYTES,
  NONCE_BYTES,
  parseKeyId,
  type Sealer,
  type SealingKey,
  seal,
  UnsealError,
  unseal,
} from './seal.ts';
import type { KeyEnvironment, KeyOwner, KeyScope, Purpose, WrappedKey, WrappedKeyStore } from './wrapped-key.ts';

interface UnwrappedKey extends SealingKey {
  readonly owner: KeyOwner;
  readonly version: number;
  readonly hexId: string;
  readonly createdAt: number;
}

/** One version of a key that is used as it is, instead of for sealing. */
export interface KeyVersion {
  readonly version: number;
  readonly key: KeyObject;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
}

/** The newest version of a data key with the nonces that this process has reserved. */
interface SealingState {
  readonly current: UnwrappedKey;
  left: number;
  /** Time at which it was last known to be the newest version. */
  checkedAt: number;
}

export const DATA_KEY_BYTES = 32;

/** The key id of the root key in the header of what it wraps. */
const ROOT_KEY_ID = new Uint8Array(KEY_ID_BYTES);

/** Thrown when the root key does not belong to the database. */
export class WrongRootKeyError extends OperatorError {
  override readonly name = 'WrongRootKeyError';
  constructor() {
    super('the root key does not open this database: it belongs to another one');
  }
}

/** Thrown when keys are missing without which the vault was never committed: no new key may replace them silently. */
export class MissingKeyError extends OperatorError {
  override readonly name = 'MissingKeyError';
  constructor({ environment, purpose }: KeyOwner) {
    super(`the ${purpose} key of ${environment} was removed from the database: restore a backup`);
  }
}

/** A key as it is stored, and as it is to be stored. */
export interface RewrappedKey {
  readonly row: WrappedKey;
  readonly wrapped: Uint8Array;
}

/** The versions of a key for digests, with the time at which they were read. */
interface ReadDigestKeys {
  readonly keys: DigestKeys;
  readAt: number;
  reading: Promise<void> | undefined;
}

/** Keys that are not stored yet. */
interface InitialKeys {
  readonly rows: readonly WrappedKey[];
  /** In the order of the owners. */
  readonly digestKeys: readonly KeyObject[];
}

/**
 * The hierarchy of keys. The root key wraps one key-encrypting key per environment and one for the service itself. They
 * wrap the data keys, one per account, environment and purpose, each with versions. Ciphertexts name their key by id,
 * so a new version replaces an older one without changing what that one sealed. `src/rotation/` replaces keys of every
 * level while the service runs.
 */
export class Keyring {
  #root: KeyObject;
  readonly #listOtherRoots: () => Promise<readonly KeyObject[]>;
  readonly #store: WrappedKeyStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #unwrapped = new Map<string, UnwrappedKey>();
  readonly #sealing = new Map<string, SealingState>();
  readonly #refills = new Map<string, Promise<void>>();
  readonly #checks = new Map<string, Promise<void>>();
  readonly #additions = new Map<string, Promise<UnwrappedKey>>();
  readonly #unversioned = new Map<string, KeyObject>();
  readonly #digests = new Map<string, ReadDigestKeys>();
  readonly #versioned = new Map<string, { readonly keys: readonly DigestKey[]; readonly readAt: number }>();

  constructor(options: {
    root: KeyObject;
    /**
     * Called when the root key does not open a key: another process may have replaced it. Absent: there is no other one.
     */
    listOtherRoots?: (() => Promise<readonly KeyObject[]>) | undefined;
    store: WrappedKeyStore;
    clock: Clock;
    random: Random;
  }) {
    this.#root = deriveWrappingRoot(options.root);
    this.#listOtherRoots = options.listOtherRoots ?? (() => Promise.resolve([]));
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /**
   * Returns a sealer that may seal at most `count` times with the newest version of the scope's key for this purpose.
   */
  async sealer(scope: KeyScope, purpose: Purpose, count: number): Promise<Sealer> {
    const key = await this.#useNonces({ account: scope.account, environment: scope.environment, purpose }, count);
    let left = count;
    return (context, plaintext) => {
      if (left-- <= 0) throw new Error('more seals than were set aside would break the bound of the key');
      return seal(key, this.#random.bytes(NONCE_BYTES), context, plaintext);
    };
  }

  /** Unseals what any version sealed; throws `UnsealError`. */
  async unseal(scope: KeyScope, purpose: Purpose, context: EncryptionContext, sealed: Uint8Array): Promise<Buffer> {
    const id = parseKeyId(sealed);
    const key = this.#unwrapped.get(id) ?? (await this.#loadById(id));
    const { owner } = key;
    if (owner.account !== scope.account || owner.environment !== scope.environment || owner.purpose !== purpose) {
      throw new UnsealError();
    }
    return unseal(key.key, context, sealed);
  }

  /**
   * Returns the versions of a key for digests and MACs that name their version. The object is updated while it is used:
   * versions that were read within `keyRefreshMs` are returned as they are, those of `keyStaleMs` while newer ones are read,
   * and older ones after that.
   */
  async digests(owner: KeyOwner): Promise<DigestKeys> {
    const name = nameOf(owner);
    let known = this.#digests.get(name);
    if (known === undefined) {
      const keys = new DigestKeys(() => this.#refreshDigests(owner, name));
      known = { keys, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
      this.#digests.set(name, known);
    }
    return known.keys.refresh();
  }

  /** Like `digests`, for a key that exists since the first commit of the vault: throws `MissingKeyError` instead of creating one. */
  async firstDigests(owner: KeyOwner): Promise<DigestKeys> {
    if ((await this.#store.find(owner)).length === 0) throw new MissingKeyError(owner);
    return this.digests(owner);
  }

  /** Returns undefined when the caller need not wait. */
  #refreshDigests(owner: KeyOwner, name: string): Promise<void> | undefined {
    const known = this.#digests.get(name);
    if (known === undefined) return undefined;
    const age = Math.abs(this.#clock() - known.readAt);
    if (age < LIMITS.keyRefreshMs) return undefined;
    known.reading ??= this.#readDigests(owner, known).finally(() => {
      known.reading = undefined;
    });
    if (age >= LIMITS.keyStaleMs) return known.reading;
    // The next use reads them again when this fails.
    known.reading.catch(() => undefined);
    return undefined;
  }

  async #readDigests(owner: KeyOwner, known: ReadDigestKeys): Promise<void> {
    const now = this.#clock();
    let rows = await this.#store.find(owner);
    if (rows.length === 0) {
      await this.#add(owner, 1);
      rows = await this.#store.find(owner);
    }
    const versions = await this.#toDigestKeys(rows);
    known.keys.replace(versions, chooseCurrent(versions, now));
    known.readAt = now;
  }

  #toDigestKeys(rows: readonly WrappedKey[]): Promise<DigestKey[]> {
    return Promise.all(
      rows.toReversed().map(async (row) => {
        const { key } = this.#unwrapped.get(row.id) ?? (await this.#unwrap(row));
        return { version: row.version, key, createdAt: row.createdAt };
      }),
    );
  }

  /** Returns a key for keyed digests: the first version, because digests must remain comparable. */
  async digestKey(owner: KeyOwner): Promise<KeyObject> {
    const name = nameOf(owner);
    const known = this.#unversioned.get(name);
    if (known !== undefined) return known;
    const [first] = await this.#versions(owner);
    const { key } = first ?? (await this.#add(owner, 1));
    this.#unversioned.set(name, key);
    return key;
  }

  /**
   * Returns all versions of a key for keyed digests, the newest first. For digests that their owner replaces one by one, and
   * looks up under every version until then. Another process learns of a version within `keyRefreshMs`, or at once when
   * `known` is the version that it has to find.
   */
  async digestKeys(owner: KeyOwner, known = 1): Promise<readonly DigestKey[]> {
    const name = nameOf(owner);
    const now = this.#clock();
    const cached = this.#versioned.get(name);
    const isFresh = cached !== undefined && Math.abs(now - cached.readAt) < LIMITS.keyRefreshMs;
    if (isFresh && (cached.keys[0]?.version ?? 0) >= known) return cached.keys;
    let rows = await this.#store.find(owner);
    if (rows.length === 0) {
      await this.#add(owner, 1);
      rows = await this.#store.find(owner);
    }
    const keys = await this.#toDigestKeys(rows);
    this.#versioned.set(name, { keys, readAt: now });
    return keys;
  }

  /**
   * Like `digestKey`, for a key that exists since the first commit of the vault: throws `MissingKeyError` instead of
   * creating another.
   */
  async firstDigestKey(owner: KeyOwner): Promise<KeyObject> {
    if ((await this.#store.find(owner)).length === 0) throw new MissingKeyError(owner);
    return this.digestKey(owner);
  }

  /** Returns all versions of a key that exists since the first commit of the vault, oldest first, or throws `MissingKeyError`. */
  async listVersions(owner: KeyOwner): Promise<readonly KeyVersion[]> {
    const versions = await this.#versions(owner);
    if (versions.length === 0) throw new MissingKeyError(owner);
    return versions;
  }

  /**
   * Stores this material as the first version of a digest key, unless the owner has that key already. Returns whether the
   * owner's key is this one. The caller clears the material.
   */
  async adoptDigestKey(owner: KeyOwner, material: Uint8Array): Promise<boolean> {
    if ((await this.#store.find(owner)).length === 0)
      await this.#store.insert(this.#wrapNew(owner, 1, await this.#wrappingKeyFor(owner), Buffer.from(material)).row);
    return (await this.digestKey(owner)).equals(createSecretKey(material));
  }

  /**
   * Generates the keys of a new vault: those of the environments, and digest keys of the service. They are valid once
   * their rows are stored, all in one commit: a key of them that is missing later was therefore removed.
   */
  generateInitialKeys(environments: readonly KeyEnvironment[], digests: readonly KeyOwner[]): InitialKeys {
    const root: SealingKey = { id: ROOT_KEY_ID, key: this.#root };
    const wrapping = environments.map((environment) =>
      this.#generate({ account: '', environment, purpose: 'wrapping' }, 1, root),
    );
    const keys = digests.map((owner) => {
      const above = wrapping.find(({ row }) => row.environment === owner.environment);
      if (above === undefined) throw new Error(`no key of ${owner.environment} is drawn`);
      return this.#generate(owner, 1, above.key);
    });
    return { rows: [...wrapping, ...keys].map(({ row }) => row), digestKeys: keys.map(({ key }) => key.key) };
  }

  /**
   * Unwraps the key of every environment: throws when one is missing, or the root key does not belong to the database.
   */
  async initialize(environments: readonly KeyEnvironment[]): Promise<void> {
    for (const environment of environments) {
      const owner: KeyOwner = { account: '', environment, purpose: 'wrapping' };
      if ((await this.#versions(owner)).length === 0) throw new MissingKeyError(owner);
    }
  }

  /** Returns the version of a key that follows the newest one, wrapped. It is valid once its row is stored. */
  async generateVersion(owner: KeyOwner, newest: WrappedKey): Promise<WrappedKey> {
    // The root key may have been replaced since this process read it: what opens the newest version wraps the next one.
    if (owner.purpose === 'wrapping') (await this.#openUnderRoot(newest)).fill(0);
    return this.#generate(owner, newest.version + 1, await this.#wrappingKeyFor(owner)).row;
  }

  /**
   * Wraps data keys of one environment again. Returns the new bytes of those that are wrapped under an older version of
   * the environment's wrapping key.
   */
  async rewrap(environment: KeyEnvironment, rows: readonly WrappedKey[]): Promise<RewrappedKey[]> {
    const above = await this.#wrappingKey(environment);
    const older = rows.filter(({ wrapped }) => parseKeyId(wrapped) !== above.hexId);
    return Promise.all(
      older.map(async (row) => ({ row, wrapped: this.#wrapAgain(row, await this.#unwrappingKeyFor(row), above) })),
    );
  }

  /** Returns wrapping keys under another root key; all of them have to be stored in one commit. */
  rewrapUnder(root: KeyObject, rows: readonly WrappedKey[]): RewrappedKey[] {
    const above = { id: ROOT_KEY_ID, key: deriveWrappingRoot(root) };
    return rows.map((row) => ({ row, wrapped: this.#wrapAgain(row, this.#root, above) }));
  }

  /** Uses this root key from now on, once what it wraps is stored. */
  replaceRoot(root: KeyObject): void {
    this.#root = deriveWrappingRoot(root);
  }

  /** Drops keys that were destroyed from the memory of this process. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#unwrapped.delete(id);
    this.#versioned.clear();
    for (const known of this.#digests.values()) known.readAt = Number.NEGATIVE_INFINITY;
    for (const [name, { current }] of this.#sealing) if (ids.includes(current.hexId)) this.#sealing.delete(name);
  }

  async #useNonces(owner: KeyOwner, count: number): Promise<UnwrappedKey> {
    const name = nameOf(owner);
    for (;;) {
      const state = this.#sealing.get(name);
      if (state === undefined || state.left < count) await this.#refill(owner, name, count);
      else if (Math.abs(this.#clock() - state.checkedAt) >= LIMITS.keyRefreshMs) await this.#check(owner, name, state);
      else {
        state.left -= count;
        // Reserves ahead of need, so that no request waits for it.
        if (state.left < LIMITS.sealsPerReservation / 4) this.#refill(owner, name, 0).catch(() => undefined);
        return state.current;
      }
    }
  }

  /** Finds out whether another process has added a version, so that a rotation applies on every node within seconds. */
  #check(owner: KeyOwner, name: string, state: SealingState): Promise<void> {
    const running = this.#checks.get(name);
    if (running !== undefined) return running;
    const check = this.#compareWithNewest(owner, name, state).finally(() => this.#checks.delete(name));
    this.#checks.set(name, check);
    return check;
  }

  async #compareWithNewest(owner: KeyOwner, name: string, state: SealingState): Promise<void> {
    const now = this.#clock();
    const newest = (await this.#store.find(owner)).at(-1);
    if (newest?.id === state.current.hexId) state.checkedAt = now;
    else if (this.#sealing.get(name) === state) this.#sealing.delete(name);
  }

  #refill(owner: KeyOwner, name: string, atLeast: number): Promise<void> {
    const running = this.#refills.get(name);
    if (running !== undefined) return running;
    const refill = this.#reserve(owner, name, atLeast).finally(() => this.#refills.delete(name));
    this.#refills.set(name, refill);
    return refill;
  }

  async #reserve(owner: KeyOwner, name: string, atLeast: number): Promise<void> {
    const block = Math.max(atLeast, LIMITS.sealsPerReservation);
    for (;;) {
      const now = this.#clock();
      const rows = await this.#store.find(owner);
      const newest = rows.at(-1);
      if (newest === undefined || newest.reserved + block > LIMITS.sealsPerDataKey) {
        await this.#add(owner, (newest?.version ?? 0) + 1);
        continue;
      }
      if (!(await this.#store.reserve(newest, newest.reserved + block))) continue;
      const current = this.#unwrapped.get(newest.id) ?? (await this.#unwrap(newest));
      const state = this.#sealing.get(name);
      const same = state?.current.hexId === current.hexId;
      this.#sealing.set(name, { current, left: block + (same ? state.left : 0), checkedAt: now });
      return;
    }
  }

  async #versions(owner: KeyOwner): Promise<UnwrappedKey[]> {
    const rows = await this.#store.find(owner);
    return Promise.all(rows.map((row) => this.#unwrapped.get(row.id) ?? this.#unwrap(row)));
  }

  async #loadById(id: string): Promise<UnwrappedKey> {
    const row = await this.#store.findById(id);
    if (row === undefined) throw new UnsealError();
    return this.#unwrap(row);
  }

  /**
   * Adds a version, or returns the one that another process added first. Requests that need it at the same time share one
   * insert: hundreds of them would conflict with each other.
   */
  #add(owner: KeyOwner, version: number): Promise<UnwrappedKey> {
    const name = `${nameOf(owner)} ${version}`;
    const running = this.#additions.get(name);
    if (running !== undefined) return running;
    const addition = this.#insert(owner, version).finally(() => this.#additions.delete(name));
    this.#additions.set(name, addition);
    return addition;
  }

  async #insert(owner: KeyOwner, version: number): Promise<UnwrappedKey> {
    await this.#store.insert(this.#generate(owner, version, await this.#wrappingKeyFor(owner)).row);
    const kept = (await this.#store.find(owner)).find((key) => key.version === version);
    if (kept === undefined) throw new Error('a key that was just added is gone');
    return this.#unwrapped.get(kept.id) ?? this.#unwrap(kept);
  }

  #generate(
    owner: KeyOwner,
    version: number,
    wrapping: SealingKey,
  ): { readonly row: WrappedKey; readonly key: SealingKey } {
    return this.#wrapNew(owner, version, wrapping, this.#random.bytes(DATA_KEY_BYTES));
  }

  /** Clears the material. */
  #wrapNew(
    owner: KeyOwner,
    version: number,
    wrapping: SealingKey,
    material: Uint8Array,
  ): { readonly row: WrappedKey; readonly key: SealingKey } {
    const id = this.#random.bytes(KEY_ID_BYTES);
    const hexId = Buffer.from(id).toString('hex');
    const wrapped = seal(wrapping, this.#random.bytes(NONCE_BYTES), keyContext(owner, version, hexId), material);
    const key = { id: Uint8Array.from(id), key: createSecretKey(material) };
    material.fill(0);
    const times = { createdAt: this.#clock(), destroyedAt: undefined };
    const checkValue = keyCheckValue(key.key);
    return { row: { ...owner, version, id: hexId, wrapped, reserved: 0, checkValue, ...times }, key };
  }

  #wrapAgain(row: WrappedKey, under: KeyObject, above: SealingKey): Uint8Array {
    const context = keyContext(row, row.version, row.id);
    const material = unsealKey(under, context, row);
    const wrapped = seal(above, this.#random.bytes(NONCE_BYTES), context, material);
    material.fill(0);
    return wrapped;
  }

  async #unwrap(row: WrappedKey): Promise<UnwrappedKey> {
    const { account, environment, purpose, version } = row;
    const material = await (purpose === 'wrapping' ? this.#openUnderRoot(row) : this.#openUnderWrappingKey(row));
    const key: UnwrappedKey = {
      owner: { account, environment, purpose },
      version,
      hexId: row.id,
      createdAt: row.createdAt,
      id: Uint8Array.from(Buffer.from(row.id, 'hex')),
      key: createSecretKey(material),
    };
    material.fill(0);
    this.#unwrapped.set(row.id, key);
    return key;
  }

  async #openUnderWrappingKey(row: WrappedKey): Promise<Buffer> {
    return unsealKey(await this.#unwrappingKeyFor(row), keyContext(row, row.version, row.id), row);
  }

  /** The root key may have been replaced since this process read it. */
  async #openUnderRoot(row: WrappedKey): Promise<Buffer> {
    const context = keyContext(row, row.version, row.id);
    try {
      return unsealKey(this.#root, context, row);
    } catch (error) {
      for (const root of await this.#listOtherRoots()) {
        const other = deriveWrappingRoot(root);
        const material = tryUnseal(other, context, row);
        if (material === undefined) continue;
        this.#root = other;
        return material;
      }
      throw error;
    }
  }

  async #wrappingKeyFor(owner: KeyOwner): Promise<SealingKey> {
    return owner.purpose === 'wrapping' ? { id: ROOT_KEY_ID, key: this.#root } : this.#wrappingKey(owner.environment);
  }

  async #unwrappingKeyFor(row: WrappedKey): Promise<KeyObject> {
    if (row.purpose === 'wrapping') return this.#root;
    const id = parseKeyId(row.wrapped);
    return (this.#unwrapped.get(id) ?? (await this.#loadById(id))).key;
  }

  async #wrappingKey(environment: KeyEnvironment): Promise<UnwrappedKey> {
    const owner: KeyOwner = { account: '', environment, purpose: 'wrapping' };
    return (await this.#versions(owner)).at(-1) ?? (await this.#add(owner, 1));
  }
}

const nameOf = (owner: KeyOwner): string => `${owner.account}/${owner.environment}/${owner.purpose}`;
const keyContext = (owner: KeyOwner, version: number, id: string): EncryptionContext =>
  encryptionContext('keys', owner.environment, owner.account, owner.purpose, String(version), id);

/** Derives what wraps the wrapping keys. */
const deriveWrappingRoot = (root: KeyObject): KeyObject => deriveKey(root, 'wrapping');

/** Returns undefined when another root key wraps the key. */
function tryUnseal(root: KeyObject, context: EncryptionContext, row: WrappedKey): Buffer | undefined {
  try {
    return unseal(root, context, row.wrapped);
  } catch {
    return undefined;
  }
}

function unsealKey(wrapping: KeyObject, context: EncryptionContext, row: WrappedKey): Buffer {
  try {
    return unseal(wrapping, context, row.wrapped);
  } catch (cause) {
    throw row.purpose === 'wrapping' ? new WrongRootKeyError() : cause;
  }
}
