import type { ApiKey, StoredKey } from '../accounts/api-key.ts';
import {
  type Authentication,
  type AuthenticationResult,
  type DenialReason,
  GUESSING_REASONS,
} from '../accounts/authentication.ts';
import type { Permission } from '../accounts/permission.ts';
import type { KnownCaller } from '../accounts/request-log.ts';
import type { Origin } from '../audit/audit.ts';
import type { KeyedRequest } from '../idempotency/idempotency-keys.ts';
import type { TransactionContext, Transactions } from '../idempotency/transaction.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { subscriberNetwork } from '../kernel/network.ts';
import { toKeyedRequest } from './keyed-request.ts';
import { type BucketSource, type RateLimitState, TokenBuckets, tokenBucketsPerMinute } from './rate-limit.ts';
import { CallerFailure, type Door, type Grant, type RequestHead, type ResponseHeaders, type Route } from './route.ts';

/** Stands for an empty header, which differs from an absent one: no header contains it. */
const EMPTY = '\0';

/** The access of a caller with an API key. */
export interface AccessGrant extends Grant {
  readonly key: ApiKey;
  readonly tenant: Tenant;
  /** When the key was used before this request, milliseconds; undefined when never. */
  readonly previousUseAt: number | undefined;
  /** Absent while the limit is off. */
  readonly rate: RateLimitState | undefined;
}

/** Thrown with the values of the rate-limit headers. */
class RateLimitFailure extends CallerFailure {
  readonly rate: RateLimitState;
  /** The limit of an authenticated key, which its owner may know. */
  readonly isOfKey: boolean;
  constructor(rate: RateLimitState, isOfKey: boolean, key: StoredKey | undefined) {
    super('rate_limited', toCaller(key));
    this.rate = rate;
    this.isOfKey = isOfKey;
  }
}

interface RateLimits {
  /** Requests a second for each key; 0 is no limit. */
  readonly perKey: number;
  /** Failed authentications a minute for each address; 0 is no limit. */
  readonly failedAuthentication: number;
}

/** A route with the permission that it needs. */
type ApiRoute = Route & { readonly permission: Permission };

/** The bucket holds the requests of two seconds. */
const BURST_SECONDS = 2;

/**
 * Decides about access: key, address, permission, rate. Each denial is in the audit log before its response is sent.
 */
export class ApiDoor implements Door<ApiRoute, AccessGrant> {
  readonly #perKey: TokenBuckets | undefined;
  readonly #policy: string;
  readonly #denials: TokenBuckets | undefined;
  readonly #guesses: TokenBuckets | undefined;
  readonly #authentication: Authentication;
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  readonly #environment: Environment;

  constructor(options: {
    authentication: Authentication;
    transactions: Transactions;
    clock: Clock;
    environment: Environment;
    rates: RateLimits;
    buckets: BucketSource;
  }) {
    const { environment, rates } = options;
    this.#authentication = options.authentication;
    this.#transactions = options.transactions;
    this.#clock = options.clock;
    this.#environment = environment;
    const kindOf = (name: string): string => `${environment} ${name}`;
    const buckets = (name: string): TokenBuckets => {
      const size = { rate: rates.perKey, burst: rates.perKey * BURST_SECONDS };
      return new TokenBuckets({ ...options.buckets, kind: kindOf(name), ...size });
    };
    this.#perKey = rates.perKey > 0 ? buckets('keys') : undefined;
    this.#policy = `"per-key";q=${rates.perKey * BURST_SECONDS};w=${BURST_SECONDS}`;
    // Separate from the bucket of valid requests, so that a stolen key used from another address cannot block its
    // owner.
    this.#denials = rates.perKey > 0 ? buckets('denials') : undefined;
    this.#guesses =
      rates.failedAuthentication > 0
        ? tokenBucketsPerMinute(options.buckets, kindOf('guesses'), rates.failedAuthentication)
        : undefined;
  }

