import { createSecretKey, type KeyObject } from 'node:crypto';
import { HOUR, type Random, SECOND } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { expandKey, extractKey } from './custody.ts';
import type { Keyring } from './keyring.ts';
import {
  type EncryptionContext,
  encryptionContext,
  KEY_ID_BYTES,
  NONCE_BYTES,
  parseKeyId,
  seal,
  UnsealError,
  unseal,
} from './seal.ts';

const KEY_BYTES = 32;
/** How long a process seals with a key before it checks again that the key is still open. */
const REFRESH_AFTER_MS = 2 * SECOND;
/** How long a closed key remains for captures whose commit is in progress. */
const GRACE_MS = 30 * SECOND;
/** A capture that was not committed within this time does not rely on the grace period. */
const LATE_AFTER_MS = GRACE_MS / 3;

/**
 * A key for the sensitive authentication data (SAD) of captures that expire within one hour, wrapped by the keyring.
 */
export interface WrappedSadKey {
  readonly environment: Environment;
  /** Hours since 1970. */
  readonly period: number;
  /** Hexadecimal. */
  readonly id: string;
  readonly wrapped: Uint8Array;
  /** Time since which the key seals nothing new; the period gets another key when it needs one. */
  readonly closedAt: number | undefined;
}

/**
 * Stores wrapped keys outside of the backed-up data, so that no backup contains both the SAD and its keys. All writes
 * are durable when they resolve. Throws `StorageError`.
 */
export interface SadKeyStore {
  findOpen(environment: Environment, period: number): Promise<WrappedSadKey | undefined>;
  findById(id: string): Promise<WrappedSadKey | undefined>;
  /** Lists the keys in no order, without the damaged ones. */
  list(): Promise<WrappedSadKey[]>;
  /** False when another key of this id exists, or another open one of this period. */
  insert(key: WrappedSadKey): Promise<boolean>;
  close(key: WrappedSadKey, at: number): Promise<void>;
  /** Overwrites the key where the storage can. */
  destroy(key: WrappedSadKey): Promise<void>;
}

/** A key with the hour of expiry that it belongs to: Unix times in milliseconds, `to` is exclusive. */
export interface SadKeyPeriod {
  readonly environment: Environment;
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

const toPeriod = ({ environment, id, period }: WrappedSadKey): SadKeyPeriod => ({
  environment,
  id,
  from: period * HOUR,
  to: (period + 1) * HOUR,
});

/** Sealed sensitive authentication data (SAD) as it is stored. */
export interface SealedSad {
  readonly bytes: Uint8Array;
  /** The id of the period's key, hexadecimal. */
  readonly keyId: string;
  /** Time at which the key of the period was last known to be open. */
  readonly keyOpenAt: number;
}

/** SAD to seal, and the time at which its capture expires. */
interface SadToSeal {
  readonly environment: Environment;
  readonly expiresAt: number;
  readonly context: EncryptionContext;
  readonly plaintext: string;
}

interface UnwrappedKey {
  readonly id: string;
  /** The extracted key, from which the keys of captures are expanded. */
  readonly key: KeyObject;
}

interface CurrentKey extends UnwrappedKey {
  readonly readAt: number;
}

/**
 * Keys of hours of expiry, called periods. Captures of one environment that expire in the same hour share a key. Each
 * capture is sealed under a key that is derived from it, so that no number of captures exhausts the period's key, and
 * the derived key of one account unseals nothing of another. The key of the period is destroyed after its last capture
 * has expired or was erased. What a backup, an archive or a copy of the write-ahead log still contains of these
 * captures can then no longer be unsealed.
 *
 * A key that no capture names is closed first. It is destroyed after a grace period that is longer than any process
 * relies on what it read of the key. So a key can be destroyed before its period ends, while nodes continue to create
 * captures.
 */
export class SadKeys {
  readonly #keyring: Keyring;
  readonly #store: SadKeyStore;
  readonly #time: TrustedTime;
  readonly #random: Random;
  /** By environment and period. */
  readonly #current = new Map<string, Promise<CurrentKey>>();
  readonly #unwrapped = new Map<string, KeyObject>();

  constructor(options: { keyring: Keyring; store: SadKeyStore; time: TrustedTime; random: Random }) {
    this.#keyring = options.keyring;
    this.#store = options.store;
    this.#time = options.time;
    this.#random = options.random;
  }

