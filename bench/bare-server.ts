import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const BODY = JSON.stringify({ status: 200, data: { hashValue: 'x'.repeat(200), hashType: 'SHA256' } });
const HEADERS = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(BODY) };

/** Starts `node:https` alone, with the certificate of the service: it reads a body and sends a fixed response. Returns its port. */
export function startBareServer(dataDirectory: string): Promise<number> {
  const pem = readFileSync(join(dataDirectory, 'tls', 'server.pem'), 'utf8');
  const server = createServer({ key: pem, cert: pem, keepAliveTimeout: 65_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(200, HEADERS);
      response.end(BODY);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
