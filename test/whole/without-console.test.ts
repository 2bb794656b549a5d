import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { withoutSettings } from '../fixtures/command.ts';
import { isLong } from '../scope.ts';

/** A copy of the project without console/: the vault that an auditor reads has to run without it. */

const ROOT = join(import.meta.dirname, '..', '..');
const CARD = '4111111111111111';

interface Started {
  readonly production: string;
  readonly sandbox: string;
  readonly console: string;
  readonly authority_file: string;
  readonly demo_key: string;
  readonly operator_invitation_file: string | null;
}

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: documents of every shape
  readonly json: any;
}

describe('a vault without the folder of the console', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const data = join(folder, 'data');
  const env = {
    ...withoutSettings(process.env),
    // The compiled sources of the copy are removed with it.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    CARDVAULT_DATA_DIR: data,
    CARDVAULT_PRODUCTION_PORT: '0',
    CARDVAULT_SANDBOX_PORT: '0',
    CARDVAULT_CONSOLE_PORT: '0',
    CARDVAULT_CAPTURE_PORT: '0',
  };
  let service: ChildProcess;
  let started: Started;

  before(async () => {
    for (const path of ['src', 'bin', 'package.json'])
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    service = spawn(process.execPath, [join(folder, 'bin', 'cardvault.mjs'), 'serve', '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    started = JSON.parse(await firstDocument(service));
  });
  after(async () => {
    service.kill('SIGTERM');
    if (service.exitCode === null) await once(service, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });

  const call = (method: string, url: string, { key, body }: { key?: string; body?: unknown } = {}): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(key !== undefined && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      const ca = readFileSync(join(data, 'tls', 'ca.pem'));
      const outgoing = request(url, { method, headers, ca }, async (incoming) => {
        let text = '';
        for await (const chunk of incoming) text += chunk;
        resolve({ status: incoming.statusCode ?? 0, json: text.startsWith('{') ? JSON.parse(text) : text });
      });
      outgoing.on('error', reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });

  const run = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const child = spawn(process.execPath, [join(folder, 'bin', 'cardvault.mjs'), ...args], { env });
    const streams = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      streams.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      streams.err += text;
    });
    const [code] = await once(child, 'close');
    return { code, ...streams };
  };

  test('starts, and serves its interface', async () => {
    assert.equal(existsSync(join(folder, 'console')), false);
    assert.equal(started.operator_invitation_file, null);
    const key = started.demo_key;
    const shown = await call('GET', `${started.sandbox}/v1/account`, { key });
    assert.equal(shown.status, 200);
    const card = { card: CARD, name: 'Ana Lopez', exp: '12/29' };
    const body = { chd: [card], tags: [], scheme: 1 };
    const created = await call('POST', `${started.sandbox}/v1/tokenization/simple`, { key, body });
    assert.equal(created.status, 200, JSON.stringify(created.json));
    assert.equal(JSON.stringify(created.json).includes(CARD), false);
    assert.equal((await call('GET', `${started.production}/v1/account`, { key })).status, 403);
  });

  test('serves health and metrics, but no console', async () => {
    assert.equal((await call('GET', `${started.console}/healthz`)).status, 200);
    assert.equal((await call('GET', `${started.console}/metrics`)).status, 200);
    for (const path of ['/', '/api/session', '/assets/index.js'])
      assert.equal((await call('GET', `${started.console}${path}`)).status, 404, path);
  });

  test('has all commands except those of the console', async () => {
    const { out } = await run('--help');
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
    for (const name of ['serve', 'account', 'key', 'payments', 'proxy', 'audit', 'backup', 'copy', 'keyring', 'clock'])
      assert.ok(commands.includes(name), name);
    assert.equal(commands.includes('operator'), false);
    const shown = await call('GET', `${started.sandbox}/v1/account`, { key: started.demo_key });
    const enable = ['payments', 'enable', '--account', shown.json.data.id, '--environment', 'sandbox'];
    const enabled = await run(...enable, '--processor', 'simulator', '--json');
    assert.equal(enabled.code, 0, enabled.err);
    if (!isLong) return;
    assert.equal((await run('operator', 'list')).code, 2);
    assert.equal((await run('audit', 'verify', '--json')).code, 0);
  });

  test('replaces no keys that rows of the console need', async () => {
    assert.equal((await run('keyring', 'rotate', 'digests')).code, 0);
    const database = new DatabaseSync(join(data, 'cardvault.db'));
    // The key that the console creates when it is opened.
    const [row = {}] = database.prepare("select * from wrapped_keys where purpose = 'row-macs' limit 1").all();
    const columns = Object.keys(row);
    database
      .prepare(`insert into wrapped_keys (${columns.join()}) values (${columns.map(() => '?').join()})`)
      .run(...columns.map((name) => (name === 'purpose' ? 'people-digests' : (row[name] ?? null))));
    database.close();
    const refused = await run('keyring', 'rotate', 'digests');
    assert.ok(refused.code === 2 && /the console is not installed/.test(refused.err), refused.err);
  });

  test('does not copy a vault, because the tables of the console are part of it', async () => {
    const target = join(folder, 'target.db');
    const copied = await run(
      'copy',
      '--from',
      `sqlite:${join(data, 'cardvault.db')}`,
      '--to',
      `sqlite:${target}`,
      '--force',
    );
    assert.notEqual(copied.code, 0);
    assert.match(copied.err, /the console is not installed/);
  });
});

/** The JSON that the service prints once it listens. */
function firstDocument(service: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    service.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      try {
        JSON.parse(text);
        resolve(text);
      } catch {
        // More of it follows.
      }
    });
    service.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
}
