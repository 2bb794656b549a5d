import type { Environment } from '../kernel/environment.ts';

/** The purpose of a key. */
export type Purpose =
  | 'wrapping'
  | 'tokens'
  | 'token-tags'
  | 'token-halves'
  | 'captures'
  | 'sensitive-authentication-data'
  | 'fingerprints'
  | 'pan-indexes'
  | 'idempotency'
  | 'idempotency-digests'
  | 'row-macs'
  | 'api-keys'
  | 'proxy'
  | 'payments'
  | 'journal'
  | 'signing'
  | 'people'
  | 'people-digests'
  | 'clock'
  | 'requests'
  | 'webhooks'
  | 'capture-sessions'
  | 'imports';

/** Keys of the service itself belong to no environment. */
export type KeyEnvironment = Environment | 'service';

/** The owner of a key: a tenant, or the service. */
export interface KeyScope {
  /** Empty for keys that belong to an entire environment. */
  readonly account: string;
  readonly environment: KeyEnvironment;
}

export interface KeyOwner extends KeyScope {
  readonly purpose: Purpose;
}

export interface WrappedKey extends KeyOwner {
  readonly version: number;
  /** Hexadecimal. */
  readonly id: string;
  readonly wrapped: Uint8Array;
  /** Number of seals that processes have reserved so far. */
  readonly reserved: number;
  /** See `keyCheckValue`; it remains after the destruction of the key. */
  readonly checkValue: string;
  readonly createdAt: number;
  /** Time of its destruction; the row then contains no key. */
  readonly destroyedAt: number | undefined;
}

/** Stores wrapped keys. Destroyed keys are not found. */
export interface WrappedKeyStore {
  /** Lists the versions of a key, the oldest first. */
  find(owner: KeyOwner): Promise<WrappedKey[]>;
  findById(id: string): Promise<WrappedKey | undefined>;
  /** False when this version exists already. */
  insert(key: WrappedKey): Promise<boolean>;
  /** Compare-and-set of `reserved`; false when another process was first. */
  reserve(key: WrappedKey, to: number): Promise<boolean>;
}
