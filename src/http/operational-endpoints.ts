import type { FastifyReply } from 'fastify';
import { isAllowed } from '../accounts/allow-list.ts';
import type { Environment } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { DISTRUST_TEXTS, type Distrust } from '../kernel/time-guard.ts';
import type { Endpoint } from './endpoint.ts';
import { buildOpenApi } from './openapi.ts';
import { nameSchemas } from './openapi-components.ts';
import { REFERENCE_STYLE, renderReferencePage } from './reference-page.ts';
import { type PublicRoute, sendInChunks } from './server.ts';

/** The endpoints of every listener without a key (decisions: Unversioned helpers). */
export interface Health {
  /** True when the service works: the database can be read and written. */
  isReady(): Promise<boolean>;
  /** Why time is not trusted: requests are served nevertheless, and periodic work that destroys records waits. */
  distrust(): Distrust | undefined;
  /** True when the root key is in clear in the data directory although API keys for production exist. */
  isRootKeyExposed(): Promise<boolean>;
  /** Number of keys that are older than their period. */
  countOverdueKeys(): Promise<number>;
}

/** No script, no foreign resources, no framing. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** Facts about the service in the reference. */
interface ReferenceFacts {
  readonly version: string;
  /** Address of an environment; known once the listeners listen. */
  apiUrl(environment: Environment): string;
}

export function operationalRoutes(
  endpoints: readonly Endpoint[],
  health: Health,
  facts: ReferenceFacts,
): PublicRoute[] {
  let rendered: Reference | undefined;
  const reference = (): Reference => {
    rendered ??= renderReference(endpoints, facts);
    return rendered;
  };
  return [
    ...healthRoutes(health, (isReady) => listWarnings(health, isReady)),
    toGetRoute('/openapi.json', (_request, reply) => send(reply, 'application/json', reference().json)),
    toGetRoute('/docs', (_request, reply) => send(reply, 'text/html', reference().page)),
    toGetRoute('/docs/style.css', (_request, reply) => send(reply, 'text/css', Buffer.from(REFERENCE_STYLE))),
  ];
}

/** Without warnings, for a listener that faces the internet: they tell an attacker what is weak. */
export const publicHealthRoutes = (health: Pick<Health, 'isReady'>): PublicRoute[] =>
  healthRoutes(health, async () => []);

function healthRoutes(
  { isReady }: Pick<Health, 'isReady'>,
  warningsOf: (isReady: boolean) => Promise<readonly Warning[]>,
): PublicRoute[] {
  const sendState = (reply: FastifyReply, status: string, warnings: readonly Warning[] = []): FastifyReply => {
    const body = warnings.length === 0 ? { status } : { status, warnings };
    return send(reply, 'application/json', Buffer.from(JSON.stringify(body)));
  };
  return [
    toGetRoute('/healthz', (_request, reply) => sendState(reply, 'ok')),
    toGetRoute('/readyz', async (_request, reply) => {
      const ready = await isReady();
      if (!ready) reply.code(503).header('retry-after', '2');
      return sendState(reply, ready ? 'ok' : 'unavailable', await warningsOf(ready));
    }),
  ];
}

const send = (reply: FastifyReply, type: string, body: Buffer): FastifyReply =>
  sendInChunks(reply.headers(PAGE_HEADERS).header('content-type', `${type}; charset=utf-8`), body);

type Reference = ReturnType<typeof renderReference>;

/** Called for the first reader, because few threads have one. */
function renderReference(endpoints: readonly Endpoint[], { version, apiUrl }: ReferenceFacts) {
  const document = buildOpenApi(endpoints, version, apiUrl);
  return {
    json: Buffer.from(JSON.stringify(nameSchemas(document), null, 2)),
    page: Buffer.from(renderReferencePage(document, apiUrl('sandbox'))),
  };
}

/** Conditions that need an operator while the service continues to run. */
interface Warning {
  readonly code: string;
  readonly message: string;
}

async function listWarnings(health: Health, isReady: boolean): Promise<Warning[]> {
  const warnings: Warning[] = [];
  const distrust = health.distrust();
  if (distrust !== undefined) {
    const message = `${DISTRUST_TEXTS[distrust]}; nothing expires or is deleted until time agrees again or: cardvault clock confirm`;
    warnings.push({ code: 'time_not_trusted', message });
  }
  // Reading it needs the database.
  if (isReady && (await health.isRootKeyExposed().catch(() => false)))
    warnings.push({ code: 'root_key_in_data_directory', message: ROOT_KEY_WARNING });
  // A database that cannot be read is reported by the status.
  const overdue = isReady ? await health.countOverdueKeys().catch(() => 0) : 0;
  if (overdue > 0) {
    const message = `${overdue} keys are older than their period; rotate them: cardvault keyring rotate`;
    warnings.push({ code: 'key_rotation_due', message });
  }
  return warnings;
}

const ROOT_KEY_WARNING =
  'the root key is in clear in the data directory although API keys for production exist; choose another custody: cardvault keyring custody move';

/** All metrics in the text format of Prometheus. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** Prometheus reads here; there is a separate allow-list, because there is no key. */
export const metricsRoute = (collect: () => Promise<MetricsText>, allowed: readonly string[]): PublicRoute =>
  toGetRoute('/metrics', async (request, reply) => {
    if (!isAllowed(allowed, request.ip)) throw new Failure('access_denied');
    const collected = await collect();
    return reply.header('content-type', collected.contentType).send(await collected.metrics());
  });

const toGetRoute = (path: string, handle: PublicRoute['handle']): PublicRoute => ({
  method: 'GET',
  path,
  family: 'vault',
  handle,
});
