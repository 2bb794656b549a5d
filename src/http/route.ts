import type { KnownCaller } from '../accounts/request-log.ts';
import type { Origin } from '../audit/audit.ts';
import type { KeyedRequest } from '../idempotency/idempotency-keys.ts';
import type { Transaction, TransactionContext } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, type FailureCode } from '../kernel/failure.ts';
import type { Family } from './envelopes.ts';
import type { Field } from './fields.ts';

/** The contract between the pipeline, the two doors, and the routes of both. It needs nothing of the HTTP framework. */

/** A request before its body is read. */
export interface RequestHead {
  /** The `x-request-id` of the response. */
  readonly id: string;
  /** The client's address after trusted proxies, in its normal form; `unknown` when they name none. */
  readonly address: string;
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark; '' when there is none. */
  readonly query: string;
  /** Returns the value of a header, given its name in lower case. */
  header(name: string): string | undefined;
  /** Calls back when the response was sent, or never will be because the client has disconnected. */
  onFinished(callback: () => void): void;
}

/** The access of a caller whom a door has admitted. */
export interface Grant {
  /** When the access was checked, milliseconds. */
  readonly at: number;
  /** Names the caller in audit records. */
  readonly origin: Origin;
  /** The API key of the caller; absent for users of the console. */
  readonly key?: { readonly id: string };
  readonly tenant?: Tenant;
}

/** Thrown by a door for a caller whose key it knows. */
export class CallerFailure extends Failure {
  /** Undefined when the key is unknown. */
  readonly caller: KnownCaller | undefined;

  constructor(code: FailureCode, caller: KnownCaller | undefined) {
    super(code);
    this.caller = caller;
  }
}

/** A request of an admitted caller, as a handler gets it: this together with the grant and the services of its listener. */
export interface RouteCall<Body = unknown, Query = unknown> {
  readonly params: Readonly<Record<string, string>>;
  /** Text without the question mark, unless the route defines its fields. */
  readonly query: Query;
  /** The headers that the route names, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** The body as text; empty for a route that reads none. */
  readonly text: string;
  /** Unix time in milliseconds, read once for each attempt. */
  readonly now: number;
  /** Filled by the handler, and committed with its response before the response leaves. */
  readonly transaction: Transaction;
}

/** Returns the data of the response. It may run again after a conflict, so it has no effect outside the database. */
export type Handler<Call = never, Data = unknown> = (call: Call) => Promise<Data>;

/**
 * The stages of a route with an effect outside the database. Without a result, the operation is left to recovery, and a repeat
 * with the same `Idempotency-Key` gets the result by `replay`.
 */
export interface StagedHandler<Call = never, Data = unknown, Services = never, Intent = unknown, Sent = unknown> {
  /** Fills the transaction that is committed before anything is sent, and binds the key. Runs again after a conflict. */
  intend(call: Call): Promise<Intent>;
  /** The only stage that talks to another system. It runs once, after the intent was committed. */
  send(services: Services, intent: Intent): Promise<Sent>;
  /** Fills the transaction that is committed with the response. Runs again after a conflict. */
  conclude(call: Call, intent: Intent, sent: Sent): Promise<Data>;
  /**
   * Returns the response of the operation that the key is bound to; undefined until it has a result. Absent for a door
   * that knows no `Idempotency-Key`.
   */
  replay?(services: Services, tenant: Tenant, boundTo: string): Promise<Data | undefined>;
}

/** A body that a route reads as text: XML, or any text. */
export interface TextBody {
  readonly media: 'xml' | 'any';
  readonly description: string;
}

/** One path and method of a listener. */
export interface Route<Call = never, Data = unknown> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without a trailing slash; both forms are served. */
  readonly path: string;
  readonly family: Family;
  /** Name in the reference of the API; absent for calls of the console. Requests are counted by it. */
  readonly operationId?: string;
  /** Bytes; absent: `LIMITS.bodyBytes`. */
  readonly bodyLimit?: number;
  /** A JSON body. Absent, and `text` too: any body is accepted and ignored. */
  readonly body?: Field<unknown>;
  readonly text?: TextBody;
  readonly query?: Field<unknown>;
  /** Names of the headers that change the response, in lower case. */
  readonly headerNames?: readonly string[];
  readonly data: Field<Data>;
  /** True when the handler returns a `StreamedFile` instead of data. */
  readonly isStream?: true;
  readonly run: Handler<Call, Data> | StagedHandler<Call, Data>;
}

/** A download, sent line by line. */
export interface StreamedFile {
  readonly type: string;
  readonly name: string;
  readonly lines: AsyncIterable<string>;
}

/** Decides who may call a route. It rejects by throwing a failure. */
export interface Door<R extends Route = Route, G extends Grant = Grant> {
  /** Before the body is read. Returns the grant without a promise when nothing has to be read for it. */
  admit(head: RequestHead, route: R): G | Promise<G>;
  /** Checks the access again because the body took long. Throws what `admit` throws, and does not count the request again. */
  confirm(grant: G, head: RequestHead, route: R): Promise<G>;
  contextOf(grant: G): TransactionContext;
  /** The request with its `Idempotency-Key`; undefined without one. Absent for a door that knows no such keys. */
  keyedRequest?(grant: G, head: RequestHead, route: R, body: Buffer): KeyedRequest | undefined;
  /** Returns the data of the response when another action replaces the handler, such as a request for approval. */
  intercept?(route: R, call: RouteCall): Promise<unknown>;
  /** Translates an error of a handler into the terms of this door. */
  translate?(error: unknown): unknown;
  /** Adds headers to a response. `error`: absent on success. */
  addHeaders(headers: ResponseHeaders, grant: G | undefined, error?: unknown): void;
}

export type ResponseHeaders = Record<string, string | number | string[]>;
