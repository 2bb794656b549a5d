import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newDirectory, removeDirectory, runCommand } from '../fixtures/service-process.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { onlyLong } from '../scope.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DIGITS = '4111111111111111';

/** Ports that were free a moment ago: the example needs to know them before it listens. */
async function freePorts(count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(probes.map((probe) => once(probe, 'listening')));
  const ports = probes.map((probe) => (probe.address() as AddressInfo).port);
  await Promise.all(probes.map((probe) => once(probe.close(), 'close')));
  return ports;
}

describe('npm run example', { skip: onlyLong, timeout: 240_000 }, () => {
  let directory: string;
  let ports: number[];
  let running: ReturnType<typeof spawn> | undefined;
  before(async () => {
    directory = newDirectory();
    ports = await freePorts(5);
  });
  after(async () => {
    if (running?.pid !== undefined && running.exitCode === null) process.kill(-running.pid, 'SIGKILL');
    removeDirectory(directory);
  });

  /** Starts it as a user does, and returns it when it has said its address. */
  async function start() {
    const [shop, ...vault] = ports;
    const variables = {
      EXAMPLE_DATA_DIR: directory,
      EXAMPLE_PORT: String(shop),
      EXAMPLE_VAULT_PORTS: vault.join(','),
      // A setting of another vault, which the example does not use: it would not start with it.
      CARDVAULT_ROOT_KEY_FILE: '/nonexistent/root.key',
    };
    // A group of processes of its own, to which a terminal sends the signal of Ctrl+C.
    const child = spawn('npm', ['run', 'example'], {
      cwd: ROOT,
      env: { ...process.env, ...variables },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running = child;
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output.text += text;
      });
    await untilPasses(async () => {
      assert.equal(child.exitCode, null, output.text);
      assert.match(output.text, /^Pay with /m);
    }, 60_000);
    const closed = once(child, 'close');
    const stop = async (): Promise<void> => {
      process.kill(-(child.pid as number), 'SIGINT');
      await closed;
    };
    return { screen: output.text, stop };
  }

  const ca = (): string => readFileSync(join(directory, 'tls', 'ca.pem'), 'utf8');

  /** A call of the browser to the listener of the card form. */
  const callForm = (path: string, { secret = '', body = '' } = {}): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const origin = `https://localhost:${ports[4]}`;
      const headers = { origin, 'content-type': 'application/json', authorization: `Bearer ${secret}` };
      const options = body === '' ? { ca: ca() } : { ca: ca(), method: 'POST', headers };
      const sent = request(`${origin}${path}`, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sent.on('error', reject);
      sent.end(body);
    });

  /** Returns the list that a command of the operator prints about the data of the example. */
  async function list(...args: readonly string[]): Promise<{ id: string; name?: string; url?: string }[]> {
    const { code, out, err } = await runCommand(directory, [...args, '--json']);
    assert.equal(code, 0, err);
    return JSON.parse(out);
  }

  async function listMade() {
    const shops = (await list('account', 'list')).filter(({ name }) => name === 'Example shop');
    const tenant = ['--account', shops[0]?.id ?? '', '--environment', 'sandbox'];
    return { shops, webhooks: await list('webhook', 'list', ...tenant) };
  }

  test('starts a vault and the shop, which sells, is paid, and hears of it by its webhook', async () => {
    const { screen, stop } = await start();
    const shop = `http://127.0.0.1:${ports[0]}`;
    assert.ok(screen.includes(`shop: ${shop}\n`), screen);
    assert.ok(screen.includes(`https://localhost:${ports[4]}/healthz`), screen);
    assert.equal((await callForm('/healthz')).status, 200);
    assert.match(await (await fetch(shop)).text(), /A red chair/);
    const body = new URLSearchParams({ 'A red chair': '1' });
    const ordered = await fetch(`${shop}/orders`, { method: 'POST', body, redirect: 'manual' });
    const order = `${shop}${ordered.headers.get('location')}`;
    const page = await (await fetch(order)).text();
    const [, id = '', secret = ''] = /"session":"(cs_[^"]+)","clientSecret":"([^"]+)"/.exec(page) ?? [];
    assert.ok(page.includes(`src="https://localhost:${ports[4]}/v1/cardvault.js"`), page);
    assert.equal((await callForm('/v1/cardvault.js')).status, 200);
    const card = { number: DIGITS, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: crypto.randomUUID() };
    const given = await callForm(`/v1/card/${id}`, { secret, body: JSON.stringify(card) });
    assert.equal(given.status, 200, given.text);
    assert.deepEqual(await (await fetch(`${order}/pay`, { method: 'POST' })).json(), { status: 'paid' });
    // The webhook reaches an address of this machine, which CARDVAULT_WEBHOOK_NETWORKS allows.
    await untilPasses(async () => assert.match(await (await fetch(order)).text(), /payment\.collected/), 60_000);
    await stop();
    await assert.rejects(fetch(shop));
    await assert.rejects(callForm('/healthz'));
  });

  test('uses again what the first start has made, also at another address', async () => {
    const first = await listMade();
    assert.deepEqual([first.shops.length, first.webhooks.length], [1, 1]);
    assert.equal(statSync(join(directory, 'example-shop.json')).mode & 0o777, 0o600);
    ports = [...(await freePorts(1)), ...ports.slice(1)];
    const { stop } = await start();
    await stop();
    const second = await listMade();
    assert.deepEqual(second.shops, first.shops);
    assert.deepEqual(
      second.webhooks.map(({ id, url }) => [id, url]),
      [[first.webhooks[0]?.id, `http://127.0.0.1:${ports[0]}/webhook`]],
    );
  });
});
