import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CardvaultClient } from '../../sdk/src/index.ts';
import { Shop } from './shop.ts';

/**
 * Starts a vault in `examples/shop/data` and the shop beside it: `npm run example`, then http://127.0.0.1:3000. The account, its key and
 * its payments are made by the commands that an operator uses.
 */
const ROOT = join(import.meta.dirname, '..', '..');
const LAUNCHER = join(ROOT, 'bin', 'cardvault.mjs');
const PORT = 3000;
const ORIGIN = `http://127.0.0.1:${PORT}`;
const PORTS = { production: 9443, sandbox: 9444, console: 9445, cards: 9446 };
const env = {
  ...process.env,
  CARDVAULT_DATA_DIR: join(import.meta.dirname, 'data'),
  CARDVAULT_PRODUCTION_PORT: String(PORTS.production),
  CARDVAULT_SANDBOX_PORT: String(PORTS.sandbox),
  CARDVAULT_CONSOLE_PORT: String(PORTS.console),
  CARDVAULT_CAPTURE_PORT: String(PORTS.cards),
  CARDVAULT_LOG_LEVEL: 'warn',
  // Webhooks go to no private address, unless the operator allows it.
  CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8,::1',
};

interface Printed {
  readonly id: string;
  readonly key: string;
  readonly secret: string;
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

const account = run('account', 'create', '--name', 'Example shop');
const tenant = ['--account', account.id, '--environment', 'sandbox'];
const { key: apiKey } = run('key', 'create', ...tenant, '--name', 'shop', '--ip', '127.0.0.1', '--ip', '::1');
run('payments', 'enable', ...tenant);
const webhook = run('webhook', 'create', ...tenant, '--url', `${ORIGIN}/webhook`, '--event', '*');
const vault = spawn(process.execPath, [LAUNCHER, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    vault.kill(signal);
    process.exit(0);
  });
vault.on('exit', (code) => process.exit(code ?? 1));

const certificate = join(env.CARDVAULT_DATA_DIR, 'tls', 'ca.pem');
for (let attempt = 0; attempt < 100 && !existsSync(certificate); attempt++)
  await new Promise((resolve) => setTimeout(resolve, 200));
const ca = readFileSync(certificate, 'utf8');
const vaultUrl = `https://localhost:${PORTS.sandbox}`;
const client = new CardvaultClient({ baseUrl: vaultUrl, apiKey, ca, maxRetries: 0 });
await untilReady(client);
client.close();
const formOrigin = `https://localhost:${PORTS.cards}`;
await new Shop({ origin: ORIGIN, vaultUrl, formOrigin, apiKey, ca, webhookSecret: webhook.secret }).listen(PORT);
process.stdout.write(`shop: ${ORIGIN}
Open ${formOrigin}/healthz once and accept the certificate, or let your browser trust ${certificate}: the form comes from there.
Pay with 4111111111111111, any name, 123 and an expiry to come.
`);
