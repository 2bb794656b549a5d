import type { KeyObject } from 'node:crypto';
import type { DigestKey } from '../crypto/digest-keys.ts';
import { fingerprint } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Database } from '../storage/database.ts';
import { findRotation, type Rotation } from '../storage/key-rotation-store.ts';

/**
 * Fingerprints of card numbers while their key is replaced. A persistent token claims its card by a unique fingerprint, so two
 * processes may never claim one card under two different keys alone. A rotation has three phases, and a row has room for two
 * fingerprints (`fingerprint`, `next_fingerprint`), each of them unique:
 *
 * | Phase | New rows claim | Work on all rows |
 * |---|---|---|
 * | 0, none | former, none | |
 * | 1 | former, new | adds the new one as the second |
 * | 2 | new, new | makes the new one the first |
 * | 3 | new, none | removes the second |
 *
 * Rows of neighboring phases have a claim in common, in the same column: the database lets one of them in. A phase begins when the
 * work of the one before it is complete, and lasts long enough that no process is two phases behind.
 */
export type Phase = 0 | 1 | 2 | 3;

/** The fingerprints of a new row. */
export interface Claims {
  readonly first: Uint8Array;
  readonly second: Uint8Array | null;
  readonly version: number;
}

export class FingerprintKeys {
  readonly phase: Phase;
  /** The newest version that is in use. */
  readonly current: DigestKey;
  /** The one that it replaces, while both are in use. */
  readonly former: DigestKey | undefined;

  constructor(phase: Phase, current: DigestKey, former: DigestKey | undefined) {
    this.phase = phase;
    this.current = current;
    this.former = former;
  }

  claims(number: string): Claims {
    const { phase, current, former } = this;
    const next = digest(current.key, number);
    if (phase === 1 && former !== undefined)
      return { first: digest(former.key, number), second: next, version: former.version };
    return { first: next, second: phase === 2 ? next : null, version: current.version };
  }

  /** Returns what `fingerprint` of a row may be, the usual one first. */
  firsts(number: string): Uint8Array[] {
    const { phase, current, former } = this;
    const next = digest(current.key, number);
    if (former === undefined || phase === 0 || phase === 3) return [next];
    return [digest(former.key, number), next];
  }

  /** Returns what `next_fingerprint` of a row may be; undefined while there is none. */
  second(number: string): Uint8Array | undefined {
    return this.phase === 1 || this.phase === 2 ? digest(this.current.key, number) : undefined;
  }
}

const digest = (key: KeyObject, number: string): Uint8Array => fingerprint(key, number);

/** Loads the keys of a tenant's fingerprints, and how far their rotation is. */
export async function loadFingerprintKeys(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
): Promise<FingerprintKeys> {
  const owner = { ...tenant, purpose: 'fingerprints' } as const;
  const rotation = await findRotation(database, owner);
  const keys = await keyring.digestKeys(owner, rotation?.version);
  const current = rotation === undefined ? keys.at(-1) : keys.find(({ version }) => version === rotation.version);
  if (current === undefined) throw new Error('the key of fingerprints is gone');
  return new FingerprintKeys(
    phaseOf(rotation),
    current,
    keys.find(({ version }) => version < current.version),
  );
}

function phaseOf(rotation: Rotation | undefined): Phase {
  if (rotation === undefined || rotation.finishedAt !== undefined) return 0;
  return rotation.phase === 1 || rotation.phase === 2 ? rotation.phase : 3;
}