  /** The key of the period is durable before this resolves. */
  async seal({ environment, expiresAt, context, plaintext }: SadToSeal): Promise<SealedSad> {
    const { id, key, readAt } = await this.#currentKey(environment, periodOf(expiresAt));
    const own = { id: Buffer.from(id, 'hex'), key: expandKey(key, context) };
    const bytes = seal(own, this.#random.bytes(NONCE_BYTES), context, plaintext);
    return { bytes, keyId: id, keyOpenAt: readAt };
  }

  /** Undefined when the key is missing: it was destroyed, or the database comes from a backup. Throws `UnsealError`. */
  async unseal(context: EncryptionContext, sealed: Uint8Array): Promise<Buffer | undefined> {
    const key = await this.#loadById(parseKeyId(sealed));
    return key && unseal(expandKey(key, context), context, sealed);
  }

  /** True when the key that the sealed SAD names is present and intact. */
  async canUnseal(sealed: Uint8Array): Promise<boolean> {
    try {
      return (await this.#loadById(parseKeyId(sealed))) !== undefined;
    } catch (error) {
      if (error instanceof UnsealError) return false;
      throw error;
    }
  }

  /**
   * Call once the capture is committed. True when the commit took so long that the key may have been closed and
   * destroyed in the meantime; the SAD must then be sealed again.
   */
  async mayBeDestroyed({ keyId, keyOpenAt }: SealedSad, environment: Environment, expiresAt: number): Promise<boolean> {
    const now = this.#time.steadyNow();
    if (Math.abs(now - keyOpenAt) < LATE_AFTER_MS || now >= expiresAt) return false;
    return (await this.#store.findOpen(environment, periodOf(expiresAt)))?.id !== keyId;
  }

  /**
   * Closes and destroys keys that no capture names at this trusted time; returns how many were destroyed. `listUsed` is
   * called for the ids that captures name after the keys were read, so that a new key is never mistaken for an unused
   * one. `onDestroy` is called before each destruction, and again when the process ended between the two.
   */
  async destroyUnused(
    now: number,
    listUsed: () => Promise<ReadonlySet<string>>,
    onDestroy: (key: SadKeyPeriod) => Promise<void> = () => Promise.resolve(),
  ): Promise<number> {
    const keys = await this.#store.list();
    const used = keys.length === 0 ? new Set<string>() : await listUsed();
    let destroyed = 0;
    for (const key of keys.filter(({ id }) => !used.has(id))) {
      // Nothing is sealed with the key of a past period, but a commit that started in it may still be in progress.
      const unusedSince = Math.min(key.closedAt ?? Number.POSITIVE_INFINITY, (key.period + 1) * HOUR);
      if (now - unusedSince >= GRACE_MS) {
        await onDestroy(toPeriod(key));
        await this.#store.destroy(key);
        this.#forget(key);
        destroyed++;
      } else if (key.closedAt === undefined && now < unusedSince) {
        await this.#store.close(key, now);
        this.#forget(key);
      }
    }
    return destroyed;
  }

  /**
   * Closes the keys of an environment, because the key above them was replaced: captures get new keys, which the newest
   * version wraps. The closed ones are destroyed with their captures.
   */
  async closeAll(environment: Environment): Promise<void> {
    const at = this.#time.steadyNow();
    for (const key of await this.#store.list()) {
      if (key.environment !== environment || key.closedAt !== undefined) continue;
      await this.#store.close(key, at);
      this.#forget(key);
    }
  }

  /** Counts keys of an environment by the hexadecimal id of the version that wraps them. */
  async countByWrappingKey(environment: Environment): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { environment: each, wrapped } of await this.#store.list()) {
      if (each !== environment) continue;
      const id = parseKeyId(wrapped);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  /** True while a key exists for captures that expire in the hour of this time. */
  async hasKeyOf(environment: Environment, expiresAt: number): Promise<boolean> {
    const period = periodOf(expiresAt);
    return (await this.#store.list()).some((key) => key.environment === environment && key.period === period);
  }

  /** Returns how many of these ids name a missing key. */
  async countMissing(ids: ReadonlySet<string>): Promise<number> {
    if (ids.size === 0) return 0;
    const present = await this.#listIds();
    return [...ids].filter((id) => !present.has(id)).length;
  }

  /**
   * Forgets keys that another thread or node has destroyed. Call it every few seconds, or this process can still unseal what
   * the others no longer can.
   */
  async forgetDestroyed(): Promise<void> {
    if (this.#unwrapped.size === 0) return;
    const present = await this.#listIds();
    const destroyed = [...this.#unwrapped.keys()].filter((id) => !present.has(id));
    for (const id of destroyed) this.#unwrapped.delete(id);
    // The current keys hold them, too; the others are read again within seconds in any case.
    if (destroyed.length > 0) this.#current.clear();
  }

  async #listIds(): Promise<ReadonlySet<string>> {
    return new Set((await this.#store.list()).map(({ id }) => id));
  }

  #forget({ environment, period, id }: WrappedSadKey): void {
    this.#current.delete(nameOf(environment, period));
    this.#unwrapped.delete(id);
  }

  /** Reads once at a time for each period, whatever number of captures waits for it. */
  async #currentKey(environment: Environment, period: number): Promise<CurrentKey> {
    const name = nameOf(environment, period);
    const known = this.#current.get(name);
    if (known !== undefined) {
      const current = await known;
      if (Math.abs(this.#time.steadyNow() - current.readAt) < REFRESH_AFTER_MS) return current;
      // Another caller may be reading already.
      if (this.#current.get(name) === known) this.#current.delete(name);
      return this.#currentKey(environment, period);
    }
    if (this.#current.size >= LIMITS.sadKeysInMemory) this.#current.clear();
    const asked = this.#findOrCreate(environment, period);
    this.#current.set(name, asked);
    asked.catch(() => this.#current.get(name) === asked && this.#current.delete(name));
    return asked;
  }

  /** The first process to store a key for a period wins; a key that cannot be unsealed is closed and replaced. */
  async #findOrCreate(environment: Environment, period: number): Promise<CurrentKey> {
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const readAt = this.#time.steadyNow();
      const stored = await this.#store.findOpen(environment, period);
      if (stored === undefined) {
        await this.#create(environment, period);
        continue;
      }
      try {
        const key = this.#unwrapped.get(stored.id) ?? (await this.#unwrap(stored));
        return { id: stored.id, key, readAt };
      } catch (error) {
        if (!(error instanceof UnsealError)) throw error;
        await this.#store.close(stored, readAt);
      }
    }
    throw new Error('the key of a period is closed as often as it is made');
  }

  async #create(environment: Environment, period: number): Promise<void> {
    const id = Buffer.from(this.#random.bytes(KEY_ID_BYTES)).toString('hex');
    const material = this.#random.bytes(KEY_BYTES);
    const sealOne = await this.#keyring.sealer(scopeOf(environment), PURPOSE, 1);
    const wrapped = sealOne(keyContext({ environment, period, id }), material);
    material.fill(0);
    await this.#store.insert({ environment, period, id, wrapped, closedAt: undefined });
  }

  async #loadById(id: string): Promise<KeyObject | undefined> {
    const known = this.#unwrapped.get(id);
    if (known !== undefined) return known;
    const stored = await this.#store.findById(id);
    return stored && this.#unwrap(stored);
  }

  async #unwrap(stored: WrappedSadKey): Promise<KeyObject> {
    const { environment, id, wrapped } = stored;
    const material = await this.#keyring.unseal(scopeOf(environment), PURPOSE, keyContext(stored), wrapped);
    const key = extractKey(createSecretKey(material));
    material.fill(0);
    if (this.#unwrapped.size >= LIMITS.sadKeysInMemory) this.#unwrapped.clear();
    this.#unwrapped.set(id, key);
    return key;
  }
}

const PURPOSE = 'sensitive-authentication-data';
const scopeOf = (environment: Environment) => ({ account: '', environment });

const periodOf = (expiresAt: number): number => Math.floor(expiresAt / HOUR);
const nameOf = (environment: Environment, period: number): string => `${environment}/${period}`;

const keyContext = ({
  environment,
  period,
  id,
}: Pick<WrappedSadKey, 'environment' | 'period' | 'id'>): EncryptionContext =>
  encryptionContext('sad-keys', environment, String(period), id);
