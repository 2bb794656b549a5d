import type { FastifyInstance, FastifyReply } from 'fastify';
import { isAllowed } from '../accounts/allow-list.ts';
import { Failure } from '../kernel/failure.ts';
import { DISTRUST_TEXTS, type Distrust } from '../kernel/time-guard.ts';
import type { Endpoint } from './endpoint.ts';
import type { Metrics } from './metrics.ts';
import { openApi } from './openapi.ts';
import { sendInPieces } from './pieces.ts';
import { REFERENCE_STYLE, referencePage } from './reference-page.ts';
import { refuseOtherMethods } from './server.ts';

/** What every listener serves without a key (decisions: Unversioned helpers). */
export interface Health {
  /** Can the service do its work: does the database read and write? */
  ready(): Promise<boolean>;
  /** Why time is not trusted: requests are served all the same, and what destroys records waits. */
  distrust(): Distrust | undefined;
}

/** No script at all, nothing from elsewhere, not to be framed. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

export function addUnversioned(
  app: FastifyInstance,
  endpoints: readonly Endpoint[],
  health: Health,
  version: string,
): void {
  const document = openApi(endpoints, version);
  const json = Buffer.from(JSON.stringify(document, null, 2));
  const page = Buffer.from(referencePage(document));
  const style = Buffer.from(REFERENCE_STYLE);
  const answer = (reply: FastifyReply, type: string, body: Buffer): FastifyReply =>
    sendInPieces(reply.headers(PAGE_HEADERS).header('content-type', `${type}; charset=utf-8`), body);
  const answerState = (reply: FastifyReply, status: string, warnings: readonly Warning[] = []): FastifyReply => {
    const body = warnings.length === 0 ? { status } : { status, warnings };
    return answer(reply, 'application/json', Buffer.from(JSON.stringify(body)));
  };

  app.get('/healthz', (_request, reply) => answerState(reply, 'ok'));
  app.get('/readyz', async (_request, reply) => {
    const ready = await health.ready();
    if (!ready) reply.code(503).header('retry-after', '2');
    return answerState(reply, ready ? 'ok' : 'unavailable', warningsOf(health));
  });
  app.get('/openapi.json', (_request, reply) => answer(reply, 'application/json', json));
  app.get('/docs', (_request, reply) => answer(reply, 'text/html', page));
  app.get('/docs/style.css', (_request, reply) => answer(reply, 'text/css', style));
  const paths = ['/healthz', '/readyz', '/openapi.json', '/docs', '/docs/style.css'];
  refuseOtherMethods(app, paths.map(onlyRead));
}

/** Conditions that an operator has to act on while the service goes on. */
interface Warning {
  readonly code: string;
  readonly message: string;
}

function warningsOf(health: Health): Warning[] {
  const distrust = health.distrust();
  if (distrust === undefined) return [];
  const message = `${DISTRUST_TEXTS[distrust]}; nothing expires or is deleted until time agrees again or: cardvault clock confirm`;
  return [{ code: 'time_not_trusted', message }];
}

/** Prometheus reads here; the allow-list is its own, because there is no key. */
export function addMetrics(app: FastifyInstance, metrics: Metrics, allowed: readonly string[]): void {
  app.get('/metrics', async (request, reply) => {
    if (!isAllowed(allowed, request.ip)) throw new Failure('access_denied');
    return reply.header('content-type', metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  refuseOtherMethods(app, [onlyRead('/metrics')]);
}

const onlyRead = (path: string) => ({ path, method: 'GET', family: 'vault' }) as const;
