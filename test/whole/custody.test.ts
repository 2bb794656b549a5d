import assert from 'node:assert/strict';
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openConsole } from '../../console/open.ts';
import { startService } from '../../src/app.ts';
import { clocksOf } from '../../src/clocks.ts';
import { parseConfig } from '../../src/config.ts';
import type { OpenCore } from '../../src/core.ts';
import { createCa, createServerCertificate } from '../../src/crypto/certificate.ts';
import { readCustodiansFile } from '../../src/crypto/custody/custodians-file.ts';
import { readRootKey } from '../../src/crypto/custody/key-file.ts';
import { fetchRootKeys } from '../../src/crypto/custody/local-socket.ts';
import { keyCheckValue } from '../../src/crypto/custody.ts';
import { openLog } from '../../src/http/log.ts';
import { loadIdentity, tlsOptions } from '../../src/http/tls.ts';
import { runWithRootKeyLock } from '../../src/rotation/root-key-lock.ts';
import { holdRootKey, unsealNode } from '../../src/sealed.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { type CommandResult, runWithSettings } from '../fixtures/command.ts';
import { newCustodians, type TestCustodians } from '../fixtures/custodians.ts';
import { databaseSettings, dropDatabase, isPostgres } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';
import { fingerprintOf } from '../fixtures/unseal-peers.ts';
import { inScope, isLong } from '../scope.ts';

const PASSPHRASE = 'seven purple bicycles upstairs';
const NAMES = ['Ana', 'Beto', 'Carla'];
const THREAD = new URL('../../src/worker.ts', import.meta.url);

