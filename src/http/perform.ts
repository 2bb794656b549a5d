import type { Claimed } from '../idempotency/effect.ts';
import type { Claim, IdempotencyKeys, KeyedRequest, StoredResponse } from '../idempotency/idempotency-keys.ts';
import type { FailureResponse, Transaction, TransactionScope, Transactions } from '../idempotency/transaction.ts';
import type { Clock } from '../kernel/clock.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { commitOrThrow, type Database, type Write } from '../storage/database.ts';
import type { ScanQueue } from '../storage/scan-queue.ts';
import type { AccessGrant } from './api-door.ts';
import type { Endpoint, Services } from './endpoint.ts';
import { ENVELOPES } from './envelopes.ts';
import { PROBLEMS, toFailure } from './problems.ts';
import { parseBody } from './request-body.ts';

/** A request whose sender is known, before its body is looked at. */
export interface Incoming {
  readonly grant: AccessGrant;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  /** Those that the endpoint names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | undefined;
  /** Empty when there is none. */
  readonly body: Buffer;
}

export interface Performed extends StoredResponse {
  readonly isReplay: boolean;
}

type Keep = Claimed<unknown>['keep'];

const NOT_KNOWN_YET = 'The outcome of this request is not known yet; it is being resolved.';

/** Carries out requests of one endpoint: reads the body, keeps idempotent answers, renders. */
export class Performer {
  readonly #endpoint: Endpoint;
  readonly #services: Services;
  readonly #idempotency: IdempotencyKeys;
  readonly #transactions: Transactions;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #turns: ScanQueue;
  readonly #serialize: (data: unknown) => string;

  constructor(options: {
    endpoint: Endpoint;
    services: Services;
    idempotency: IdempotencyKeys;
    transactions: Transactions;
    clock: Clock;
    turns: ScanQueue;
    serialize: (data: unknown) => string;
  }) {
    this.#endpoint = options.endpoint;
    this.#services = options.services;
    this.#idempotency = options.idempotency;
    this.#transactions = options.transactions;
    this.#database = options.services.database;
    this.#clock = options.clock;
    this.#turns = options.turns;
    this.#serialize = options.serialize;
  }

