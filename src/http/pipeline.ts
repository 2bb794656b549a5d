import type { Transaction, TransactionScope, Transactions } from '../idempotency/transaction.ts';
import { type Clock, SECOND } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { explain } from '../kernel/reasons.ts';
import type { ScanQueue } from '../storage/pagination.ts';
import { createWriter } from './envelopes.ts';
import { isLasting, renderFailure, toFailure } from './problems.ts';
import { parseBody, parseQuery } from './request-body.ts';
import type {
  Door,
  Grant,
  Handler,
  RequestHead,
  ResponseHeaders,
  Route,
  RouteCall,
  StagedHandler,
  StreamedFile,
} from './route.ts';

/** A successful response, or a replayed one. */
export interface RouteResponse {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly isReplay: boolean;
}

export interface PipelineOptions {
  readonly door: Door;
  /** Dependencies of the handlers; a part of each call. */
  readonly services: object;
  readonly transactions: Transactions;
  readonly clock: Clock;
  /** Handlers of large bodies take turns, so that other requests need not wait for more than one of them. */
  readonly turns: ScanQueue;
}

/**
 * Together with the 2 seconds for which keys are cached, well within the 5 seconds in which a change of access is valid
 * on every node.
 */
const GRANT_VALID_MS = 2 * SECOND;

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** Makes the call of an attempt. Each handler declares the call that its door and services give it. */
type CallOf = (transaction: Transaction) => never;

/** The steps of each request of one route, in their order. Each throws a failure, which becomes the response. */
export class Pipeline {
  readonly route: Route;
  readonly #options: PipelineOptions;
  readonly #write: (data: unknown) => string;

  constructor(route: Route, options: PipelineOptions) {
    this.route = route;
    this.#options = options;
    this.#write = createWriter(route);
  }

  /** Before the body is read. Returns the grant without a promise when the door does. */
  admit(head: RequestHead): Grant | Promise<Grant> {
    return this.#options.door.admit(head, this.route);
  }

  /** After the body is read: checks the access again when it was checked more than two seconds ago. */
  confirm(grant: Grant, head: RequestHead): Grant | Promise<Grant> {
    const age = this.#options.clock() - grant.at;
    return age >= 0 && age < GRANT_VALID_MS ? grant : this.#options.door.confirm(grant, head, this.route);
  }

  /** Executes a confirmed request. The response is committed with its effect. */
  async execute(grant: Grant, head: RequestHead, bytes: Buffer): Promise<RouteResponse | StreamedFile> {
    const { door, services, transactions } = this.#options;
    const request = door.keyedRequest?.(grant, head, this.route, bytes);
    const beginning = transactions.begin(door.contextOf(grant), request);
    const begun = beginning instanceof Promise ? await beginning : beginning;
    // A copy of the body, of which the claim of the key has a digest.
    request?.content.fill(0);
    if ('replay' in begun) return { ...begun.replay, isReplay: true };
    if ('boundTo' in begun) return this.#replay(grant, begun.boundTo);
    const { scope } = begun;
    try {
      if (bytes.length > LIMITS.smallBodyBytes) await this.#options.turns.next();
      const { params } = head;
      const { query, headers, body, text } = this.#parse(head, bytes);
      const callOf: CallOf = (transaction) =>
        ({
          ...grant,
          params,
          query,
          headers,
          body,
          text,
          services,
          now: transaction.now,
          transaction,
        }) as RouteCall as never;
      return await this.#run(scope, callOf);
    } catch (error) {
      const failure = toFailure(door.translate?.(error) ?? error);
      await scope.fail(isLasting(failure) ? () => renderFailure(failure, this.route.family) : undefined);
      throw failure;
    }
  }

  /** Adds the headers of the door to a response. */
  addHeaders(headers: ResponseHeaders, grant: Grant | undefined, error?: unknown): void {
    this.#options.door.addHeaders(headers, grant, error);
  }

  /** Returns the response of the operation that the key is bound to. Throws `operation_in_progress` until it has a result. */
  async #replay({ tenant }: Grant, boundTo: string): Promise<RouteResponse> {
    const { run } = this.route;
    const data =
      typeof run === 'function' || tenant === undefined
        ? undefined
        : await run.replay?.(this.#options.services as never, tenant, boundTo);
    if (data === undefined) throw new Failure('operation_in_progress', explain('outcomePending'));
    return { ...this.#render(data), isReplay: true };
  }

  #parse(head: RequestHead, bytes: Buffer): Pick<RouteCall, 'query' | 'headers' | 'body' | 'text'> {
    const { query: field, headerNames } = this.route;
    const { body, text } = parseBody(this.route, bytes);
    // A payment waits for its processor for seconds, and needs the bytes no more.
    bytes.fill(0);
    const query = field === undefined ? head.query : parseQuery(field, head.query);
    const headers = headerNames === undefined ? NO_HEADERS : pickHeaders(headerNames, head);
    return { query, headers, body, text };
  }

  /** Runs the handler, again after each conflict. Each result is rendered, and the committed one is returned. */
  #run(scope: TransactionScope, callOf: CallOf): Promise<RouteResponse | StreamedFile> {
    const { run, isStream } = this.route;
    if (typeof run !== 'function') return this.#runStages(scope, run, callOf);
    const handle = (transaction: Transaction): Promise<unknown> => this.#handle(run, callOf(transaction));
    return isStream === true ? (scope.stage(handle) as Promise<StreamedFile>) : scope.finish(handle, this.#render);
  }

  async #runStages(scope: TransactionScope, run: StagedHandler, callOf: CallOf): Promise<RouteResponse> {
    const { door, services } = this.#options;
    const { result, response } = await scope.stageOrFinish(
      async (transaction) => {
        const call = callOf(transaction);
        const replacement = await door.intercept?.(this.route, call);
        return { replacement, intent: replacement === undefined ? await run.intend(call) : undefined };
      },
      // In one commit with the replacement: a repeat after a crash must not store another request for approval.
      ({ replacement }) => (replacement === undefined ? undefined : this.#render(replacement)),
    );
    if (response !== undefined) return response;
    const sent = await run.send(services as never, result.intent as never);
    return scope.finish((transaction) => run.conclude(callOf(transaction), result.intent as never, sent), this.#render);
  }

  #handle(handler: Handler, call: never): Promise<unknown> {
    const { door } = this.#options;
    return door.intercept === undefined ? handler(call) : this.#intercept(handler, call);
  }

  async #intercept(handler: Handler, call: never): Promise<unknown> {
    return (await this.#options.door.intercept?.(this.route, call)) ?? handler(call);
  }

  readonly #render = (data: unknown): RouteResponse => ({ status: 200, body: this.#write(data), isReplay: false });
}

/** Returns the headers with these names that the request has. */
function pickHeaders(names: readonly string[], head: RequestHead): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = head.header(name);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