/** One vault that changes its custody: each test continues where the one before it ended. */
describe('custody of the root key', { timeout: 120_000 }, () => {
  let directory: string;
  let database: Record<string, string>;
  let custodians: TestCustodians;
  const log: string[] = [];
  const screens: string[] = [];
  const file = (name: string): string => join(directory, name);
  /** The settings of the present custody. */
  let custody: Record<string, string> = {};
  const run = async (...args: string[]): Promise<CommandResult> => {
    const result = await runWithSettings({ CARDVAULT_DATA_DIR: directory, ...database, ...custody }, ...args);
    screens.push(result.out, result.err);
    return result;
  };
  const must = async (...args: string[]): Promise<CommandResult> => {
    const result = await run(...args);
    assert.equal(result.code, 0, result.err);
    return result;
  };
  /** The secrets that must occur nowhere but in their files. */
  const secrets: string[] = [PASSPHRASE];
  let value = '';
  /** The root key after its rotation. */
  let rotated = '';

  before(async () => {
    directory = newDirectory();
    database = await databaseSettings(directory);
    await must('migrate');
    const root = readRootKey(file('root.key'));
    value = keyCheckValue(root);
    const bytes = root.export();
    secrets.push(bytes.toString('hex'), bytes.toString('base64'));
    writeFileSync(file('passphrase'), `${PASSPHRASE}\n`, { mode: 0o600 });
    custodians = await newCustodians(directory, file('shares'), NAMES);
    secrets.push(...custodians.identities);
  });
  after(async () => {
    removeDirectory(directory);
    await dropDatabase(directory);
  });

  test('moves to a file that a passphrase opens, without encrypting the data again', async () => {
    await must('account', 'create', '--name', 'Tienda');
    const secretFile = ['--secret-file', file('passphrase')];
    const same = await run('keyring', 'custody', 'move', '--to', `passphrase:${file('root.key')}`, ...secretFile);
    assert.match(same.err, /that of the present custody/);
    const moved = await must('keyring', 'custody', 'move', '--to', 'passphrase', ...secretFile, '--json');
    assert.deepEqual(moved.json, {
      custody: 'passphrase',
      file: file('root.sealed'),
      key_check_value: value,
      old_file_kept: false,
    });
    assert.equal(existsSync(file('root.key')), false);
    assert.match((await run('account', 'list')).err, /root\.key is missing/);
    custody = { CARDVAULT_ROOT_KEY: 'passphrase' };
    assert.match((await run('account', 'list')).err, /passphrase of the root key is missing/);
    custody['CARDVAULT_ROOT_KEY_PASSPHRASE_FILE'] = file('passphrase');
    assert.match((await must('account', 'list')).out, /Tienda/);
  });

  test('is split by a ceremony', async () => {
    const { recipients, identities } = custodians;
    const ceremony = ['keyring', 'ceremony', '--threshold', '2', '--out', file('shares')];
    const target = ['--file', file('custodians')];
    for (const [args, message] of [
      [['--shares', '4', ...recipients], /4 custodians are expected, and 3 are named/],
      [['--shares', '3', ...recipients, '--threshold', '4'], /--threshold/],
      [
        ['--shares', '3', ...recipients.slice(0, -1), `Carla=${identities[2]}`],
        /number 3, NAME=age1…: is a private key/,
      ],
      [['--shares', '3', ...recipients.slice(0, -1), `Ana=${recipients[5]?.split('=')[1]}`], /the same name/],
    ] as const) {
      const { code, err } = await run(...ceremony, ...target, ...args);
      assert.ok(code !== 0 && message.test(err), err);
    }
    assert.equal(existsSync(file('shares')), false);
    const held = await must(...ceremony, ...target, '--shares', '3', ...recipients, '--json');
    assert.equal(held.json.key_check_value, value);
    assert.deepEqual(readdirSync(file('shares')), ['share-1-ana.age', 'share-2-beto.age', 'share-3-carla.age']);
    assert.match((await run(...ceremony, ...target, '--shares', '3', ...recipients)).err, /exists already/);
    custody = { CARDVAULT_ROOT_KEY: `custodians:${file('custodians')}` };
    const status = await must('keyring', 'custody', 'status', '--json');
    assert.deepEqual(
      status.json.custodians.map(({ name, acknowledged }: { name: string; acknowledged: boolean }) => [
        name,
        acknowledged,
      ]),
      NAMES.map((name) => [name, false]),
    );
    const { code, err } = await run('account', 'list');
    assert.ok(code === 1 && /the vault is sealed/.test(err), err);
  });

  const share = (index: number): string[] => custodians.shareOptions(index);

  test('is given by the custodians to a sealed node, over its socket and over TLS', async () => {
    const [production = 0, sandbox = 0, console = 0, peerPort = 0, otherPort = 0] = await findFreePorts(5);
    const peers = await writePeers(directory, peerPort);
    const variables = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_HOST: '127.0.0.1',
      CARDVAULT_PRODUCTION_PORT: String(production),
      CARDVAULT_SANDBOX_PORT: String(sandbox),
      CARDVAULT_CONSOLE_PORT: String(console),
      ...database,
      CARDVAULT_WORKERS: inScope({ usual: '1', long: '2' }),
      ...custody,
      ...peers.settings('a', peerPort, 'b'),
    };
    const writer = { write: (line: string) => log.push(line) };
    const config = parseConfig(variables);
    const threads: Worker[] = [];
    const starting = startService(
      config,
      clocksOf(config),
      openLog('debug', () => Date.now(), writer),
      {
        openConsole,
        newThread: (data, transferList) => {
          const thread = new Worker(THREAD, { workerData: data, transferList });
          threads.push(thread);
          return thread;
        },
      },
    );
    const get = (port: number, path: string, method = 'GET') => call(file('tls/ca.pem'), port, path, method);
    try {
      await eventually(async () => log.some((line) => line.includes('vault sealed')));
      for (const port of [production, sandbox, console]) {
        assert.deepEqual(await get(port, '/healthz'), [200, { status: 'ok' }]);
        assert.deepEqual(await get(port, '/readyz'), [503, { status: 'unavailable', reason: 'sealed' }]);
      }
      const [tokenize, body] = await get(sandbox, '/v1/tokenization/simple', 'POST');
      assert.deepEqual([tokenize, body.status_code, body.status], [503, 503, 'fail']);
      const [pay, payment] = await get(production, '/v1/payments', 'POST');
      assert.deepEqual([pay, payment.status, payment.data.code], [503, 'Error', 'unavailable']);
      for (const path of ['/', '/openapi.json', '/metrics', '/api/session'])
        assert.equal((await get(console, path))[0], 503, path);
      assert.equal((await get(sandbox, '/unseal', 'POST'))[0], 503, 'only the console takes shares');

      assert.match((await must('unseal')).out, /it has 0 of 2 shares/);
      const wrong = await run('unseal', '--share', file('shares/share-1-ana.age'), '--identity', file('Beto.identity'));
      assert.ok(wrong.code !== 0 && /does not open/.test(wrong.err));
      assert.match((await must('unseal', ...share(2))).out, /it has 1 of 2 shares: 2/);
      assert.match((await run('account', 'list')).err, /the vault is sealed/);
      const node = ['--node', `https://localhost:${console}`, '--ca', file('tls/ca.pem')];
      assert.match((await must('unseal', ...share(3), ...node)).out, /the vault is unsealed/);
    } catch (error) {
      starting.then(({ stop }) => stop());
      throw error;
    }
    const running = await starting;
    try {
      assert.equal((await get(sandbox, '/readyz'))[0], 200);
      assert.match((await must('account', 'list')).out, /Tienda/);
      assert.match((await must('unseal')).out, /the vault is unsealed/);
      assert.match(
        (await run('unseal', ...share(1), '--node', `https://localhost:${console}`)).err,
        /reached over TLS/,
      );
      if (isLong) {
        await threads[0]?.terminate();
        await eventually(async () => log.some((line) => line.includes('request thread replaced')));
        assert.equal(threads.length, 3, 'a thread that ended is replaced without custodians');
      }
      await acknowledgeAndDiscard();
      await unsealOtherNode(running.core as OpenCore, peers.settings('b', otherPort, 'a'));
    } finally {
      await running.stop();
    }
    assert.match((await run('account', 'list')).err, /the vault is sealed/);
    assert.deepEqual(readdirSync(file('run')), []);
  });

  /** Runs commands that change the file of the custodians, while another one does. */
  const mustWait = (...commands: readonly string[][]): Promise<void> =>
    runWithRootKeyLock(file('custodians'), async () => {
      for (const args of commands) {
        const { code, err } = await run(...args);
        assert.ok(code === 1 && /another command is changing the files of the root key/.test(err), err);
      }
    });

  async function acknowledgeAndDiscard(): Promise<void> {
    await mustWait(
      ['keyring', 'acknowledge', ...share(1)],
      ['keyring', 'custody', 'discard', '--file', file('root.sealed')],
    );
    for (const index of [1, 2, 3]) await must('keyring', 'acknowledge', ...share(index));
    const status = await must('keyring', 'custody', 'status', '--json');
    assert.ok(status.json.custodians.every(({ acknowledged }: { acknowledged: boolean }) => acknowledged));
    writeFileSync(file('other.key'), `${'ab'.repeat(32)}\n`, { mode: 0o600 });
    const other = await run('keyring', 'custody', 'discard', '--file', file('other.key'));
    assert.ok(other.code !== 0 && /another root key/.test(other.err) && existsSync(file('other.key')));
    assert.notEqual((await run('keyring', 'custody', 'discard', '--file', file('custodians'))).code, 0);
    await must('keyring', 'custody', 'discard', '--file', file('root.sealed'));
    assert.equal(existsSync(file('root.sealed')), false);
  }

  /** A node on another machine has the same file of the custodians, and gets the root key without their shares. */
  async function unsealOtherNode(core: OpenCore, peerSettings: Record<string, string>): Promise<void> {
    const elsewhere = newDirectory();
    const [production = 0, sandbox = 0, console = 0] = await findFreePorts(3);
    const config = parseConfig({
      CARDVAULT_DATA_DIR: elsewhere,
      CARDVAULT_HOST: '127.0.0.1',
      CARDVAULT_PRODUCTION_PORT: String(production),
      CARDVAULT_SANDBOX_PORT: String(sandbox),
      CARDVAULT_CONSOLE_PORT: String(console),
      ...custody,
      ...peerSettings,
    });
    const identity = loadIdentity({ certificate: file('a.pem'), key: file('a.key') });
    const tls = tlsOptions(identity, 'TLSv1.3');
    const node = await unsealNode({ config, clocks: systemClocks, log: silentLog(), endpoints: [], tls });
    assert.equal(keyCheckValue(node.roots.root), value);
    await node.record(core);
    await mustWait(['keyring', 'rotate', 'root']);
    await must('keyring', 'rotate', 'root');
    // The other node gets the rotated key as well, for its commands and for the threads that it replaces.
    const place = { path: join(elsewhere, 'run', 'unseal.sock'), group: undefined };
    const { root, previous } = await fetchRootKeys(place);
    assert.equal(keyCheckValue(root), readCustodiansFile(file('custodians')).keyCheckValue);
    assert.ok(previous?.equals(node.roots.root) && !root.equals(previous));
    rotated = root.export().toString('hex');
    secrets.push(rotated);
    await node.close();
    removeDirectory(elsewhere);
  }

  test('is on record in all that happened, and no secret is', async () => {
    // With a key file in clear the log is read without custodians.
    writeFileSync(file('trial.key'), `${rotated}\n`, { mode: 0o600 });
    custody = { CARDVAULT_ROOT_KEY: `file:${file('trial.key')}` };
    assert.equal((await must('audit', 'verify', '--json')).json.ok, true);
    const records = (await must('audit', 'export', '--account', '', '--json')).json.map(
      ({ record }: { record: string }) => (typeof record === 'string' ? JSON.parse(record) : record),
    );
    const details = (action: string) =>
      records
        .filter((each: { action: string }) => each.action === action)
        .map((each: { detail: object }) => each.detail);
    assert.deepEqual(details('keyring.custody-moved'), [
      { old_custody: 'file', new_custody: 'passphrase', key_check_value: value },
    ]);
    const [ceremony] = details('keyring.ceremony-held');
    assert.deepEqual([ceremony.threshold, ceremony.custodians.length], [2, 3]);
    const [unsealed] = details('vault.unsealed');
    assert.match(unsealed.shares[0], /^2 Beto by socket uid:[0-9]+$/);
    assert.match(unsealed.shares[1], /^3 Carla by tls 127\.0\.0\.1$/);
    assert.equal(details('keyring.share-acknowledged').length, 3);
    assert.deepEqual(details('keyring.custody-discarded'), [{ what: 'root.sealed', key_check_value: value }]);
    const recipients = details('keyring.root-key-given').map(({ recipient }: { recipient: string }) => recipient);
    const kinds = recipients.map((recipient: string) =>
      recipient.replace(/[0-9a-f]{64}/, 'SHA256').replace(/:[0-9]+/, ''),
    );
    const peer = 'peer SHA256 at 127.0.0.1';
    assert.deepEqual(kinds, ['uid', peer, peer, 'uid'], 'each node records what it gives');
    assert.match(details('vault.unsealed')[1].shares[0], /^peer 127\.0\.0\.1:[0-9]+ [0-9a-f]{64}$/);
    const texts = [...log, ...screens, JSON.stringify(records), readFileSync(file('custodians'), 'utf8')];
    for (const secret of secrets) for (const text of texts) assert.ok(!text.includes(secret));
  });
});

