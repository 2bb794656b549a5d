import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { collectWithoutHelpers } from '../src/start-memory.ts';
import { respond } from './child.ts';

/**
 * `node:https` alone: it reads a body, parses it as JSON and sends a fixed response of the size of a token. With `signs`
 * it signs the body before: the least that a server takes for a request with a signature.
 */
export interface EchoOrder {
  readonly signs: boolean;
  /** Certificate and key, PEM: those of the service, so that the handshakes and records are the same. */
  readonly pem: string;
}

export interface EchoReport {
  readonly port: number;
}

const BODY = JSON.stringify({
  status_code: 200,
  status: 'success',
  desc: 'Tokenization successful',
  data: {
    tokens: [
      {
        card: '411111******1111',
        token: '4111118372951111',
        tags: ['web'],
        scheme: 1,
        status: 1,
        created_by: { user_id: 'key_9m2k4x7p1d8q3r', name: 'bench' },
        createdAt: '2026-01-01T00:00:00.000Z',
      },
    ],
  },
});
const HEADERS = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(BODY) };

// The service does the same.
collectWithoutHelpers();

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

respond(async ({ pem, signs }: EchoOrder): Promise<EchoReport> => {
  const server = createServer({ key: pem, cert: pem, keepAliveTimeout: 65_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      JSON.parse(body.toString());
      const send = (): void => {
        response.writeHead(200, HEADERS);
        response.end(BODY);
      };
      if (signs) sign('sha256', body, privateKey, send);
      else send();
    });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
  return { port };
});
