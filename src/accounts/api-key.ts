import type { Random } from '../kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from '../kernel/environment.ts';
import type { AllowedNetwork } from './allow-list.ts';
import type { Permission } from './permission.ts';

interface KeyFields {
  readonly id: string;
  readonly account: string;
  /** The readable start of the key, by which users distinguish keys. */
  readonly prefix: string;
  readonly name: string;
  readonly description: string;
  readonly permissions: readonly Permission[];
  readonly allowList: readonly AllowedNetwork[];
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  readonly lastUsedAt: number | undefined;
  /** The id of the key that replaces this one after a rotation. */
  readonly successor: string | undefined;
  /** Increases with every change, so that no change overwrites another unnoticed. */
  readonly revision: number;
}

/** A key whose row has a valid MAC. */
export interface ApiKey extends KeyFields {
  readonly isTampered: false;
  readonly environment: Environment;
}

/**
 * A key whose row was altered in the database. Its fields are what the row claims, to name it in lists: it is rejected
 * everywhere, and can only be revoked.
 */
export interface TamperedKey extends KeyFields {
  readonly isTampered: true;
  /** The environment that the row claims. */
  readonly environment: string;
}

export type StoredKey = ApiKey | TamperedKey;

const SECRET_BYTES = 32;
const PREFIX_CHARACTERS = 4;

/** Creates a secret: 256 random bits behind a prefix that names the environment, `cv_sandbox_…`. */
export const generateSecret = (environment: Environment, random: Random): string =>
  `cv_${environment}_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url')}`;

export const toPrefix = (secret: string): string => {
  const environment = ENVIRONMENTS.find((name) => secret.startsWith(`cv_${name}_`)) ?? '';
  return secret.slice(0, `cv_${environment}_`.length + PREFIX_CHARACTERS);
};

type KeyState = 'active' | 'expired' | 'revoked' | 'altered';

export function keyStateAt(key: Pick<StoredKey, 'isTampered' | 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (key.isTampered) return 'altered';
  // Regardless of the clock: that of the machine that revoked the key may be ahead of this one.
  if (key.revokedAt !== undefined) return 'revoked';
  if (key.expiresAt !== undefined && key.expiresAt <= now) return 'expired';
  return 'active';
}
