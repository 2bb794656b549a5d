import type { Environment } from '../kernel/environment.ts';

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
