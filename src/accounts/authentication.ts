import { hash } from 'node:crypto';
import { AlteredRows } from '../audit/altered-rows.ts';
import { keyedDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, type Random, SECOND } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { Cache } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import { buildNetworkCheck } from './allow-list.ts';
import { type ApiKey, keyStateAt, type StoredKey } from './api-key.ts';
import {
  ACCOUNT_PREFIX,
  findKeyByDigest,
  type KeyWithAccount,
  recordLastUses,
  replaceDigest,
} from './api-key-store.ts';
import { currentDigestKey, loadDigestKeys } from './issue-key.ts';
import { ACCOUNTS, API_KEYS } from './mac-tables.ts';
import type { Permission } from './permission.ts';

/** The reason why a request is denied. The response does not contain it. */
export type DenialReason =
  | 'key_missing'
  | 'key_unknown'
  | 'key_revoked'
  | 'key_expired'
  /** The row of the key was altered in the database. */
  | 'key_altered'
  | 'account_suspended'
  /** The row of the account was altered in the database. */
  | 'account_altered'
  | 'address_not_listed'
  | 'permission_missing';

/** Denials that count as attempts to guess a key. */
export const GUESSING_REASONS: ReadonlySet<DenialReason> = new Set([
  'key_missing',
  'key_unknown',
  'key_revoked',
  'key_expired',
]);

export type AuthenticationResult =
  | {
      readonly key: ApiKey;
      readonly tenant: Tenant;
      /** When the key was used before, milliseconds; undefined when never. */
      readonly previousUseAt: number | undefined;
      readonly denial?: undefined;
    }
  | { readonly key: StoredKey | undefined; readonly denial: DenialReason };

/** Shorter than the 5 seconds within which every change of a key is valid on every node. */
const CACHE_TTL_MS = 2 * SECOND;
const SALT_BYTES = 32;
const MAX_CACHED_KEYS = 10_000;
const MAX_CACHED_ADDRESSES = 1000;

interface CachedKey {
  readonly found: KeyWithAccount;
  readonly tenant: Tenant;
  readonly lastUse: LastUse;
  /** True when the allow-list contains the address. */
  readonly isAllowedFrom: (address: string) => boolean;
}

interface LastUse {
  readonly account: string;
  readonly id: string;
  /** Milliseconds; undefined when the key was never used. */
  at: number | undefined;
  /** True while the time is not stored in the database. */
  isUnsaved: boolean;
}

