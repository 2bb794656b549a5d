import type { GivenShare, UnsealProgress } from '../crypto/custody/share-collector.ts';
import { CustodyError } from '../crypto/custody.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Endpoint } from './endpoint.ts';
import { JSON_TYPE } from './send.ts';
import { addPublicRoutes, createBaseServer, type HttpServer, type PublicRoute, type ServerOptions } from './server.ts';

/** Takes shares over TLS. `source`: the address of the client. */
export interface ShareReceiver {
  addShare(share: GivenShare, source: string): Promise<UnsealProgress>;
}

const RETRY_SECONDS = '5';

/**
 * Returns the server of a listener while the vault is sealed: `/healthz` responds with 200, `/readyz` with 503 and the
 * reason, and every other request gets 503. With a receiver, `POST /unseal` takes a share.
 */
export function createSealedServer(
  options: ServerOptions,
  endpoints: readonly Endpoint[],
  receiver: ShareReceiver | undefined,
): HttpServer {
  const sealedOptions = { ...options, isSealed: true };
  const app = createBaseServer(sealedOptions);
  addPublicRoutes(app, [...healthRoutes, ...(receiver === undefined ? [] : [unsealRoute(receiver)])], sealedOptions);
  for (const endpoint of endpoints) app.servedPaths.add(endpoint);
  return app;
}

const healthRoutes: readonly PublicRoute[] = [
  {
    method: 'GET',
    path: '/healthz',
    family: 'vault',
    handle: (_request, reply) => reply.header('content-type', JSON_TYPE).send(JSON.stringify({ status: 'ok' })),
  },
  {
    method: 'GET',
    path: '/readyz',
    family: 'vault',
    handle: (_request, reply) =>
      reply
        .code(503)
        .header('retry-after', RETRY_SECONDS)
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify({ status: 'unavailable', reason: 'sealed' })),
  },
];

const unsealRoute = (receiver: ShareReceiver): PublicRoute => ({
  method: 'POST',
  path: '/unseal',
  family: 'console',
  bodyLimit: LIMITS.unsealBodyBytes,
  handle: async (request, reply) => {
    const body = request.body as Buffer | undefined;
    const respond = (status: number, value: object) =>
      reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(value));
    try {
      const share = parseShare(body);
      if (share === undefined) return respond(400, { message: 'the share is malformed' });
      return respond(200, await receiver.addShare(share, request.ip));
    } catch (error) {
      if (!(error instanceof CustodyError)) throw error;
      return respond(400, { message: error.message });
    } finally {
      body?.fill(0);
    }
  },
});

function parseShare(body: Buffer | undefined): GivenShare | undefined {
  try {
    const { ceremony, index, share } = JSON.parse(String(body)) as Record<string, unknown>;
    if (typeof ceremony !== 'string' || typeof index !== 'number' || typeof share !== 'string') return undefined;
    return { ceremony, index, share: Uint8Array.from(Buffer.from(share, 'base64')) };
  } catch {
    return undefined;
  }
}
