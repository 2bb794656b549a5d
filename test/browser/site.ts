import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Assets, assetRoutes, browserHeaders } from '../../console/server/assets.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { openLog } from '../../src/http/log.ts';
import { Metrics, NO_WRITES } from '../../src/http/metrics.ts';
import { addPublicRoutes, createBaseServer } from '../../src/http/server.ts';
import { loadOrCreateLocalIdentity } from '../../src/http/tls.ts';

/** The listener of the console with nothing but its files, on a free port. */
export async function startSite(
  assets: Assets | undefined,
  pages: readonly string[],
): Promise<{ port: number; stop(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-site-'));
  const random = systemRandom();
  const metrics = new Metrics(() => NO_WRITES);
  const log = openLog('error', () => Date.now(), { write: () => undefined });
  const reporting = {
    log,
    metrics,
    listener: 'console',
    headers: browserHeaders('max-age=31536000'),
    stopwatch: () => 0,
  };
  const app = createBaseServer({ ...reporting, random, trustedProxies: [] });
  addPublicRoutes(
    app,
    assetRoutes(assets, pages, { random, cardForm: { isServed: () => false, origin: () => '' } }),
    reporting,
  );
  await app.ready();
  const { certificate, key } = await loadOrCreateLocalIdentity(folder, Date.now);
  const server = createServer({ cert: certificate, key }, (request, response) => app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  };
  return { port: (server.address() as AddressInfo).port, stop };
}
