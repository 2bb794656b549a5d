import type { KeyedRequest, StoredResponse } from '../idempotency/idempotency-keys.ts';
import type { FailureResponse, Transaction, TransactionScope, Transactions } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { explain } from '../kernel/reasons.ts';
import type { ScanQueue } from '../storage/scan-queue.ts';
import type { AccessGrant } from './api-door.ts';
import type { Endpoint, RouteCall, Services } from './endpoint.ts';
import { ENVELOPES } from './envelopes.ts';
import { PROBLEMS, toFailure } from './problems.ts';
import { type ParsedBody, parseBody } from './request-body.ts';

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

/** Executes requests of one endpoint: claims the Idempotency-Key, reads the body, runs the handler, renders the response. */
export class Performer {
  readonly #endpoint: Endpoint;
  readonly #services: Services;
  readonly #transactions: Transactions;
  readonly #turns: ScanQueue;
  readonly #serialize: (data: unknown) => string;

  constructor(options: {
    endpoint: Endpoint;
    services: Services;
    transactions: Transactions;
    turns: ScanQueue;
    serialize: (data: unknown) => string;
  }) {
    this.#endpoint = options.endpoint;
    this.#services = options.services;
    this.#transactions = options.transactions;
    this.#turns = options.turns;
    this.#serialize = options.serialize;
  }

  async perform(incoming: Incoming): Promise<Performed> {
    const { tenant, origin } = incoming.grant;
    const begun = await this.#transactions.begin({ account: tenant.account, origin }, this.#keyedRequest(incoming));
    if ('replay' in begun) return { ...begun.replay, isReplay: true };
    if ('boundTo' in begun) return { ...(await this.#replay(tenant, begun.boundTo)), isReplay: true };
    return { ...(await this.#finish(incoming, begun.scope)), isReplay: false };
  }

  /** Returns the stored failure where a repeat would get it; any other failure is thrown. */
  async #finish(incoming: Incoming, scope: TransactionScope): Promise<StoredResponse> {
    try {
      return await this.#execute(incoming, scope);
    } catch (error) {
      const response = await scope.fail(toFailure(error), (failure) => this.#failure(failure));
      if (response.isLasting && incoming.idempotencyKey !== undefined && this.#endpoint.method !== 'GET')
        return response;
      throw error;
    }
  }

  async #execute(incoming: Incoming, scope: TransactionScope): Promise<StoredResponse> {
    const endpoint = this.#endpoint;
    if (incoming.body.length > LIMITS.smallBodyBytes) await this.#turns.next();
    const parsed = parseBody(endpoint, incoming.body);
    const callOf = (transaction: Transaction) => this.#toCall(incoming, parsed, transaction);
    const render = (data: unknown) => this.#success(data);
    if (endpoint.staged === undefined)
      return scope.finish((transaction) => endpoint.handle(callOf(transaction)), render);
    const { staged } = endpoint;
    const intent = await scope.stage((transaction) => staged.intend(callOf(transaction)));
    const sent = await staged.send(this.#services, intent);
    return scope.finish((transaction) => staged.conclude(callOf(transaction), intent, sent), render);
  }

  #toCall(incoming: Incoming, parsed: ParsedBody, transaction: Transaction): RouteCall<unknown> {
    const { grant, params, query, headers } = incoming;
    const { key, tenant, previousUseAt, origin } = grant;
    const { source, body } = parsed;
    const { now } = transaction;
    return {
      services: this.#services,
      tenant,
      key,
      previousUseAt,
      origin,
      now,
      params,
      query,
      headers,
      body,
      source,
      transaction,
    };
  }

  /** Undefined for a request without an Idempotency-Key. Throws `invalid_field`. */
  #keyedRequest(incoming: Incoming): KeyedRequest | undefined {
    const { grant, params, query, headers, body, idempotencyKey: key } = incoming;
    const { method, headers: named = {} } = this.#endpoint;
    if (key === undefined || method === 'GET') return undefined;
    if (!/^[\x21-\x7e]+$/.test(key) || key.length > LIMITS.idempotencyKeyCharacters) {
      throw invalidField('Idempotency-Key', 'asciiCharacters', { min: 1, max: LIMITS.idempotencyKeyCharacters });
    }
    // No line of it can hold a line feed, so that two different requests never read the same.
    const lines = [query, ...Object.keys(named).map((name) => headers[name] ?? '')];
    const content = Buffer.concat([Buffer.from(lines.map((line) => `${line}\n`).join('')), body]);
    return { tenant: grant.tenant, method, path: toCanonicalPath(this.#endpoint, params), key, content };
  }

  /** Returns the response of the operation that the key is bound to. Throws `operation_in_progress` until it has a result. */
  async #replay(tenant: Tenant, boundTo: string): Promise<StoredResponse> {
    const data = await this.#endpoint.staged?.replay(this.#services, tenant, boundTo);
    if (data === undefined) throw new Failure('operation_in_progress', explain('outcomePending'));
    return this.#success(data);
  }

  #failure(failure: Failure): FailureResponse {
    const { status, isTransient } = PROBLEMS[failure.code];
    const body = JSON.stringify(ENVELOPES[this.#endpoint.family].failure(failure, status));
    return { status, body, isLasting: status === 400 && isTransient !== true };
  }

  #success(data: unknown): StoredResponse {
    return { status: 200, body: this.#serialize(data) };
  }
}

/** Returns the path as it is meant, however it was written: `/v1/tokens/` and `/v1/token%73` are one. */
const toCanonicalPath = ({ path }: Endpoint, params: Readonly<Record<string, string>>): string =>
  path.replace(/:([a-z]+)/gi, (_, name: string) => encodeURIComponent(params[name] ?? ''));