describe('the file of a root key', { timeout: 60_000 }, () => {
  let directory: string;
  let variables: Record<string, string>;
  const file = (name: string): string => join(directory, name);
  const run = (...args: string[]): Promise<CommandResult> => runWithSettings(variables, 'keyring', ...args);
  before(async () => {
    directory = newDirectory();
    variables = { CARDVAULT_DATA_DIR: directory, ...(await databaseSettings(directory)) };
    assert.equal((await runWithSettings(variables, 'migrate')).code, 0);
    writeFileSync(file('passphrase'), `${PASSPHRASE}\n`, { mode: 0o600 });
  });
  after(async () => {
    removeDirectory(directory);
    await dropDatabase(directory);
  });

  test('is changed by one command after the other', async () => {
    const content = readFileSync(file('root.key'));
    await runWithRootKeyLock(file('root.key'), async () => {
      for (const args of [
        ['rotate', 'root'],
        ['destroy', 'root'],
        ['custody', 'move', '--to', 'passphrase', '--secret-file', file('passphrase')],
      ]) {
        const { code, err } = await run(...args);
        assert.ok(code === 1 && /another command is changing the files of the root key/.test(err), err);
      }
    });
    assert.deepEqual(readFileSync(file('root.key')), content);
    assert.ok(!existsSync(file('root.key.previous')) && !existsSync(file('root.sealed')));
  });

  test('is destroyed under no other name of itself', async () => {
    const content = readFileSync(file('root.key'));
    symlinkSync(file('root.key'), file('link.key'));
    linkSync(file('root.key'), file('second.key'));
    for (const name of ['link.key', 'second.key']) {
      const moved = await run('custody', 'move', '--to', `file:${file(name)}`);
      assert.ok(moved.code === 2 && /that of the present custody/.test(moved.err), moved.err);
      const discarded = await run('custody', 'discard', '--file', file(name));
      assert.ok(discarded.code === 2 && /the file of the present custody/.test(discarded.err), discarded.err);
      assert.deepEqual(readFileSync(file('root.key')), content);
    }
    rmSync(file('link.key'));
    rmSync(file('second.key'));
  });

  test('is not discarded while the database still needs its key', async () => {
    assert.equal((await run('rotate', 'root', '--prepare')).code, 0);
    const refused = await run('custody', 'discard', '--file', file('root.key.previous'));
    assert.ok(refused.code === 1 && /complete its rotation first/.test(refused.err), refused.err);
    assert.ok(existsSync(file('root.key.previous')));
    assert.equal((await run('rotate', 'root')).code, 0);
    assert.equal((await runWithSettings(variables, 'account', 'list')).code, 0);
  });
});

