import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { loadOrCreateLocalIdentity } from '../../src/http/tls.ts';
import type { TestService } from '../fixtures/test-service.ts';

/** Another site on the same machine: nothing but an empty page, which does what the test says. */
export interface HostileSite {
  readonly port: number;
  stop(): void;
}

/** It shows the key of the service itself, because the browser trusts no other; to browsers it is another origin all the same. */
export async function startHostileSite(service: TestService): Promise<HostileSite> {
  const { certificate, key } = await loadOrCreateLocalIdentity(join(service.directory, 'tls'), service.now);
  const server = createServer({ cert: certificate, key }, (_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>You have won</title><link rel="icon" href="data:,"><h1>You have won</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, stop };
}
