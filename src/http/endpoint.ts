import type { Accounts } from '../accounts/accounts.ts';
import type { ApiKey } from '../accounts/api-key.ts';
import type { Permission } from '../accounts/permission.ts';
import type { Origin } from '../audit/audit.ts';
import type { Captures } from '../captures/captures.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { FailureCode } from '../kernel/failure.ts';
import type { Spans } from '../kernel/json.ts';
import type { Payments } from '../payments/payments.ts';
import type { PayloadProxy } from '../proxy/payload-proxy.ts';
import type { Database } from '../storage/database.ts';
import type { Vault } from '../vault/vault.ts';
import type { Family } from './envelopes.ts';
import type { Field, JsonSchema } from './fields.ts';

/** Sections of the reference. */
export const TAGS = [
  { name: 'Permanent tokens', description: 'Card numbers replaced by tokens.' },
  { name: 'Captures', description: 'Card data kept for a while.' },
  { name: 'Payments', description: 'Authorized, captured, refunded and voided through a processor.' },
  { name: 'Proxy', description: 'Card data put into a payload, which is then secured for a processor.' },
  { name: 'Account', description: 'The account and the calling key.' },
] as const;

export type Tag = (typeof TAGS)[number]['name'];

/** What endpoints work with. */
export interface Services {
  readonly database: Database;
  readonly accounts: Accounts;
  readonly vault: Vault;
  readonly captures: Captures;
  readonly payments: Payments;
  readonly proxy: PayloadProxy;
}

/** One request of a known caller, its body read. */
export interface RouteCall<Body> {
  readonly services: Services;
  readonly tenant: Tenant;
  readonly key: ApiKey;
  /** When the key was used before this request, milliseconds; undefined when never. */
  readonly previousUseAt: number | undefined;
  readonly origin: Origin;
  /** When the request came in, milliseconds. */
  readonly now: number;
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  /** Those that the endpoint names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** The body as it came, and where the members of a JSON object stand in it. */
  readonly source: { readonly text: string; readonly spans: Spans };
  /** Filled by the endpoint, and committed with its response before that leaves. */
  readonly transaction: Transaction;
}

/** A body that is text to the endpoint: XML, or whatever comes. */
export interface TextBody {
  readonly media: 'xml' | 'any';
  readonly description: string;
}

/** A member of the query, or a header. */
export interface Parameter {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** An example of a request and its answer, for the reference. */
export interface Example {
  readonly body?: unknown;
  readonly query?: string;
  readonly data: unknown;
}

/**
 * The stages of an endpoint with an effect outside the database. Without a response of `send`, the operation is left to
 * recovery, and a repeat with the same Idempotency-Key gets its result by `replay`.
 */
export interface StagedHandler<Body, Data, Intent = unknown, Sent = unknown> {
  /** Fills the transaction that is committed before anything is sent, and binds the key. Runs again after a conflict. */
  intend(call: RouteCall<Body>): Promise<Intent>;
  /** The only stage that talks to anybody outside. It runs once, after the intent was committed. */
  send(services: Services, intent: Intent): Promise<Sent>;
  /** Fills the transaction that is committed with the response. Runs again after a conflict. */
  conclude(call: RouteCall<Body>, intent: Intent, sent: Sent): Promise<Data>;
  /** Returns the response of the operation that the key is bound to; undefined until it has a result. */
  replay(services: Services, tenant: Tenant, boundTo: string): Promise<Data | undefined>;
}

/** How an endpoint acts: in one transaction that is committed with its response, or in stages. */
type Execution<Body, Data> =
  | { handle(call: RouteCall<Body>): Promise<Data>; readonly staged?: undefined }
  | { readonly handle?: undefined; readonly staged: StagedHandler<Body, Data> };

/** One line of the interface. */
export type Endpoint<Body = unknown, Data = unknown> = EndpointDefinition<Body, Data> & Execution<Body, Data>;

interface EndpointDefinition<Body, Data> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without trailing slash; both are served. */
  readonly path: string;
  /** Descriptions of the parameters in the path, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /** Members of the query that it reads, by name. */
  readonly query?: Readonly<Record<string, Parameter>>;
  /** Headers that change the answer, by name in lower case. */
  readonly headers?: Readonly<Record<string, Parameter>>;
  readonly family: Family;
  readonly tag: Tag;
  readonly operationId: string;
  readonly permission: Permission;
  readonly summary: string;
  readonly description: string;
  /** JSON. Absent, and no `text` either: whatever body comes is not looked at. */
  readonly body?: Field<Body>;
  readonly text?: TextBody;
  readonly data: Field<Data>;
  /** Its own ones; those that everybody can meet are known. */
  readonly failures: readonly FailureCode[];
  readonly example: Example;
}

/** Keeps the types of one endpoint together, then forgets them, so that all stand in one array. */
export const defineEndpoint = <Body, Data>(endpoint: Endpoint<Body, Data>): Endpoint => endpoint as unknown as Endpoint;

export const pathParameter = (call: { readonly params: Readonly<Record<string, string>> }, name: string): string =>
  call.params[name] ?? '';