  async perform(incoming: Incoming): Promise<Performed> {
    if (this.#endpoint.replay !== undefined) return this.#performStaged(incoming);
    const { tenant, origin } = incoming.grant;
    const begun = await this.#transactions.begin({ account: tenant.account, origin }, this.#keyedRequest(incoming));
    if ('replay' in begun) return { ...begun.replay, isReplay: true };
    if ('boundTo' in begun) throw new Failure('operation_in_progress', { message: NOT_KNOWN_YET });
    return { ...(await this.#finish(incoming, begun.scope)), isReplay: false };
  }

  /** Answers with the stored failure where a repeat would get it; any other failure is thrown. */
  async #finish(incoming: Incoming, scope: TransactionScope): Promise<StoredResponse> {
    try {
      return await scope.finish(
        (transaction) => this.#handle(incoming, transaction, undefined),
        (data) => this.#success(data),
      );
    } catch (error) {
      const response = await scope.fail(toFailure(error), (failure) => this.#failure(failure));
      if (response.isLasting && incoming.idempotencyKey !== undefined && this.#endpoint.method !== 'GET')
        return response;
      throw error;
    }
  }

  /** For endpoints of payments, which commit their units themselves until they are staged handlers. */
  async #performStaged(incoming: Incoming): Promise<Performed> {
    const request = this.#keyedRequest(incoming);
    const uncommitted = undefined as unknown as Transaction;
    if (request === undefined)
      return { ...this.#success(await this.#handle(incoming, uncommitted, undefined)), isReplay: false };
    const claimed = await this.#idempotency.claim(request);
    if ('replay' in claimed) return { ...claimed.replay, isReplay: true };
    if ('boundTo' in claimed) return { ...(await this.#recalled(incoming, claimed.boundTo)), isReplay: true };
    return { ...(await this.#performOnce(incoming, claimed.claim, uncommitted)), isReplay: false };
  }

  /** Undefined for a request without an Idempotency-Key. Throws `invalid_field`. */
  #keyedRequest(incoming: Incoming): KeyedRequest | undefined {
    const { grant, params, query, headers, body, idempotencyKey: key } = incoming;
    const { method, headers: named = {} } = this.#endpoint;
    if (key === undefined || method === 'GET') return undefined;
    if (!/^[\x21-\x7e]+$/.test(key) || key.length > LIMITS.idempotencyKeyCharacters) {
      throw invalid('Idempotency-Key', `expected 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters`);
    }
    // No line of it can hold a line feed, so that two different requests never read the same.
    const lines = [query, ...Object.keys(named).map((name) => headers[name] ?? '')];
    const content = Buffer.concat([Buffer.from(lines.map((line) => `${line}\n`).join('')), body]);
    return { tenant: grant.tenant, method, path: toCanonicalPath(this.#endpoint, params), key, content };
  }

  /** The answer of what the key was bound to. Throws `operation_in_progress` while there is none. */
  async #recalled({ grant }: Incoming, bound: string): Promise<StoredResponse> {
    const data = await this.#endpoint.replay?.(this.#services, grant.tenant, bound);
    if (data === undefined) throw new Failure('operation_in_progress', { message: NOT_KNOWN_YET });
    return this.#success(data);
  }

  async #performOnce(incoming: Incoming, claim: Claim, transaction: Transaction): Promise<StoredResponse> {
    try {
      const answer = await this.#answerOnce(incoming, claim, transaction);
      claim.stop();
      return answer;
    } catch (error) {
      // Also after an outcome nobody knows: when the effect was committed, so was the answer, and it stays.
      claim.stop();
      const { account } = incoming.grant.tenant;
      await this.#database.commit({ account, writes: [claim.release()] }).catch(() => undefined);
      throw error;
    }
  }

  async #answerOnce(incoming: Incoming, claim: Claim, transaction: Transaction): Promise<StoredResponse> {
    let kept = false;
    let bound = false;
    const keep: Keep = async (data) => {
      kept = true;
      return [await claim.storeResponse(this.#success(data))];
    };
    const bind = (to: string): Write => {
      bound = true;
      return claim.bind(to);
    };
    let answer: StoredResponse;
    try {
      answer = this.#success(await this.#handle(incoming, transaction, { keep, bind }));
    } catch (error) {
      // Something was begun: its own end is the answer.
      if (bound) throw error;
      answer = this.#lastingFailure(error);
      kept = false;
    }
    // Nothing was changed, so there was no unit for the answer to go along with.
    const { account } = incoming.grant.tenant;
    if (!kept && !bound) await commitOrThrow(this.#database, { account, writes: [await claim.storeResponse(answer)] });
    return answer;
  }

  /** A failure that a repeat would meet again; any other is thrown on. */
  #lastingFailure(error: unknown): StoredResponse {
    const response = this.#failure(toFailure(error));
    if (!response.isLasting) throw error;
    return response;
  }

  #failure(failure: Failure): FailureResponse {
    const { status, isTransient } = PROBLEMS[failure.code];
    const body = JSON.stringify(ENVELOPES[this.#endpoint.family].failure(failure, status));
    return { status, body, isLasting: status === 400 && isTransient !== true };
  }

  #success(data: unknown): StoredResponse {
    return { status: 200, body: this.#serialize(data) };
  }

  #handle(incoming: Incoming, transaction: Transaction, claimed: Claimed<unknown> | undefined): Promise<unknown> {
    return incoming.body.length > LIMITS.smallBodyBytes
      ? this.#turns.next().then(() => this.#handleNow(incoming, transaction, claimed))
      : this.#handleNow(incoming, transaction, claimed);
  }

  async #handleNow(
    incoming: Incoming,
    transaction: Transaction,
    claimed: Claimed<unknown> | undefined,
  ): Promise<unknown> {
    const { key, tenant, origin } = incoming.grant;
    const { source, body } = parseBody(this.#endpoint, incoming.body);
    const { params, query, headers } = incoming;
    const now = this.#clock();
    return this.#endpoint.handle({
      services: this.#services,
      tenant,
      key,
      origin,
      now,
      params,
      query,
      headers,
      body,
      source,
      transaction,
      claimed,
    });
  }
}

/** Returns the path as it is meant, however it was written: `/v1/tokens/` and `/v1/token%73` are one. */
const toCanonicalPath = ({ path }: Endpoint, params: Readonly<Record<string, string>>): string =>
  path.replace(/:([a-z]+)/gi, (_, name: string) => encodeURIComponent(params[name] ?? ''));
