import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { openConsole } from '../console/open.ts';
import { PERMISSIONS } from '../src/accounts/permission.ts';
import { startService } from '../src/app.ts';
import { Captures } from '../src/captures/captures.ts';
import type { Core, RunningService } from '../src/cli/context.ts';
import { parseConfig } from '../src/config.ts';
import { ENDPOINTS } from '../src/http/endpoints.ts';
import { openLog } from '../src/http/log.ts';
import { DAY, MINUTE } from '../src/kernel/clock.ts';
import type { Tenant } from '../src/kernel/environment.ts';
import type { Pan } from '../src/kernel/pan.ts';
import { Vault } from '../src/vault/vault.ts';
import { systemClocks } from '../test/fixtures/clock.ts';
import { inTransaction } from '../test/fixtures/transactions.ts';
import { startBareServer } from './bare-server.ts';
import { comparisons } from './comparisons.ts';
import { randomPan } from './requests.ts';

/**
 * The server under load: the service as it is served, in a process of its own, with the routes of the comparisons
 * beside its own, an account with a key, and some tokens and captures to read.
 */
export type ServerOrder =
  | { readonly kind: 'usage' }
  | { readonly kind: 'configure'; readonly settings: Readonly<Record<string, string>> }
  | { readonly kind: 'stop' };

export interface Usage {
  /** CPU microseconds of all threads, and of the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
  /** Groups sent to the writer of SQLite so far. */
  readonly groups: number;
}

export interface Ready {
  readonly port: number;
  /** The port of `node:https` alone, in the same process. */
  readonly barePort: number;
  readonly authority: string;
  readonly secret: string;
  readonly tokens: readonly string[];
  readonly captures: readonly string[];
}

export type ServerReport =
  | { readonly ready: Ready }
  | { readonly usage: Usage }
  | { readonly configured: true }
  | { readonly stopped: true }
  | { readonly error: string };

const TOKENS_AT_ONCE = 1000;
const OPERATOR = { actor: { type: 'operator' as const, name: 'bench' } };
const ENVIRONMENT = 'production';

const clock = (): number => Date.now();
const report = (message: ServerReport): void => void process.send?.(message);

/** Counted on their way to the writer's thread, which reports no numbers. */
let groups = 0;
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: { kind?: string }, ...rest: []) {
  if (message.kind === 'group') groups++;
  return post.call(this, message, ...rest);
};

function usage(): Usage {
  const all = process.cpuUsage();
  const main = process.threadCpuUsage();
  return { cpu: all.user + all.system, main: main.user + main.system, rss: process.memoryUsage.rss(), groups };
}

async function makeKey({ accounts, transactions }: Core): Promise<{ secret: string; tenant: Tenant }> {
  const { id } = await transactions.run({ origin: OPERATOR }, (transaction) => accounts.create(transaction, 'Bench'));
  const traits = {
    name: 'bench',
    description: '',
    permissions: PERMISSIONS,
    allowList: [{ cidr: '127.0.0.0/8', note: '' }],
    expiresAt: undefined,
  };
  const { secret } = await transactions.run({ origin: OPERATOR }, (transaction) =>
    accounts.createKey(transaction, id, ENVIRONMENT, traits),
  );
  return { secret, tenant: { account: id, environment: ENVIRONMENT } };
}

const card = () => ({ pan: randomPan() as Pan, name: 'Ana Lopez', expiry: { month: '12', year: '2029' } });

/** Returns the last thousand tokens at least; `count` is how many there are in the database then. */
async function fillTokens({ database, keyring, time, random }: Core, tenant: Tenant, count: number): Promise<string[]> {
  const vault = new Vault({ database, keyring, time, random });
  const tokens: string[] = [];
  for (let created = 0; created < count; created += TOKENS_AT_ONCE) {
    const cards = Array.from({ length: TOKENS_AT_ONCE }, card);
    const format = { scheme: 1, bin: 6 } as const;
    const creator = { id: 'key_9m2k4x7p1d8q3r', name: 'bench' };
    const request = { cards, tags: ['web'], format, persistent: false, creator };
    const results = await inTransaction({ database, clock }, (transaction) =>
      vault.tokenize(transaction, tenant, request),
    );
    if (tokens.length < 20_000) tokens.push(...results.flatMap(({ token }) => token?.token ?? []));
  }
  return tokens;
}

