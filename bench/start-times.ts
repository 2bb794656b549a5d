import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { variables } from './child.ts';

/** Milliseconds from the start of the process to the first 200 of /healthz. */
export interface StartTimes {
  /** In an empty folder: keys, certificate, database and demo account are made. */
  readonly first: number;
  readonly second: number;
}

const POLL_MS = 2;
const PATIENCE_MS = 60_000;

/** A port that was free a moment ago; a port that the service chooses would be unknown here. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The certificate is not checked: on the first start it is not known yet. */
const isHealthy = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, agent: false };
    const outgoing = request(options, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode === 200);
    });
    outgoing.on('error', () => resolve(false));
    outgoing.end();
  });

async function startOnce(directory: string): Promise<number> {
  const port = await freePort();
  const env = { ...variables(directory), CARDVAULT_PRODUCTION_PORT: String(port) };
  const main = join(import.meta.dirname, '..', 'src', 'main.ts');
  const start = performance.now();
  const service = spawn(process.execPath, [main, 'serve'], { env, stdio: 'ignore' });
  try {
    while (!(await isHealthy(port))) {
      if (performance.now() - start > PATIENCE_MS || service.exitCode !== null)
        throw new Error('the service did not start');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return performance.now() - start;
  } finally {
    const ended = once(service, 'exit');
    service.kill('SIGTERM');
    if (service.exitCode === null) await ended;
  }
}

export async function startTimes(directory: string): Promise<StartTimes> {
  return { first: await startOnce(directory), second: await startOnce(directory) };
}