/** Authenticates the callers of one environment's listener. */
export class Authentication {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #environment: Environment;
  readonly #alteredRows: AlteredRows;
  /** Hashed with each key, so that the names in the cache of this process are of no use elsewhere. */
  readonly #salt: string;
  readonly #cachedKeys: Cache<string, CachedKey | undefined>;
  /** By the id of the key. */
  readonly #lastUses = new Map<string, LastUse>();
  /** Times of use that are not stored yet. */
  readonly #unsavedUses = new Map<string, LastUse>();

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    random: Random;
    environment: Environment;
  }) {
    this.#salt = Buffer.from(options.random.bytes(SALT_BYTES)).toString('base64');
    this.#cachedKeys = new Cache({
      clock: options.clock,
      max: MAX_CACHED_KEYS,
      ttlMs: CACHE_TTL_MS,
      isCacheable: (cached) => cached !== undefined,
    });
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#environment = options.environment;
    this.#alteredRows = new AlteredRows(options);
  }

  /** Returns the result immediately while the key is cached. `address` is the client's, after trusted proxies. */
  authenticate(
    secret: string | undefined,
    address: string,
    permission: Permission,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    if (secret === undefined || secret === '') return { key: undefined, denial: 'key_missing' };
    if (secret.length > LIMITS.apiKeyCharacters) return { key: undefined, denial: 'key_unknown' };
    // The cache is keyed by digest, so that no key stays in memory longer than its request.
    const name = hash('sha256', this.#salt + secret, 'binary');
    const cached = this.#cachedKeys.peek(name);
    if (cached !== undefined) return this.#check(cached, address, permission);
    return this.#cachedKeys
      .get(name, () => this.#load(secret))
      .then((loaded) => this.#check(loaded, address, permission));
  }

  #check(cached: CachedKey | undefined, address: string, permission: Permission): AuthenticationResult {
    if (cached === undefined) return { key: undefined, denial: 'key_unknown' };
    const { found } = cached;
    if (found.isTampered) return { key: found.key, denial: 'key_altered' };
    const { key, accountState } = found;
    const now = this.#clock();
    const state = keyStateAt(key, now);
    if (state !== 'active') return { key, denial: state === 'revoked' ? 'key_revoked' : 'key_expired' };
    if (accountState !== 'active')
      return { key, denial: accountState === 'tampered' ? 'account_altered' : 'account_suspended' };
    if (!cached.isAllowedFrom(address)) return { key, denial: 'address_not_listed' };
    if (!key.permissions.includes(permission)) return { key, denial: 'permission_missing' };
    const { lastUse } = cached;
    const previousUseAt = lastUse.at;
    lastUse.at = now;
    if (!lastUse.isUnsaved) {
      lastUse.isUnsaved = true;
      this.#unsavedUses.set(lastUse.id, lastUse);
    }
    return { key, tenant: cached.tenant, previousUseAt };
  }

  /** Stores the last uses of keys. It is called periodically, because nothing depends on them. */
  async flushLastUses(): Promise<void> {
    if (this.#unsavedUses.size === 0) return;
    const uses = [...this.#unsavedUses.values()].map((use) => {
      use.isUnsaved = false;
      return { account: use.account, id: use.id, at: use.at ?? 0 };
    });
    this.#unsavedUses.clear();
    await this.#database.commit({ writes: [recordLastUses(uses)] });
  }

  /** Returns the last use of a key, also when it is not stored yet or was stored after the key was read. */
  #lastUseOf({ account, id, lastUsedAt }: ApiKey): LastUse {
    const known = this.#lastUses.get(id);
    if (known !== undefined) {
      known.at = latest(known.at, lastUsedAt);
      return known;
    }
    if (this.#lastUses.size >= MAX_CACHED_KEYS) this.#lastUses.clear();
    const lastUse = { account, id, at: lastUsedAt, isUnsaved: false };
    this.#lastUses.set(id, lastUse);
    return lastUse;
  }

  /** Looks for the digest under every version of its key, and replaces one of a former version. */
  async #find(secret: string): Promise<KeyWithAccount | undefined> {
    const macKey = await rowMacKey(this.#keyring);
    const keys = await loadDigestKeys(this.#keyring, this.#environment);
    for (const { key, version } of keys) {
      const found = await findKeyByDigest(this.#database, macKey, keyedDigest(key, secret));
      if (found === undefined) continue;
      const current = currentDigestKey(keys, this.#clock());
      if (version < current.version && !found.isTampered && keyStateAt(found.key, this.#clock()) === 'active') {
        const digest = { bytes: keyedDigest(current.key, secret), version: current.version };
        const { account } = found.key;
        // The next request does it when this one cannot.
        await this.#database.commit({ account, writes: [replaceDigest(macKey, found, digest)] }).catch(() => undefined);
      }
      return found;
    }
    // Another process may have replaced the digest between the two searches.
    const [newest] = keys;
    if (newest === undefined || keys.length === 1) return undefined;
    return findKeyByDigest(this.#database, macKey, keyedDigest(newest.key, secret));
  }

  async #load(secret: string): Promise<CachedKey | undefined> {
    const environment = this.#environment;
    const found = await this.#find(secret);
    // A digest contains the environment: a row with another one was moved there, which its MAC shows.
    if (found === undefined || (!found.isTampered && found.key.environment !== environment)) return undefined;
    if (found.isTampered) await this.#alteredRows.report(API_KEYS, found.row);
    if (found.accountState === 'tampered') await this.#alteredRows.report(ACCOUNTS, found.joinedRow, ACCOUNT_PREFIX);
    if (found.isTampered) {
      const lastUse = { account: '', id: found.key.id, at: undefined, isUnsaved: false };
      return { found, tenant: { account: '', environment }, lastUse, isAllowedFrom: () => false };
    }
    const tenant = { account: found.key.account, environment };
    const isAllowedFrom = buildAddressCheck(found.key, this.#clock);
    return { found, tenant, lastUse: this.#lastUseOf(found.key), isAllowedFrom };
  }
}

const latest = (one: number | undefined, other: number | undefined): number | undefined =>
  other === undefined || (one !== undefined && one >= other) ? one : other;

/** Parses the allow-list once, and remembers the results: a client sends many requests from one address. */
function buildAddressCheck({ allowList }: ApiKey, clock: Clock): (address: string) => boolean {
  const isListed = buildNetworkCheck(allowList.map(({ cidr }) => cidr));
  const results = new Cache<string, boolean>({
    clock,
    max: MAX_CACHED_ADDRESSES,
    ttlMs: Number.POSITIVE_INFINITY,
  });
  return (address) => {
    let result = results.peek(address);
    if (result === undefined) {
      result = isListed(address);
      results.set(address, result);
    }
    return result;
  };
}
