import { PERMISSIONS, type Permission } from '../accounts/permission.ts';
import type { Origin } from '../audit/audit.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { ScanQueue } from '../storage/pagination.ts';
import type { Creator } from '../vault/token.ts';
import type { Endpoint, Services } from './endpoint.ts';
import { retrieveCapture } from './endpoints/retrieve-capture.ts';
import { getAccount, showAccount } from './endpoints/show-account.ts';
import { ENDPOINTS } from './endpoints.ts';
import { Pipeline } from './pipeline.ts';
import { renderFailure, toFailure } from './problems.ts';
import type { Door, Grant, RequestHead } from './route.ts';

/** A request of a signed-in user to an endpoint. */
export interface WorkbenchRequest {
  readonly operationId: string;
  /** Value of the parameter in the path; empty for a path without one. */
  readonly parameter: string;
  /** Without the question mark. */
  readonly query: string;
  readonly text: string;
  readonly tenant: Tenant;
  readonly origin: Origin;
  /** Named as the creator of a token where a request of the API names its key. */
  readonly creator: Creator;
  readonly now: number;
}

interface WorkbenchResponse {
  readonly status: number;
  /** JSON text in lines. */
  readonly response: string;
  readonly failure: Failure | undefined;
}

interface WorkbenchGrant extends Grant {
  readonly tenant: Tenant;
  readonly key: Creator & { readonly permissions: readonly Permission[] };
}

/**
 * The endpoints of the workbench: all but the one that returns complete card numbers, which no browser gets, those about the
 * calling key, and those that return secrets for servers.
 */
export const WORKBENCH_ENDPOINTS: readonly Endpoint[] = ENDPOINTS.filter(
  (endpoint) =>
    ![retrieveCapture, showAccount, getAccount].includes(endpoint) &&
    endpoint.tag !== 'Webhooks' &&
    endpoint.tag !== 'Card form',
);

type WorkbenchServices = Omit<Services, 'webhooks' | 'captureSessions' | 'cardForm'>;

/** The console has checked the access of its user. */
const OPEN_DOOR: Pick<Door<Endpoint, WorkbenchGrant>, 'contextOf'> = {
  contextOf: ({ tenant, origin }) => ({ account: tenant.account, origin }),
};

const SERVER_ERROR = 500;

/** Serves requests of signed-in users by the pipeline of the API, as if a key with all permissions had sent them. */
export class Workbench {
  readonly #pipelines: ReadonlyMap<string, Pipeline>;

  constructor(services: WorkbenchServices, { transactions, clock }: { transactions: Transactions; clock: Clock }) {
    const options = { door: OPEN_DOOR as Door, services, transactions, clock, turns: new ScanQueue() };
    this.#pipelines = new Map(
      WORKBENCH_ENDPOINTS.map((endpoint) => [endpoint.operationId, new Pipeline(endpoint, options)]),
    );
  }

  /** Returns the response of the endpoint. An error of the caller is a response, too; any other error is thrown. */
  async run({
    operationId,
    tenant,
    origin,
    creator,
    now,
    text,
    ...address
  }: WorkbenchRequest): Promise<WorkbenchResponse> {
    const pipeline = this.#pipelines.get(operationId);
    if (pipeline === undefined) throw new Failure('unknown_path');
    const grant: WorkbenchGrant = { at: now, tenant, origin, key: { ...creator, permissions: PERMISSIONS } };
    try {
      const response = await pipeline.execute(grant, toHead(pipeline.route.path, origin, address), Buffer.from(text));
      if (!('body' in response)) throw new Failure('internal');
      return { status: response.status, response: indentJson(response.body), failure: undefined };
    } catch (error) {
      const failure = toFailure(error);
      const { status, body } = renderFailure(failure, pipeline.route.family);
      if (status >= SERVER_ERROR) throw error;
      return { status, response: indentJson(body), failure };
    }
  }
}

function toHead(
  path: string,
  { requestId = '', address = '' }: Origin,
  { parameter, query }: Pick<WorkbenchRequest, 'parameter' | 'query'>,
): RequestHead {
  const [, name] = /:([a-z]+)/.exec(path) ?? [];
  const params = name === undefined ? {} : { [name]: parameter };
  return { id: requestId, address, params, query, header: () => undefined, onFinished: () => undefined };
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:\s]+/g;

/** Breaks compact JSON into lines. Numbers keep their digits, which a parser would round. */
function indentJson(text: string): string {
  let depth = 0;
  let last = '';
  let result = '';
  for (const [token] of text.matchAll(JSON_TOKENS)) {
    const isFirst = last === '{' || last === '[';
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth--;
    // An empty object or array stays on its line.
    if (last === ',' || isFirst !== isEnd) result += `\n${'  '.repeat(depth)}`;
    result += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    last = token;
  }
  return result;
}
