import type { Environment } from '../kernel/environment.ts';

/** What a key is for. */
export type Purpose =
  | 'wrapping'
  | 'tokens'
  | 'token-tags'
  | 'token-halves'
  | 'captures'
  | 'sensitive-authentication-data'
  | 'fingerprints'
  | 'idempotency'
  | 'row-macs'
  | 'api-keys'
  | 'proxy'
  | 'payments'
  | 'journal'
  | 'people'
  | 'people-digests'
  | 'clock'
  | 'requests';

/** Keys of the service itself belong to no environment. */
export type KeyEnvironment = Environment | 'service';

/** Whose key it is: a tenant's, or one of the service. */
export interface KeyScope {
  /** Empty for keys that belong to a whole environment. */
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
  /** How many seals processes have set aside for themselves so far. */
  readonly reserved: number;
  readonly createdAt: number;
}

/** Where wrapped keys are kept. */
export interface WrappedKeyStore {
  find(owner: KeyOwner): Promise<WrappedKey[]>;
  findById(id: string): Promise<WrappedKey | undefined>;
  /** False when this version exists already. */
  insert(key: WrappedKey): Promise<boolean>;
  /** Compare-and-set of `reserved`; false when another process was first. */
  reserve(key: WrappedKey, to: number): Promise<boolean>;
}
