import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock, Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { deriveKey } from './custody.ts';
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

/** Keys that are not stored yet. */
interface InitialKeys {
  readonly rows: readonly WrappedKey[];
  /** In the order of the owners. */
  readonly digestKeys: readonly KeyObject[];
}

/**
 * The hierarchy of keys. The root key wraps one key-encrypting key per environment and one for the service itself. They
 * wrap the data keys, one per account, environment and purpose, each with versions. Ciphertexts name their key by id,
 * so a new version replaces an older one without changing what that one sealed.
 */
export class Keyring {
  readonly #root: KeyObject;
  readonly #store: WrappedKeyStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #unwrapped = new Map<string, UnwrappedKey>();
  readonly #sealing = new Map<string, SealingState>();
  readonly #refills = new Map<string, Promise<void>>();
  readonly #unversioned = new Map<string, KeyObject>();

  constructor(options: { root: KeyObject; store: WrappedKeyStore; clock: Clock; random: Random }) {
    this.#root = deriveKey(options.root, 'wrapping');
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

  async #useNonces(owner: KeyOwner, count: number): Promise<UnwrappedKey> {
    const name = nameOf(owner);
    let state = this.#sealing.get(name);
    while (state === undefined || state.left < count) {
      await this.#refill(owner, name, count);
      state = this.#sealing.get(name);
    }
    state.left -= count;
    // Reserves ahead of need, so that no request waits for it.
    if (state.left < LIMITS.sealsPerReservation / 4) this.#refill(owner, name, 0).catch(() => undefined);
    return state.current;
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
      this.#sealing.set(name, { current, left: block + (same ? state.left : 0) });
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

  /** Adds a version, or returns the one that another process added first. */
  async #add(owner: KeyOwner, version: number): Promise<UnwrappedKey> {
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
    return { row: { ...owner, version, id: hexId, wrapped, reserved: 0, createdAt: this.#clock() }, key };
  }

  async #unwrap(row: WrappedKey): Promise<UnwrappedKey> {
    const { account, environment, purpose, version } = row;
    const wrapping = await this.#unwrappingKeyFor(row);
    const material = unsealKey(wrapping, keyContext(row, version, row.id), row);
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

function unsealKey(wrapping: KeyObject, context: EncryptionContext, row: WrappedKey): Buffer {
  try {
    return unseal(wrapping, context, row.wrapped);
  } catch (cause) {
    throw row.purpose === 'wrapping' ? new WrongRootKeyError() : cause;
  }
}
