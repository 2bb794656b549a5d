import { hash } from 'node:crypto';
import { AlteredRows } from '../audit/altered-rows.ts';
import { keyedDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, type Random, SECOND } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import { isAllowed } from './allow-list.ts';
import { type ApiKey, keyState, type StoredKey } from './api-key.ts';
import { ACCOUNT_PREFIX, type FoundKey, findKeyByDigest, noteUses } from './key-store.ts';
import { ACCOUNTS, API_KEYS } from './mac-tables.ts';
import { keysDigestKey } from './new-key.ts';
import type { Permission } from './permission.ts';

/** Why a request is refused. The caller learns none of it. */
export type Refusal =
  | 'key_missing'
  | 'key_unknown'
  | 'key_revoked'
  | 'key_expired'
  /** Somebody changed the key in the database itself. */
  | 'key_altered'
  | 'account_suspended'
  /** The row of the account was changed in the database itself. */
  | 'account_altered'
  | 'address_not_listed'
  | 'permission_missing';

/** Refusals that count as guessing at keys. */
export const GUESSES: ReadonlySet<Refusal> = new Set(['key_missing', 'key_unknown', 'key_revoked', 'key_expired']);

export type Verdict =
  | { readonly key: ApiKey; readonly tenant: Tenant; readonly refusal?: undefined }
  | { readonly key: StoredKey | undefined; readonly refusal: Refusal };

/** Shorter than the 5 seconds within which every change of a key holds everywhere. */
const REMEMBERED_MS = 2 * SECOND;
const SALT_BYTES = 32;
const REMEMBERED_KEYS = 10_000;
const REMEMBERED_ADDRESSES = 1000;

interface Remembered {
  readonly found: FoundKey;
  readonly readAt: number;
  readonly addresses: Map<string, boolean>;
}

/** Tells who calls, on one environment's listener. */
export class Authentication {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #environment: Environment;
  readonly #alteredRows: AlteredRows;
  /** Of this process alone. */
  readonly #salt: string;
  readonly #remembered = new Map<string, Remembered>();
  /** Not in the database yet. */
  readonly #uses = new Map<string, { account: string; id: string; at: number }>();
  readonly #lastUses = new Map<string, number>();

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    random: Random;
    environment: Environment;
  }) {
    this.#salt = Buffer.from(options.random.bytes(SALT_BYTES)).toString('base64');
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#environment = options.environment;
    this.#alteredRows = new AlteredRows(options);
  }

  /** `address` is where the request comes from, after trusted proxies. */
  async authenticate(secret: string | undefined, address: string, permission: Permission): Promise<Verdict> {
    if (secret === undefined || secret === '') return { key: undefined, refusal: 'key_missing' };
    const remembered = await this.#find(secret);
    if (remembered === undefined) return { key: undefined, refusal: 'key_unknown' };
    const { found } = remembered;
    if (found.isTampered) return { key: found.key, refusal: 'key_altered' };
    const { key, accountState } = found;
    const now = this.#clock();
    const state = keyState(key, now);
    if (state !== 'active') return { key, refusal: state === 'revoked' ? 'key_revoked' : 'key_expired' };
    if (accountState !== 'active')
      return { key, refusal: accountState === 'tampered' ? 'account_altered' : 'account_suspended' };
    if (!allowedFrom(key, remembered.addresses, address)) return { key, refusal: 'address_not_listed' };
    if (!key.permissions.includes(permission)) return { key, refusal: 'permission_missing' };
    // Uses that are not in the database yet, or were not when the key was read, count too.
    const lastUsedAt = this.#lastUses.get(key.id) ?? key.lastUsedAt;
    this.#uses.set(key.id, { account: key.account, id: key.id, at: now });
    if (this.#lastUses.size >= REMEMBERED_KEYS) this.#lastUses.clear();
    this.#lastUses.set(key.id, now);
    return {
      key: lastUsedAt === key.lastUsedAt ? key : { ...key, lastUsedAt },
      tenant: { account: key.account, environment: key.environment },
    };
  }

  /** Writes the last uses of keys; called now and then, because nothing depends on them. */
  async flushUses(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses.values()];
    this.#uses.clear();
    await this.#database.commit({ writes: [noteUses(uses)] });
  }

  async #find(secret: string): Promise<Remembered | undefined> {
    if (secret.length > LIMITS.apiKeyCharacters) return undefined;
    // Remembered under a digest too, so that no key lies in memory for longer than its request.
    const name = hash('sha256', this.#salt + secret, 'base64');
    const known = this.#remembered.get(name);
    const now = this.#clock();
    if (known !== undefined && now - known.readAt < REMEMBERED_MS && now >= known.readAt) return known;
    const environment = this.#environment;
    const digestKey = await keysDigestKey(this.#keyring, environment);
    const digest = keyedDigest(digestKey, secret);
    const found = await findKeyByDigest(this.#database, await rowMacKey(this.#keyring), digest);
    // A digest is of one environment: a row in another one was moved there, which its MAC shows.
    if (found === undefined || (!found.isTampered && found.key.environment !== environment)) {
      this.#remembered.delete(name);
      return undefined;
    }
    if (found.isTampered) await this.#alteredRows.report(API_KEYS, found.row);
    if (found.accountState === 'tampered') await this.#alteredRows.report(ACCOUNTS, found.joined, ACCOUNT_PREFIX);
    const remembered = { found, readAt: now, addresses: new Map() };
    if (this.#remembered.size >= REMEMBERED_KEYS) this.#remembered.clear();
    this.#remembered.set(name, remembered);
    return remembered;
  }
}

function allowedFrom({ allowList }: ApiKey, addresses: Map<string, boolean>, address: string): boolean {
  let allowed = addresses.get(address);
  if (allowed === undefined) {
    allowed = isAllowed(
      allowList.map(({ cidr }) => cidr),
      address,
    );
    if (addresses.size < REMEMBERED_ADDRESSES) addresses.set(address, allowed);
  }
  return allowed;
}
