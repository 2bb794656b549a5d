import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createServer, type Server } from 'node:tls';
import { parseConfig } from '../../src/config.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import type { Check } from '../../src/doctor/check.ts';
import { findMount, parseMounts } from '../../src/doctor/disk.ts';
import { examine } from '../../src/doctor/examine.ts';
import { type CommandResult, runWithSettings } from '../fixtures/command.ts';
import { databaseSettings, isPostgres } from '../fixtures/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';

/** A file system in memory, where the machine has one. */
const MEMORY = '/dev/shm';
const isInMemory =
  existsSync(MEMORY) && findMount(parseMounts(readFileSync('/proc/self/mountinfo', 'utf8')), MEMORY)?.type === 'tmpfs';

describe('doctor', () => {
  let fixture: TestService;
  let settings: Record<string, string>;
  let processor: Server;
  let secret: string;
  before(async () => {
    fixture = await startTestService();
    const { directory, ports, newAccount } = fixture;
    settings = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_CONSOLE_PORT: String(ports.console),
      ...(await databaseSettings(directory)),
    };
    ({ secret } = await fixture.newKey(await newAccount(), { environment: 'sandbox' }));
    const identity = readFileSync(join(directory, 'tls', 'server.pem'));
    processor = createServer({ cert: identity, key: identity }).listen(0, '127.0.0.1');
    processor.on('tlsClientError', () => undefined).on('secureConnection', (socket) => socket.end('no HTTP'));
    await new Promise((resolve) => processor.once('listening', resolve));
  });
  after(async () => {
    processor.close();
    await fixture.stop();
  });

  const run = (more: Record<string, string> = {}): Promise<CommandResult> =>
    runWithSettings({ ...settings, ...more }, 'doctor', '--json');
  const linesOf = ({ json }: CommandResult, name: string): Check[] =>
    (json.checks as Check[]).filter((each) => each.name === name);
  const states = (result: CommandResult, name: string): string[] => linesOf(result, name).map(({ state }) => state);

  test('examines every part beside the running service', async () => {
    const result = await run();
    assert.equal(result.err, '');
    assert.deepEqual(
      linesOf(result, 'service').map(({ message }) => message),
      ['the service runs and is ready'],
    );
    for (const name of [
      'node',
      'program',
      'permissions',
      'certificate',
      'addresses',
      'schema',
      'keys',
      'processor hosts',
    ])
      assert.deepEqual(states(result, name), ['ok'], `${name}: ${result.out}`);
    for (const name of ['user', 'core dumps', 'swap', 'disk space', 'disk flush', 'clock synchronization'])
      assert.equal(states(result, name).length, 1, name);
    for (const name of ['settings', 'file system', 'database', 'trusted time', 'backup', 'drill', 'audit log'])
      assert.ok(states(result, name).length >= 1, name);
    assert.deepEqual(states(result, 'custody'), ['warning']);
    const database = linesOf(result, 'database').map(({ state, message }) => `${state}: ${message}`);
    // The server of the tests survives no crash of the machine, which makes it quicker.
    if (isPostgres) assert.ok(database[0]?.startsWith('problem: fsync is off:'), database.join('\n'));
    else assert.deepEqual(database, ['ok: the file is in the mode that the service uses']);
    assert.equal(
      (result.json.checks as Check[]).some(({ message }) => message.startsWith('could not be examined')),
      false,
    );
    const problems = (result.json.checks as Check[]).filter(({ state }) => state === 'problem').length;
    assert.deepEqual([result.json.counts.problem, result.code], [problems, problems > 0 ? 1 : 0]);
  });

  test('one line a check says what to do', async () => {
    const { out } = await runWithSettings(settings, 'doctor');
    const lines = out.trimEnd().split('\n');
    const last = lines.pop() ?? '';
    assert.match(last, /^ok: [0-9]+, warnings: [0-9]+, problems: [0-9]+$/);
    for (const line of lines) assert.match(line, /^(ok {7}|warning {2}[^:]+: .* -> .|problem {2}[^:]+: .* -> .)/);
  });

  test('finds files that others can read, and gives the command', async () => {
    const file = join(fixture.directory, 'root.key');
    chmodSync(file, 0o644);
    try {
      const result = await run();
      assert.equal(result.code, 1);
      assert.deepEqual(
        linesOf(result, 'permissions').map(({ state, advice }) => [state, advice]),
        [['problem', `chmod 600 ${file}`]],
      );
    } finally {
      chmodSync(file, 0o600);
    }
  });

  test('finds processors that cannot be reached, and certificates that are not trusted', async () => {
    const { port } = processor.address() as { port: number };
    const result = await run({ CARDVAULT_PROCESSOR_HOSTS: `localhost:${port},127.0.0.1:1` });
    const messages = linesOf(result, 'processor hosts').map(({ state, message }) => `${state}: ${message}`);
    assert.match(messages[0] ?? '', /^problem: localhost port [0-9]+ cannot be reached: [A-Z_]*(VERIFY|SIGNED|ISSUER)/);
    assert.deepEqual(messages[1], 'problem: 127.0.0.1 port 1 cannot be reached: ECONNREFUSED');
  });

  test('a root key beside the data is a problem once production has keys', async () => {
    const key = await fixture.newKey(await fixture.newAccount(), { environment: 'production' });
    assert.deepEqual(states(await run(), 'custody'), ['problem']);
    assert.ok(key.id.length > 0);
  });

  test('prints no secret, and leaves nothing behind', async () => {
    const { directory } = fixture;
    const passwords = {
      CARDVAULT_SMTP_URL: 'smtps://u:canary-password@mail.example.com',
      CARDVAULT_SMTP_FROM: 'a@b.c',
    };
    const { out, err } = await run(passwords);
    assert.match(out, /CARDVAULT_SMTP_URL contains a password/);
    const rootKey = readFileSync(join(directory, 'root.key'), 'utf8').trim();
    for (const text of ['canary-password', rootKey, secret]) assert.equal((out + err).includes(text), false);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.startsWith('.doctor')),
      [],
    );
  });

  test('another program at the port is no service, and a free port is a stopped one', async () => {
    const { port } = processor.address() as { port: number };
    assert.deepEqual(states(await run({ CARDVAULT_CONSOLE_PORT: String(port) }), 'service'), ['problem']);
    const stopped = linesOf(await run({ CARDVAULT_CONSOLE_PORT: '1' }), 'service');
    assert.match(stopped[0]?.message ?? '', /^the service does not run/);
  });

  test('a database that is not there, or is none, is a problem and is not created', async () => {
    const { directory } = fixture;
    const missing = { ...settings, CARDVAULT_DATABASE_URL: 'sqlite:missing.db' };
    const result = await runWithSettings(missing, 'doctor', '--json');
    assert.deepEqual([states(result, 'database'), result.code], [['problem'], 1]);
    assert.equal(existsSync(join(directory, 'missing.db')), false);
    writeFileSync(join(directory, 'text.db'), 'no database\n'.repeat(100), { mode: 0o600 });
    const before = createHash('sha256')
      .update(readFileSync(join(directory, 'text.db')))
      .digest('hex');
    const other = await runWithSettings({ ...settings, CARDVAULT_DATABASE_URL: 'sqlite:text.db' }, 'doctor', '--json');
    assert.deepEqual(states(other, 'database'), ['problem']);
    assert.equal(
      createHash('sha256')
        .update(readFileSync(join(directory, 'text.db')))
        .digest('hex'),
      before,
    );
  });

  test('a data directory or a database behind a link is on the file system to which the link leads', {
    skip: !isInMemory && `${MEMORY} is no file system in memory`,
  }, async () => {
    const [linked, folder] = [
      mkdtempSync(join(MEMORY, 'cardvault-doctor-')),
      mkdtempSync(join(tmpdir(), 'cardvault-')),
    ];
    try {
      symlinkSync(linked, join(folder, 'data'));
      writeFileSync(join(linked, 'vault.db'), '');
      symlinkSync(join(linked, 'vault.db'), join(folder, 'vault.db'));
      for (const variables of [
        { CARDVAULT_DATA_DIR: join(folder, 'data') },
        { CARDVAULT_DATA_DIR: folder, CARDVAULT_DATABASE_URL: `sqlite:${join(folder, 'vault.db')}` },
      ]) {
        const [first] = linesOf(await runWithSettings(variables, 'doctor', '--json'), 'file system');
        assert.deepEqual(
          [first?.state, first?.message],
          ['problem', `${linked} is in memory (tmpfs) and lost with a restart`],
        );
      }
    } finally {
      for (const each of [linked, folder]) rmSync(each, { recursive: true });
    }
  });

  test('invalid settings are lines, and the machine is examined nevertheless', async () => {
    const variables = { CARDVAULT_DATADIR: 'x', CARDVAULT_WORKERS: 'many' };
    const checks = await examine({
      installation: () => parseConfig(variables),
      variables: Object.keys(variables),
      sealed: [],
      digests: [],
      clock: () => Date.now(),
      stopwatch: () => performance.now(),
      random: systemRandom(),
    });
    const problems = checks.filter(({ name }) => name === 'settings').map(({ message }) => message);
    assert.deepEqual([problems.length, problems[0]], [2, 'CARDVAULT_DATADIR: there is no such setting']);
    assert.ok(checks.some(({ name, state }) => name === 'node' && state === 'ok'));
  });
});
