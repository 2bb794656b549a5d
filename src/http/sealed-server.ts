import type { FastifyReply } from 'fastify';
import type { UnsealProgress } from '../crypto/custody/share-collector.ts';
import type { SealedShare } from '../crypto/custody/share-transport.ts';
import { CustodyError } from '../crypto/custody.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Endpoint } from './endpoint.ts';
import { JSON_TYPE } from './send.ts';
import { addPublicRoutes, createBaseServer, type HttpServer, type PublicRoute, type ServerOptions } from './server.ts';

/** Takes shares over TLS. `source`: the address of the client. */
export interface ShareReceiver {
  /** How far unsealing has come, and the key for which shares are encrypted. */
  progress(): UnsealProgress & { readonly key: string | undefined };
  addShare(share: SealedShare, source: string): Promise<UnsealProgress>;
}

const RETRY_SECONDS = '5';

/**
 * Returns the server of a listener while the vault is sealed: `/healthz` responds with 200, `/readyz` with 503 and the
 * reason, and every other request gets 503. With a receiver, `GET /unseal` shows the key for shares, and `POST /unseal` takes
 * one.
 */
export function createSealedServer(
  options: ServerOptions,
  endpoints: readonly Endpoint[],
  receiver: ShareReceiver | undefined,
): HttpServer {
  const sealedOptions = { ...options, isSealed: true };
  const app = createBaseServer(sealedOptions);
  addPublicRoutes(app, [...healthRoutes, ...(receiver === undefined ? [] : unsealRoutes(receiver))], sealedOptions);
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

const unsealRoutes = (receiver: ShareReceiver): PublicRoute[] => [
  {
    method: 'GET',
    path: '/unseal',
    family: 'console',
    handle: (_request, reply) => sendJson(reply, 200, receiver.progress()),
  },
  {
    method: 'POST',
    path: '/unseal',
    family: 'console',
    bodyLimit: LIMITS.unsealBodyBytes,
    handle: async (request, reply) => {
      const share = parseShare(request.body as Buffer | undefined);
      if (share === undefined) return sendJson(reply, 400, { message: 'the share is malformed' });
      try {
        return sendJson(reply, 200, await receiver.addShare(share, request.ip));
      } catch (error) {
        if (!(error instanceof CustodyError)) throw error;
        return sendJson(reply, 400, { message: error.message });
      }
    },
  },
];

const sendJson = (reply: FastifyReply, status: number, value: object): FastifyReply =>
  reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(value));

function parseShare(body: Buffer | undefined): SealedShare | undefined {
  try {
    const { ceremony, index, share } = JSON.parse(String(body)) as Record<string, unknown>;
    const isShare = typeof ceremony === 'string' && typeof index === 'number' && typeof share === 'string';
    return isShare ? { ceremony, index, share } : undefined;
  } catch {
    return undefined;
  }
}
