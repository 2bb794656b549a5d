import type { ApiKey, StoredKey } from '../accounts/api-key.ts';
import {
  type Authentication,
  type AuthenticationResult,
  type DenialReason,
  GUESSING_REASONS,
} from '../accounts/authentication.ts';
import type { Permission } from '../accounts/permission.ts';
import { buildAuditEntry, type Origin } from '../audit/audit.ts';
import { type Clock, SECOND } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { subscriberNetwork } from '../kernel/network.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import { type RateLimitState, TokenBuckets, tokenBucketsPerMinute } from './rate-limit.ts';

/** What a request shows of its sender. */
export interface RequestSource {
  readonly secret: string | undefined;
  /** After trusted proxies, in its usual form; `unknown` when they name none. */
  readonly address: string;
  readonly requestId: string;
  /** The pattern of the path, never the path. */
  readonly route: string;
}

export interface AccessGrant {
  readonly key: ApiKey;
  readonly tenant: Tenant;
  /** When the key was used before this request, milliseconds; undefined when never. */
  readonly previousUseAt: number | undefined;
  readonly origin: Origin;
  /** Absent while the limit is off. */
  readonly rate: RateLimitState | undefined;
  /** When the key was found good, milliseconds. */
  readonly at: number;
}

/** Thrown with what the rate-limit headers have to say. */
export class RateLimitFailure extends Failure {
  readonly rate: RateLimitState;
  /** The limit of a key that was let in, which its owner is told about. */
  readonly ofKey: boolean;
  constructor(rate: RateLimitState, ofKey: boolean) {
    super('rate_limited');
    this.rate = rate;
    this.ofKey = ofKey;
  }
}

export interface RateLimits {
  /** Requests a second for each key; 0 is no limit. */
  readonly perKey: number;
  /** Failed authentications a minute for each address; 0 is no limit. */
  readonly failedAuthentication: number;
}

/** Together with what authentication remembers, well within the 5 seconds in which a change of a key holds. */
const GRANT_VALID_MS = 2 * SECOND;

/** A burst is what flows in within two seconds. */
const BURST_SECONDS = 2;

/** Decides who gets in: key, address, permission, rate. Each refusal is in the audit log before it is answered. */
export class ApiDoor {
  readonly perKey: TokenBuckets | undefined;
  readonly #refusals: TokenBuckets | undefined;
  readonly #guesses: TokenBuckets | undefined;
  readonly #authentication: Authentication;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #environment: Environment;

  constructor(options: {
    authentication: Authentication;
    database: Database;
    clock: Clock;
    environment: Environment;
    rates: RateLimits;
  }) {
    const { clock, rates } = options;
    this.#authentication = options.authentication;
    this.#database = options.database;
    this.#clock = clock;
    this.#environment = options.environment;
    const buckets = (): TokenBuckets =>
      new TokenBuckets({ clock, rate: rates.perKey, burst: rates.perKey * BURST_SECONDS });
    this.perKey = rates.perKey > 0 ? buckets() : undefined;
    // Apart from the bucket of good requests, so that a stolen key used from elsewhere cannot starve its owner.
    this.#refusals = rates.perKey > 0 ? buckets() : undefined;
    this.#guesses =
      rates.failedAuthentication > 0 ? tokenBucketsPerMinute(clock, rates.failedAuthentication) : undefined;
  }

  /** Returns the grant at once while the key is cached. Throws `access_denied` or `rate_limited`. */
  admit(source: RequestSource, permission: Permission): AccessGrant | Promise<AccessGrant> {
    const at = this.#clock();
    const result = this.#authentication.authenticate(source.secret, source.address, permission);
    return result instanceof Promise
      ? result.then((later) => this.#grant(source, later, at))
      : this.#grant(source, result, at);
  }

  /**
   * Checks the grant again when reading the body took more than two seconds: a key that was revoked meanwhile must not act, and
   * one that was changed acts as it is now. Throws `access_denied`.
   */
  confirm(grant: AccessGrant, source: RequestSource, permission: Permission): AccessGrant | Promise<AccessGrant> {
    const at = this.#clock();
    const age = at - grant.at;
    return age >= 0 && age < GRANT_VALID_MS ? grant : this.#renew(grant, source, permission, at);
  }

  async #renew(grant: AccessGrant, source: RequestSource, permission: Permission, at: number): Promise<AccessGrant> {
    const result = await this.#authentication.authenticate(source.secret, source.address, permission);
    if (result.denial !== undefined) return this.#refuse(source, result.key, result.denial);
    const { key, tenant } = result;
    return { ...grant, key, tenant, at };
  }

  #grant(source: RequestSource, result: AuthenticationResult, at: number): AccessGrant | Promise<AccessGrant> {
    if (result.denial !== undefined) return this.#refuse(source, result.key, result.denial);
    const { key, tenant, previousUseAt } = result;
    const rate = this.perKey?.take(key.id);
    if (rate?.allowed === false) throw new RateLimitFailure(rate, true);
    const { address, requestId } = source;
    const origin: Origin = { actor: { type: 'key', id: key.id, name: key.name }, address, requestId };
    return { key, tenant, previousUseAt, origin, rate, at };
  }

  async #refuse(sender: RequestSource, key: StoredKey | undefined, refusal: DenialReason): Promise<never> {
    const { address } = sender;
    const taken = GUESSING_REASONS.has(refusal)
      ? this.#guesses?.take(subscriberNetwork(address))
      : this.#refusals?.take(key?.id ?? '');
    if (taken?.allowed === false) throw new RateLimitFailure(taken, false);
    const actor: Origin['actor'] = key === undefined ? { type: 'unknown' } : { type: 'key', ...namesOf(key) };
    const event = {
      action: 'access.denied' as const,
      outcome: refusal,
      account: key?.account ?? '',
      environment: this.#environment,
      detail: { route: sender.route },
    };
    const entry = buildAuditEntry(this.#clock, { actor, address, requestId: sender.requestId }, event);
    await commitOrThrow(this.#database, { account: event.account, writes: [], journal: [entry] });
    throw new Failure('access_denied');
  }
}

/** The name in an altered row is not the one that was given to the key. */
const namesOf = (key: StoredKey): Pick<Origin['actor'], 'id' | 'name'> =>
  key.isTampered ? { id: key.id } : { id: key.id, name: key.name };

/** Adds the headers of every response to a valid key (draft-ietf-httpapi-ratelimit-headers-10). */
export class RateLimitHeaders {
  readonly #policy: string;

  constructor({ burst, rate }: TokenBuckets) {
    this.#policy = `"per-key";q=${burst};w=${Math.ceil(burst / rate)}`;
  }

  add(headers: Record<string, string | number>, { remaining, reset }: RateLimitState): void {
    headers['ratelimit-policy'] = this.#policy;
    headers['ratelimit'] = `"per-key";r=${remaining};t=${reset}`;
  }
}