function fillCaptures(
  { database, keyring, sadKeys, time, random }: Core,
  tenant: Tenant,
  count: number,
): Promise<string[]> {
  const vault = new Vault({ database, keyring, time, random });
  const captures = new Captures({ database, keyring, sadKeys, vault, time, random });
  const create = (_: unknown, index: number): Promise<string> => {
    const additionalInfo = { order: `A-${100_000 + index}` };
    const sad = { cvv: '123', track2: undefined };
    const rest = { amount: 12_500, currency: 'USD', additionalInfo, sad, ttlMinutes: DAY / MINUTE };
    return inTransaction({ database, clock }, (transaction) =>
      captures.create(transaction, tenant, { ...card(), ...rest }),
    );
  };
  return Promise.all(Array.from({ length: count }, create));
}

/** Keys of a merchant and its processor. */
async function configureProxy({ configurations, transactions }: Core, tenant: Tenant): Promise<void> {
  const pair = () =>
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
  const keys = {
    processorPublicKey: Buffer.from(pair().publicKey),
    merchantPrivateKey: Buffer.from(pair().privateKey),
  };
  await transactions.run({ origin: OPERATOR }, (transaction) =>
    configurations.configure(transaction, tenant, { ...keys, settings: {}, overlapMinutes: 0 }),
  );
}

interface Started {
  readonly running: RunningService;
  readonly tenant: Tenant | undefined;
}

/** `rows`: tokens to make; a node that joins another one finds all there is in their database. */
async function start(rows: number | 'joins'): Promise<Started> {
  let core: Core | undefined;
  const opened = (): Core => {
    if (core === undefined) throw new Error('the service is not open yet');
    return core;
  };
  const config = parseConfig(process.env);
  const running = await startService(config, systemClocks, openLog(config.logLevel, clock), {
    openConsole,
    endpoints: [...ENDPOINTS, ...comparisons(opened)],
  });
  core = running.core;
  const authority = readFileSync(running.caFile ?? '', 'utf8');
  const barePort = await startBareServer(config.dataDirectory);
  const reached = { port: running.ports[ENVIRONMENT], barePort, authority };
  if (rows === 'joins') {
    report({ ready: { ...reached, secret: '', tokens: [], captures: [] } });
    return { running, tenant: undefined };
  }
  const { secret, tenant } = await makeKey(core);
  const tokens = await fillTokens(core, tenant, rows);
  await configureProxy(core, tenant);
  const activation = { processor: 'simulator', settings: {}, force: true };
  await core.transactions.run({ origin: OPERATOR }, (transaction) =>
    core.activations.enable(transaction, tenant, activation),
  );
  const captures = await fillCaptures(core, tenant, Math.min(rows, 10_000));
  report({ ready: { ...reached, secret, tokens, captures } });
  return { running, tenant };
}

const [, , scenario] = process.argv;
const starting = start(scenario === 'joins' ? scenario : Number(scenario));
starting.catch((error: Error) => report({ error: error.stack ?? error.message }));

process.on('message', async (order: ServerOrder) => {
  if (order.kind === 'usage') return report({ usage: usage() });
  const { running, tenant } = await starting;
  if (order.kind === 'configure') {
    if (tenant === undefined) return report({ error: 'a node that joined has no account of its own' });
    await running.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      running.core.configurations.configure(transaction, tenant, { settings: order.settings, overlapMinutes: 0 }),
    );
    return report({ configured: true });
  }
  await running.stop();
  process.send?.({ stopped: true } satisfies ServerReport, () => process.exit(0));
});
process.on('disconnect', () => process.exit(0));