describe('a root key in clear beside the data', { timeout: 60_000 }, () => {
  let directory: string;
  before(() => {
    directory = newDirectory();
  });
  after(async () => {
    removeDirectory(directory);
    await dropDatabase(directory);
  });

  test('is reported at the start, by /readyz and by Health once there is an API key for production', async () => {
    const database = await databaseSettings(directory);
    const variables = { CARDVAULT_DATA_DIR: directory, ...database };
    const account = (await runWithSettings(variables, 'account', 'create', '--name', 'Tienda', '--json')).json.id;
    const warnings = async (more: Record<string, string> = {}) => {
      const lines: string[] = [];
      const ports = ['PRODUCTION', 'SANDBOX', 'CONSOLE'].map((name) => [`CARDVAULT_${name}_PORT`, '0']);
      const config = parseConfig({ ...variables, CARDVAULT_WORKERS: '1', ...Object.fromEntries(ports), ...more });
      const writer = { write: (line: string) => lines.push(line) };
      const running = await startService(
        config,
        systemClocks,
        openLog('warn', () => Date.now(), writer),
      );
      try {
        const [status, body] = await call(running.caFile ?? '', running.ports.sandbox, '/readyz', 'GET');
        assert.equal(status, 200);
        const codes = (body.warnings ?? []).map(({ code }: { code: string }) => code);
        return [codes.includes('root_key_in_data_directory'), lines.some((line) => line.includes('root key in clear'))];
      } finally {
        await running.stop();
      }
    };
    assert.deepEqual(await warnings(), [false, false]);
    const key = ['key', 'create', '--account', account, '--environment', 'production', '--name', 'pos'];
    assert.equal((await runWithSettings(variables, ...key, '--ip', '127.0.0.1')).code, 0);
    assert.deepEqual(await warnings(), [true, true]);
    if (!isLong) return;
    const outside = newDirectory();
    writeFileSync(join(outside, 'root.key'), readFileSync(join(directory, 'root.key')), { mode: 0o600 });
    assert.deepEqual(await warnings({ CARDVAULT_ROOT_KEY_FILE: join(outside, 'root.key') }), [false, false]);
    removeDirectory(outside);
  });
});

