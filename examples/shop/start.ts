import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CardvaultClient } from '../../sdk/src/index.ts';
import { Shop } from './shop.ts';

/**
 * Starts a vault in `examples/shop/data` and the shop beside it: `npm run example`, then http://127.0.0.1:3000. The account, its key and
 * its payments are made by the commands that an operator uses, at the first start; later ones use them again. `EXAMPLE_DATA_DIR`,
 * `EXAMPLE_PORT` (of the shop) and `EXAMPLE_VAULT_PORTS` (production, sandbox, console, card form) name others.
 */
const ROOT = join(import.meta.dirname, '..', '..');
const LAUNCHER = join(ROOT, 'bin', 'cardvault.mjs');
const PORT = Number(process.env['EXAMPLE_PORT'] ?? 3000);
const ORIGIN = `http://127.0.0.1:${PORT}`;
const [production = '', sandbox = '', consolePort = '', cards = ''] = (
  process.env['EXAMPLE_VAULT_PORTS'] ?? '9443,9444,9445,9446'
).split(',');
const DATA = process.env['EXAMPLE_DATA_DIR'] ?? join(import.meta.dirname, 'data');
/** What the first start has made; keys and secrets of webhooks are shown once. */
const MADE = join(DATA, 'example-shop.json');
const env = {
  // Settings of another vault on this machine, such as its database, are not those of the example.
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CARDVAULT_'))),
  CARDVAULT_DATA_DIR: DATA,
  CARDVAULT_PRODUCTION_PORT: production,
  CARDVAULT_SANDBOX_PORT: sandbox,
  CARDVAULT_CONSOLE_PORT: consolePort,
  CARDVAULT_CAPTURE_PORT: cards,
  CARDVAULT_LOG_LEVEL: 'warn',
  // Webhooks go to no private address, unless the operator allows it.
  CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8,::1',
};

interface Printed {
  readonly id: string;
  readonly key: string;
  readonly secret: string;
}

interface Made {
  readonly account: string;
  readonly apiKey: string;
  readonly webhook: string;
  readonly webhookSecret: string;
  /** Origin of the shop, at which the webhook is sent. */
  readonly origin: string;
}

function run(...args: readonly string[]): Printed {
  const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, ...args, '--json'], {
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Printed;
}

async function untilReady(client: CardvaultClient): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      await client.account();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  throw new Error('the vault did not start');
}

const tenantOf = (account: string): string[] => ['--account', account, '--environment', 'sandbox'];

function make(): Made {
  const account = run('account', 'create', '--name', 'Example shop').id;
  const tenant = tenantOf(account);
  const { key: apiKey } = run('key', 'create', ...tenant, '--name', 'shop', '--ip', '127.0.0.1', '--ip', '::1');
  run('payments', 'enable', ...tenant);
  const { id, secret } = run('webhook', 'create', ...tenant, '--url', `${ORIGIN}/webhook`, '--event', '*');
  return { account, apiKey, webhook: id, webhookSecret: secret, origin: ORIGIN };
}

/** Returns what an earlier start has made, or makes it. */
function findOrMake(): Made {
  const earlier = existsSync(MADE) ? (JSON.parse(readFileSync(MADE, 'utf8')) as Made) : undefined;
  if (earlier?.origin === ORIGIN) return earlier;
  if (earlier !== undefined)
    run('webhook', 'update', earlier.webhook, ...tenantOf(earlier.account), '--url', `${ORIGIN}/webhook`);
  const made = earlier === undefined ? make() : { ...earlier, origin: ORIGIN };
  writeFileSync(MADE, JSON.stringify(made), { mode: 0o600 });
  return made;
}

const { apiKey, webhookSecret } = findOrMake();
const vault = spawn(process.execPath, [LAUNCHER, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
// The shop ends after the vault, with its exit code, and leaves no vault behind when it fails itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => vault.kill(signal));
process.on('exit', () => vault.kill());
vault.on('exit', (code) => process.exit(code ?? 1));

const certificate = join(env.CARDVAULT_DATA_DIR, 'tls', 'ca.pem');
for (let attempt = 0; attempt < 100 && !existsSync(certificate); attempt++)
  await new Promise((resolve) => setTimeout(resolve, 200));
const ca = readFileSync(certificate, 'utf8');
const vaultUrl = `https://localhost:${sandbox}`;
const client = new CardvaultClient({ baseUrl: vaultUrl, apiKey, ca, maxRetries: 0 });
await untilReady(client);
client.close();
const formOrigin = `https://localhost:${cards}`;
await new Shop({ origin: ORIGIN, vaultUrl, formOrigin, apiKey, ca, webhookSecret }).listen(PORT);
process.stdout.write(`shop: ${ORIGIN}
Open ${formOrigin}/healthz once and accept the certificate, or let your browser trust ${certificate}: the form comes from there.
Pay with 4111111111111111, any name, 123 and an expiry to come.
`);
