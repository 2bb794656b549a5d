import type { Environment } from '../kernel/environment.ts';

/** A key for the sensitive authentication data of captures that expire within one hour, wrapped by the keyring. */
export interface WrappedSadKey {
  readonly environment: Environment;
  /** Hours since 1970. */
  readonly period: number;
  /** Hexadecimal. */
  readonly id: string;
  readonly wrapped: Uint8Array;
  /** Since when nothing new is sealed with it; the period gets another key when it needs one. */
  readonly closedAt: number | undefined;
}

/**
 * Stores wrapped keys outside of what is backed up, so that a backup does not hold the means to open the sensitive
 * authentication data in it. All writes are durable when they resolve. Throws `StorageError`.
 */
export interface SadKeyStore {
  findOpen(environment: Environment, period: number): Promise<WrappedSadKey | undefined>;
  findById(id: string): Promise<WrappedSadKey | undefined>;
  /** In no order; what is damaged is left out. */
  list(): Promise<WrappedSadKey[]>;
  /** False when another key of this id exists, or another open one of this period. */
  insert(key: WrappedSadKey): Promise<boolean>;
  close(key: WrappedSadKey, at: number): Promise<void>;
  /** Overwrites the key where the storage can. */
  destroy(key: WrappedSadKey): Promise<void>;
}
