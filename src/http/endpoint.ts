import type { Accounts } from '../accounts/accounts.ts';
import type { Permission } from '../accounts/permission.ts';
import type { CaptureSessions } from '../capture-sessions/capture-sessions.ts';
import type { Captures } from '../captures/captures.ts';
import type { FailureCode } from '../kernel/failure.ts';
import type { Payments } from '../payments/payments.ts';
import type { PayloadProxy } from '../proxy/payload-proxy.ts';
import type { Database } from '../storage/database.ts';
import type { Vault } from '../vault/vault.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { AccessGrant } from './api-door.ts';
import type { Field, JsonSchema } from './fields.ts';
import type { Handler, Route, RouteCall, StagedHandler } from './route.ts';

/** Sections of the reference. */
export const TAGS = [
  { name: 'Permanent tokens', description: 'Card numbers replaced by tokens.' },
  { name: 'Captures', description: 'Card data kept for a while.' },
  { name: 'Card form', description: 'Cards that buyers enter into the form of the vault.' },
  { name: 'Payments', description: 'Authorized, captured, refunded and voided through a processor.' },
  { name: 'Proxy', description: 'Card data put into a payload, which is then secured for a processor.' },
  { name: 'Webhooks', description: 'Events that are sent to the merchant’s server.' },
  { name: 'Account', description: 'The account and the calling key.' },
] as const;

export type Tag = (typeof TAGS)[number]['name'];

/** Facts about the listener of the card form. */
export interface CardFormListener {
  /** The origin under which browsers reach it. */
  origin(): string;
  /** False when the listener could not be opened. */
  isServed(): boolean;
  /** True when the operator has set the origin. */
  readonly isOriginConfigured: boolean;
}

/** Dependencies of the endpoints. */
export interface Services {
  readonly database: Database;
  readonly accounts: Accounts;
  readonly vault: Vault;
  readonly captures: Captures;
  readonly captureSessions: CaptureSessions;
  readonly cardForm: CardFormListener;
  readonly payments: Payments;
  readonly proxy: PayloadProxy;
  readonly webhooks: Webhooks;
}

/** A request of a caller with an API key. */
export type ApiCall<Body = unknown> = RouteCall<Body, string> & AccessGrant & { readonly services: Services };

/** A member of the query, or a header that changes the response. */
export interface Parameter {
  readonly in: 'query' | 'header';
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** An example of a request and its response, for the reference. */
export interface Example {
  readonly body?: unknown;
  readonly query?: string;
  readonly data: unknown;
}

/** One path and method of the API, with its part of the reference. */
export interface Endpoint<Body = unknown, Data = unknown> extends Route<never, Data> {
  /** Descriptions of the parameters in the path, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /** Descriptions by name; headers in lower case. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly tag: Tag;
  readonly operationId: string;
  readonly permission: Permission;
  readonly summary: string;
  readonly description: string;
  readonly body?: Field<Body>;
  /** Its own failures; those of every endpoint are known. */
  readonly failures: readonly FailureCode[];
  readonly example: Example;
}

/** The definition of an endpoint, before its types are erased. */
type EndpointDefinition<Body, Data> = Omit<Endpoint<Body, Data>, 'run' | 'headerNames'> & {
  readonly run: Handler<ApiCall<Body>, Data> | Required<StagedHandler<ApiCall<Body>, Data, Services>>;
};

/** Checks the types of one endpoint together, then erases them, so that all endpoints fit in one array. */
export function defineEndpoint<Body, Data>(endpoint: EndpointDefinition<Body, Data>): Endpoint {
  const headers = Object.entries(endpoint.parameters ?? {}).filter(([, parameter]) => parameter.in === 'header');
  const headerNames = headers.map(([name]) => name);
  return { ...endpoint, ...(headerNames.length > 0 && { headerNames }) } as unknown as Endpoint;
}

export const pathParameter = (call: { readonly params: Readonly<Record<string, string>> }, name: string): string =>
  call.params[name] ?? '';