  /** Returns the grant without a promise while the key is cached. Throws `access_denied` or `rate_limited`. */
  admit(head: RequestHead, route: ApiRoute): AccessGrant | Promise<AccessGrant> {
    const at = this.#clock();
    const result = this.#authentication.authenticate(readSecret(head, route), head.address, route.permission);
    return result instanceof Promise
      ? result.then((later) => this.#grant(head, route, later, at))
      : this.#grant(head, route, result, at);
  }

  /**
   * A key that was revoked in the meantime must not act, and one that was changed acts as it is now. Throws
   * `access_denied`.
   */
  async confirm(grant: AccessGrant, head: RequestHead, route: ApiRoute): Promise<AccessGrant> {
    const at = this.#clock();
    const secret = readSecret(head, route);
    const result = await this.#authentication.authenticate(secret, head.address, route.permission);
    if (result.denial !== undefined) return this.#deny(head, route, result.key, result.denial);
    return { ...grant, key: result.key, tenant: result.tenant, at };
  }

  contextOf({ tenant, origin }: AccessGrant): TransactionContext {
    return { account: tenant.account, origin };
  }

  /** Undefined for a request without an Idempotency-Key. Throws `invalid_field`. */
  keyedRequest(grant: AccessGrant, head: RequestHead, route: ApiRoute, body: Buffer): KeyedRequest | undefined {
    const line = (name: string): string => (head.header(name) === '' ? EMPTY : (head.header(name) ?? ''));
    const lines = [head.query, ...(route.headerNames ?? []).map(line)];
    return toKeyedRequest(route, head, grant.tenant, { lines, body });
  }

  /** Adds the rate limit of a valid key to every response (draft-ietf-httpapi-ratelimit-headers-10). */
  addHeaders(headers: ResponseHeaders, grant: AccessGrant | undefined, error?: unknown): void {
    let rate = grant?.rate;
    if (error instanceof RateLimitFailure) {
      headers['retry-after'] = String(error.rate.reset);
      if (error.isOfKey) rate = error.rate;
    }
    if (rate === undefined) return;
    headers['ratelimit-policy'] = this.#policy;
    headers['ratelimit'] = `"per-key";r=${rate.remaining};t=${rate.reset}`;
  }

  #grant(
    head: RequestHead,
    route: ApiRoute,
    result: AuthenticationResult,
    at: number,
  ): AccessGrant | Promise<AccessGrant> {
    if (result.denial !== undefined) return this.#deny(head, route, result.key, result.denial);
    const { key, tenant, previousUseAt } = result;
    const rate = this.#perKey?.take(key.id);
    if (rate?.allowed === false) throw new RateLimitFailure(rate, true, key);
    const origin: Origin = {
      actor: { type: 'key', id: key.id, name: key.name },
      address: head.address,
      requestId: head.id,
    };
    return { key, tenant, previousUseAt, origin, rate, at };
  }

  async #deny(
    { address, id: requestId }: RequestHead,
    { method, path }: ApiRoute,
    key: StoredKey | undefined,
    reason: DenialReason,
  ): Promise<never> {
    const taken = GUESSING_REASONS.has(reason)
      ? this.#guesses?.take(subscriberNetwork(address))
      : this.#denials?.take(key?.id ?? '');
    if (taken?.allowed === false) throw new RateLimitFailure(taken, false, key);
    const actor: Origin['actor'] = key === undefined ? { type: 'unknown' } : { type: 'key', ...namesOf(key) };
    const { account = '' } = key ?? {};
    // The pattern of the path, never the path.
    const detail = { route: `${method} ${path}` };
    await this.#transactions.run({ account, origin: { actor, address, requestId } }, async (transaction) =>
      transaction.record({ action: 'access.denied', outcome: reason, account, environment: this.#environment, detail }),
    );
    throw new CallerFailure('access_denied', toCaller(key));
  }
}

/** An altered row may name any account. */
const toCaller = (key: StoredKey | undefined): KnownCaller | undefined =>
  key === undefined || key.isTampered ? undefined : { account: key.account, key: key.id };

const readSecret = (head: RequestHead, { family }: ApiRoute): string | undefined =>
  head.header(family === 'proxy' ? 'ft-access-key' : 'x-api-key');

/** The name in an altered row may not be the key's real name. */
const namesOf = (key: StoredKey): Pick<Origin['actor'], 'id' | 'name'> =>
  key.isTampered ? { id: key.id } : { id: key.id, name: key.name };