describe('a vault that begins with custodians', { timeout: 60_000 }, () => {
  let directory: string;
  before(() => {
    directory = newDirectory();
  });
  after(async () => {
    removeDirectory(directory);
    await dropDatabase(directory);
  });

  test('is created by the ceremony, and never has a root key in clear', async () => {
    const variables = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_ROOT_KEY: 'custodians',
      ...(await databaseSettings(directory)),
    };
    const config = parseConfig(variables);
    await assert.rejects(startService(config, systemClocks, silentLog()), /hold the ceremony/);
    const custodians = await newCustodians(directory, join(directory, 'shares'), ['Ana', 'Beto']);
    const { recipients, shareOptions } = custodians;
    const shares = ['--shares', '2', '--threshold', '2', '--out', join(directory, 'shares')];
    const held = await runWithSettings(variables, 'keyring', 'ceremony', ...shares, ...recipients, '--json');
    assert.equal(held.code, 0, held.err);
    assert.ok(existsSync(join(directory, 'root.sealed')) && !existsSync(join(directory, 'root.key')));
    const { code, err } = await runWithSettings(variables, 'account', 'list');
    assert.ok(code === 1 && /the vault is sealed/.test(err), err);

    // A service that is stopped cannot give the root key to a restore.
    const given: string[] = [];
    const hold = await holdRootKey(config, systemClocks, (recipient) => given.push(recipient));
    for (const index of [1, 2])
      assert.equal((await runWithSettings(variables, 'unseal', ...shareOptions(index))).code, 0);
    const backup = join(directory, 'backup.db');
    assert.equal((await runWithSettings(variables, 'backup', backup, '--plain')).code, 0);
    if (!isPostgres) {
      const restored = await runWithSettings(variables, 'restore', backup, '--force');
      assert.equal(restored.code, 0, restored.err);
    }
    assert.match(given.join(), /^uid:[0-9]+$/);
    await hold.close();
    assert.match((await runWithSettings(variables, 'account', 'list')).err, /the vault is sealed/);
  });

  test('is not created over one with another custody', async () => {
    const elsewhere = newDirectory();
    const variables = { CARDVAULT_DATA_DIR: elsewhere, ...(await databaseSettings(elsewhere)) };
    assert.equal((await runWithSettings(variables, 'migrate')).code, 0);
    const { recipients } = await newCustodians(elsewhere, join(elsewhere, 'shares'), ['Ana', 'Beto']);
    const args = ['keyring', 'ceremony', '--shares', '2', '--threshold', '2', '--out', join(elsewhere, 'shares')];
    const result = await runWithSettings({ ...variables, CARDVAULT_ROOT_KEY: 'custodians' }, ...args, ...recipients);
    assert.match(result.err, /with its present CARDVAULT_ROOT_KEY and --file/);
    assert.equal(existsSync(join(elsewhere, 'root.sealed')), false);
    removeDirectory(elsewhere);
    await dropDatabase(elsewhere);
  });
});

