import type { KeyObject } from 'node:crypto';
import { LIMITS } from '../kernel/limits.ts';
import { fingerprint, isSameDigest, keyedDigest } from './fingerprint.ts';

/** One version of a key for keyed digests. */
export interface DigestKey {
  readonly version: number;
  readonly key: KeyObject;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
}

/** Returns the byte that names a version at the start of a digest. Of 256 versions in a row, all but the newest are destroyed long since. */
export const versionByte = (version: number): number => version & 0xff;

/** Returns a digest behind the byte that names the version of its key. */
export function withVersion({ version }: Pick<DigestKey, 'version'>, digest: Uint8Array): Uint8Array {
  const named = new Uint8Array(digest.length + 1);
  named[0] = versionByte(version);
  named.set(digest, 1);
  return named;
}

/**
 * The versions of a key for keyed digests and MACs, while it may be rotated. A stored digest begins with a byte that names its
 * version, as a ciphertext names its key. Digests of all versions are accepted, and a new version makes digests
 * `digestHandoverMs` after it was added, when every process knows it. `Keyring` updates the versions of an object that is
 * used for long.
 */
export class DigestKeys {
  #versions: readonly DigestKey[] = [];
  #current: DigestKey | undefined;
  #revision = 0;
  readonly #update: () => Promise<void> | undefined;

  /** `update`: reads the versions again when they may have changed; undefined while they were read recently. */
  constructor(update: () => Promise<void> | undefined = () => undefined) {
    this.#update = update;
  }

  /** Returns a key with one version, which is never rotated. */
  static of(key: KeyObject): DigestKeys {
    const keys = new DigestKeys();
    keys.replace([{ version: 1, key, createdAt: 0 }], 1);
    return keys;
  }

  /** `versions`: all that exist; `current`: the number of the one that makes new digests. */
  replace(versions: readonly DigestKey[], current: number): void {
    const ids = (all: readonly DigestKey[]): string => all.map(({ version }) => version).join();
    if (current !== this.#current?.version || ids(versions) !== ids(this.#versions)) this.#revision++;
    this.#versions = versions;
    this.#current = versions.find(({ version }) => version === current);
  }

  /** Resolves when the versions are those of the last seconds. Await it before a use that follows a pause. */
  async refresh(): Promise<this> {
    await this.#update();
    return this;
  }

  /** Begins to read the versions again when that is due; undefined when nothing has to be awaited. */
  refreshSoon(): Promise<void> | undefined {
    return this.#update();
  }

  /** Changes when a version is added, destroyed, or becomes the one that makes new digests. */
  get revision(): number {
    return this.#revision;
  }

  /** The version that makes new digests. */
  get current(): DigestKey {
    if (this.#current === undefined) throw new Error('the versions of a key are used before they are read');
    return this.#current;
  }

  /** All versions, the current one first. */
  get versions(): readonly DigestKey[] {
    const { current } = this;
    return [current, ...this.#versions.filter(({ version }) => version !== current.version)];
  }

  /** Returns a new digest: the byte of the version, and HMAC-SHA-256. */
  digest(data: string | Uint8Array): Uint8Array {
    return withVersion(this.current, keyedDigest(this.current.key, data));
  }

  /** Returns what a stored digest of the data may be, the usual one first. */
  listDigests(data: string | Uint8Array): Uint8Array[] {
    return this.versions.map((each) => withVersion(each, keyedDigest(each.key, data)));
  }

  /** Does the same for digests of which the first 128 bits are stored. */
  listFingerprints(text: string): Uint8Array[] {
    return this.versions.map((each) => withVersion(each, fingerprint(each.key, text)));
  }

  /** True when a stored digest is that of the data, under the version that it names. Takes the same time wherever they differ. */
  isValid(data: string | Uint8Array, stored: Uint8Array): boolean {
    const named = this.#versions.find(({ version }) => versionByte(version) === stored[0]);
    return named !== undefined && isSameDigest(withVersion(named, keyedDigest(named.key, data)), stored);
  }
}

/** Returns the number of the newest version that every process knows. `versions`: at least one, the newest first. */
export function chooseCurrent(versions: readonly DigestKey[], now: number): number {
  const current = versions.find(({ createdAt }) => now - createdAt >= LIMITS.digestHandoverMs) ?? versions.at(-1);
  if (current === undefined) throw new Error('a key for digests has no version');
  return current.version;
}
