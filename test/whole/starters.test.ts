import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { runInProcess, serveInProcess } from '../fixtures/command.ts';
import {
  newDirectory,
  removeDirectory,
  runCommand,
  type ServiceProcess,
  startProcess,
} from '../fixtures/service-process.ts';
import { luhnPan, startTestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';

const ROUNDS = inScope({ usual: 2, long: 20 });
const TOKENIZE = '/v1/tokenization/simple';
const tokenizeBody = (pan: string) => ({ chd: [{ card: pan, name: 'Ana Lopez', exp: '12/29' }], tags: [], scheme: 1 });

describe('starting and stopping the service', { timeout: 240_000 }, () => {
  let directory: string;
  let running: ServiceProcess[] = [];
  beforeEach(() => {
    directory = newDirectory();
  });
  afterEach(async () => {
    await Promise.all(running.map((each) => each.kill()));
    running = [];
    removeDirectory(directory);
  });
  const start = async (variables = {}, where = directory): Promise<ServiceProcess> => {
    const serving = await startProcess(where, variables);
    running.push(serving);
    return serving;
  };
  const tokenize = (serving: ServiceProcess, key: string, pan: string) =>
    serving.call('POST', TOKENIZE, { key, body: tokenizeBody(pan) });
  const fileOf = (name: string): string => readFileSync(join(directory, name), 'utf8');

  test('two concurrent first starts share root key, CA, one demo account and tokens', async () => {
    const both = await Promise.all([start(), start()]);
    const keys = both.flatMap(({ demoKey }) => demoKey ?? []);
    assert.equal(keys.length, 1, 'one of them shows the key');
    const [key = ''] = keys;
    for (const { screen, demoKey } of both) assert.equal(/shown once/.test(screen), demoKey !== undefined);
    // Their output is a pipe, which may end in a log.
    for (const { screen } of both) assert.doesNotMatch(screen, /join#/);
    assert.match(fileOf('operator-invitation'), /\/join#/);

    const pans = Array.from({ length: inScope({ usual: 8, long: 20 }) }, () => luhnPan('411111'));
    const responses = await Promise.all(
      pans.map((pan, index) => tokenize(both[index % 2] as ServiceProcess, key, pan)),
    );
    for (const [index, { status, json, text }] of responses.entries()) {
      assert.equal(status, 200, text);
      // Each process can read the records that the other created.
      const other = both[(index + 1) % 2] as ServiceProcess;
      const seen = await other.call('GET', `/v1/tokens/${json.data.tokens[0].token}/inspect`, { key });
      assert.equal(seen.status, 200);
    }
    await Promise.all(both.map((each) => each.call('GET', '/v1/tokens/none/inspect', { key: 'cv_sandbox_wrong' })));
    await haveOneToken(both, key);
    for (const each of both) assert.equal(await each.stop(), 0);

    assert.equal((await runInProcess(directory, 'account', 'list', '--json')).json.length, 1);
    const verified = await runInProcess(directory, 'audit', 'verify', '--json');
    assert.equal(verified.code, 0, verified.out);
    const left = readdirSync(directory).concat(readdirSync(join(directory, 'tls')));
    assert.deepEqual(
      left.filter((name) => name.endsWith('.new')),
      [],
    );
  });

  /** One persistent card that is sent to both at once has one token. */
  async function haveOneToken(both: readonly ServiceProcess[], key: string): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const body = { ...tokenizeBody(luhnPan('455667')), type: 'persistent' };
      const responses = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (both[index % 2] as ServiceProcess).call('POST', TOKENIZE, { key, body }),
        ),
      );
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
      assert.equal(new Set(responses.map(({ json }) => json.data.tokens[0].token)).size, 1);
    }
  }

  test('a second start reuses everything and prints no key', async () => {
    const first = await serveInProcess(directory);
    const [, key = ''] = /^ {2}(cv_sandbox_\S+)$/m.exec(first.printed) ?? [];
    assert.equal(await first.stop(), 0);
    const beforeSecond = await startTestService({ directory });
    const { json } = await beforeSecond.call('POST', TOKENIZE, { key, body: tokenizeBody('4111111111111111') });
    await beforeSecond.stop();
    const files = ['root.key', ...readdirSync(join(directory, 'tls')).map((name) => join('tls', name))];
    assert.ok(files.length >= 4);
    const before = files.map(fileOf);
    for (const [index, name] of files.entries()) {
      const isSecret = name === 'root.key' || before[index]?.includes('PRIVATE KEY');
      if (isSecret) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    }

    const second = await serveInProcess(directory);
    assert.ok(!second.printed.includes('cv_sandbox_'));
    assert.equal(await second.stop(), 0);
    const afterSecond = await startTestService({ directory });
    try {
      assert.deepEqual(files.map(fileOf), before);
      const seen = await afterSecond.call('GET', `/v1/tokens/${json.data.tokens[0].token}/inspect`, { key });
      assert.equal(seen.json.data.card_truncated, '411111******1111');
    } finally {
      await afterSecond.stop();
    }
  });

  test('without the root key of an existing database nothing starts and no new key is created', async () => {
    await newVault(directory);
    const keyFile = join(directory, 'root.key');
    rmSync(keyFile);
    for (const run of [
      () => runCommand(directory, ['serve']),
      () => runInProcess(directory, 'account', 'list'),
      () => runInProcess(directory, 'audit', 'verify'),
    ]) {
      const { code, out, err } = await run();
      assert.equal(code, 1);
      assert.equal(out, '');
      assert.match(err, /root key file .*root\.key is missing.*backup/);
      assert.equal(existsSync(keyFile), false);
    }
  });

  test('the root key of another vault is rejected', async () => {
    const other = newDirectory();
    await Promise.all([directory, other].map(newVault));
    copyFileSync(join(other, 'root.key'), join(directory, 'root.key'));
    const failure = await serveInProcess(directory).catch((error: Error) => error.message);
    assert.match(String(failure), /root key does not open this database/);
    assert.ok(!String(failure).includes(readFileSync(join(other, 'root.key'), 'utf8').trim()));
    removeDirectory(other);
  });

  test('a damaged root key, and one that others can read, are rejected', async () => {
    await newVault(directory);
    const [damaged, open] = [join(directory, 'damaged.key'), join(directory, 'root.key')];
    writeFileSync(damaged, readFileSync(open, 'utf8').slice(0, -2), { mode: 0o600 });
    await assert.rejects(serveInProcess(directory, [], { CARDVAULT_ROOT_KEY_FILE: damaged }), /is damaged/);
    chmodSync(open, 0o644);
    await assert.rejects(serveInProcess(directory), /can be read by others.*chmod 600/);
  });

  test('SIGTERM lets a request in progress complete, accepts no new one, and ends with 0', async () => {
    const serving = await start();
    const { authority, ports, child, demoKey: key = '' } = serving;
    const body = JSON.stringify(tokenizeBody('4111111111111111'));
    const half = Math.floor(body.length / 2);
    const outgoing = request({
      host: '127.0.0.1',
      servername: 'localhost',
      port: ports.sandbox,
      method: 'POST',
      path: TOKENIZE,
      ca: authority,
      agent: false,
      headers: {
        'x-api-key': key,
        'content-type': 'application/json',
        'content-length': String(body.length),
        expect: '100-continue',
      },
    });
    const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
      outgoing.on('error', reject);
      outgoing.on('response', async (incoming) => {
        let text = '';
        for await (const chunk of incoming) text += String(chunk);
        resolve({ status: incoming.statusCode ?? 0, text });
      });
    });
    outgoing.flushHeaders();
    await new Promise((resolve) => outgoing.on('continue', resolve));
    outgoing.write(body.slice(0, half));
    // A second signal could arrive when Node has no handler any more, so this waits for the end of the process.
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    while (await takesConnections(ports.sandbox)) await pause(20);
    assert.equal(child.exitCode, null);
    outgoing.end(body.slice(half));
    const { status, text } = await answered;
    assert.equal(status, 200, text);
    assert.equal(await ended, 0);

    const next = await startTestService({ directory });
    try {
      const { token } = JSON.parse(text).data.tokens[0];
      assert.equal((await next.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 200);
    } finally {
      await next.stop();
    }
  });

  test('an invalid configuration reports every problem and exits with 2', async () => {
    const variables = {
      CARDVAULT_SANDBOX_PORT: 'many',
      CARDVAULT_LOG_LEVEL: 'loud',
      CARDVAULT_RATE_LIMIT_PER_KEY: '-1',
      CARDVAULT_HOST: 'somewhere',
      CARDVAULT_TLS_CERT: '/nowhere.pem',
      CARDVAULT_TPYO: '1',
    };
    const fresh = join(directory, 'fresh');
    const { code, out, err } = await runCommand(fresh, ['serve'], variables);
    assert.equal(code, 2);
    assert.equal(out, '');
    for (const name of Object.keys(variables)) assert.match(err, new RegExp(`- .*${name}`), name);
    assert.equal(existsSync(fresh), false, 'nothing is made');
  });

  test('a port in use is reported, and the listeners opened before it are closed', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.on('listening', resolve));
    const { port } = holder.address() as AddressInfo;
    const { code, out, err } = await runCommand(directory, ['serve'], { CARDVAULT_CONSOLE_PORT: String(port) });
    holder.close();
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, new RegExp(`cannot listen on 127\\.0\\.0\\.1 port ${port}.*EADDRINUSE`));
    const { printed, stop } = await serveInProcess(directory);
    assert.match(printed, /^ {2}cv_sandbox_/m, 'the demo key was not used up by a start that failed');
    await stop();
  });
});

async function newVault(directory: string): Promise<void> {
  assert.equal((await runInProcess(directory, 'migrate')).code, 0);
}

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