const silentLog = () => openLog('silent', () => Date.now());

async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Writes certificates of two nodes, and returns the settings by which one trusts the other. */
async function writePeers(directory: string, port: number) {
  const ca = await createCa(Date.now());
  const fingerprints = new Map<string, string>();
  for (const name of ['a', 'b']) {
    const { certificate, key } = await createServerCertificate(ca, [{ type: 'dns', value: name }], Date.now());
    writeFileSync(join(directory, `${name}.pem`), certificate);
    writeFileSync(join(directory, `${name}.key`), key, { mode: 0o600 });
    fingerprints.set(name, fingerprintOf(certificate));
  }
  return {
    settings: (own: string, ownPort: number, other: string): Record<string, string> => ({
      CARDVAULT_UNSEAL_PORT: String(ownPort),
      CARDVAULT_UNSEAL_CERT: join(directory, `${own}.pem`),
      CARDVAULT_UNSEAL_KEY: join(directory, `${own}.key`),
      CARDVAULT_UNSEAL_PEERS: `127.0.0.1:${port}#${fingerprints.get(other)}`,
    }),
  };
}

/** Returns the status and the JSON of a response. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
const call = (caFile: string, port: number, path: string, method: string): Promise<[number, any]> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', servername: 'localhost', port, path, method, agent: false as const };
    const outgoing = request({ ...options, ca: readFileSync(caFile) }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        try {
          resolve([response.statusCode ?? 0, JSON.parse(text)]);
        } catch {
          resolve([response.statusCode ?? 0, undefined]);
        }
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
