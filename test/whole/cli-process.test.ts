import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { openConsole } from '../../console/open.ts';
import type { StandardOutput } from '../../src/cli/standard-output.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { steadyClocks } from '../fixtures/clock.ts';
import {
  BIN,
  olderNode,
  type ProcessResult,
  runCommand,
  serveInProcess,
  withoutSettings,
} from '../fixtures/command.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { deriveQuickly } from '../fixtures/derive-quickly.ts';
import { BY_TEST, codeAt, PASSWORD, VISITOR } from '../fixtures/people-fixture.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';

const older = olderNode();

describe('beside a running service', () => {
  let fixture: TestService;
  before(async () => {
    fixture = await startTestService();
  });
  after(() => fixture.stop());

  test('commands of another process work, and the service continues to run', async () => {
    const variables = { CARDVAULT_DATA_DIR: fixture.directory };
    const id = await fixture.newAccount('Beside');
    const args = ['key', 'create', '--account', id, '--environment', 'production', '--name', 'n', '--ip', '127.0.0.1'];
    const created = await runCommand([...args, '--json'], variables);
    assert.equal(created.stderr, '');
    const { key } = created.json();
    const response = await fixture.call('GET', '/v1/account', { key, environment: 'production' });
    assert.equal(response.json.data.id, id);
    const file = join(fixture.directory, 'copy.db');
    const [backup] = await Promise.all([
      runCommand(['backup', file, '--plain', '--json'], variables),
      ...Array.from({ length: 20 }, () => fixture.call('POST', '/v1/account', { key: 'wrong' })),
    ]);
    assert.equal((backup as ProcessResult).json().file, file);
    if (!isLong) return;
    assert.equal((await runCommand(['audit', 'verify', '--json'], variables)).code, 0);
  });

  test('a reader of the output that disconnects is not an error of the command', () => {
    const script = `"$0" "$1" account list --json | true; exit "$PIPESTATUS"`;
    const env = { ...withoutSettings(process.env), CARDVAULT_DATA_DIR: fixture.directory };
    const { status, stderr } = spawnSync('bash', ['-c', script, process.execPath, BIN], { env, encoding: 'utf8' });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });

  test('an older Node that calls cardvault is replaced by the one of the project', {
    skip: older === undefined && 'this machine has no Node from 20 to 23',
  }, async () => {
    const variables = { CARDVAULT_DATA_DIR: fixture.directory };
    const listed = await runCommand(['account', 'list', '--json'], variables, older);
    assert.equal(listed.stderr, '');
    assert.equal(listed.code, 0);
    assert.ok(Array.isArray(listed.json()));
    const wrong = await runCommand(['account', 'show', 'unknown', '--json'], variables, older);
    assert.equal(wrong.code, 1);
    assert.match(JSON.parse(wrong.stderr).error, /no such account/);
    assert.equal(wrong.stdout, '');
  });
});

describe('serve', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  });
  afterEach(async () => {
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });
  /** Starts the service, stops it, and returns what it printed. */
  const served = async (json: boolean, standardOutput: StandardOutput): Promise<string> => {
    const { printed, stop } = await serveInProcess(directory, json ? ['--json'] : [], {}, { standardOutput });
    assert.equal(await stop(), 0);
    return printed;
  };
  const fileOf = (): string => join(directory, 'operator-invitation');

  test('on a terminal prints a screen with an example command and the link; a second start prints neither key nor link', async () => {
    const [first, second] = [await served(false, 'terminal'), await served(false, 'terminal')];
    assert.match(first, /^cardvault is running, /);
    assert.match(first, /\ncurl --cacert \S+ https:\/\/localhost:[0-9]+\/v1\/tokenization\/simple .*cv_sandbox_/);
    assert.match(first, /first operator.*\n\n {2}https:\/\/localhost:[0-9]+\/join#[A-Za-z0-9_-]{43}\n/);
    assert.equal(existsSync(fileOf()), false);
    assert.doesNotMatch(second, /cv_sandbox_|curl|join#/);
    assert.match(second, /there is no operator yet.*cardvault operator invite/);
    assert.match(second, /cardvault key create/);
  });

  test('on a terminal prints one JSON document with --json; a second start prints neither key nor link', async () => {
    const [first, second] = [await served(true, 'terminal'), await served(true, 'terminal')].map((text) =>
      JSON.parse(text),
    );
    const { production, sandbox, console: operators, card_form: cards, demo_key, operator_invitation, ...rest } = first;
    for (const url of [production, sandbox, operators, cards]) assert.match(url, /^https:\/\/localhost:[0-9]+$/);
    assert.match(demo_key, /^cv_sandbox_[A-Za-z0-9_-]{43}$/);
    assert.ok(operator_invitation.startsWith(`${operators}/join#`));
    assert.match(operator_invitation, /#[A-Za-z0-9_-]{43}$/);
    const authority = join(directory, 'tls', 'ca.pem');
    assert.deepEqual(rest, { data_directory: directory, authority_file: authority, operator_invitation_file: null });
    assert.equal(second.demo_key, null);
    assert.equal(second.operator_invitation, null);
  });

  test('elsewhere prints the path of a file with the link, which only its user can read, until there is an operator', async () => {
    const victim = join(directory, 'victim');
    symlinkSync(victim, fileOf());
    const screen = await served(false, 'other');
    assert.doesNotMatch(screen, /join#/);
    assert.equal(screen.split('\n').filter((line) => line.includes(fileOf())).length, 1);
    assert.match(screen, /^ {2}cv_sandbox_[A-Za-z0-9_-]{43}$/m);
    const { mode } = lstatSync(fileOf());
    assert.equal(mode, 0o100600, 'a file, and no link to another one');
    assert.equal(existsSync(victim), false);
    const link = readFileSync(fileOf(), 'utf8');
    assert.match(link, /^https:\/\/localhost:[0-9]+\/join#[A-Za-z0-9_-]{43}\n$/);

    const core = await openCore(
      parseConfig({ ...(await databaseSettings(directory)), CARDVAULT_DATA_DIR: directory }),
      steadyClocks(Date.now),
    );
    try {
      const enrollment = { secret: link.trim().split('#')[1] ?? '', name: 'Olga', language: 'en', password: PASSWORD };
      const { people } = await openConsole(core, { derive: deriveQuickly });
      const { session } = await core.transactions.run({ origin: BY_TEST }, (transaction) =>
        people.enrollment.begin(transaction, { ...enrollment, email: 'olga@example.com' }, VISITOR),
      );
      const { secret } = people.enrollment.totp(session);
      await core.transactions.run({ origin: BY_TEST }, (transaction) =>
        people.enrollment.confirmTotp(transaction, session, codeAt(secret, Date.now()), VISITOR),
      );
    } finally {
      await core.close();
    }
    await served(false, 'other');
    assert.equal(existsSync(fileOf()), false);
  });

  test('prints that path with --json and no key into the journal, and starts even when the file cannot be written', async () => {
    mkdirSync(join(fileOf(), 'in the way'), { recursive: true });
    const without = JSON.parse(await served(true, 'other'));
    assert.deepEqual([without.operator_invitation, without.operator_invitation_file], [null, null]);
    rmSync(directory, { recursive: true });
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const text = await served(true, 'journal');
    assert.doesNotMatch(text, /join#|cv_sandbox_/);
    const { demo_key, operator_invitation_file } = JSON.parse(text);
    assert.deepEqual([demo_key, operator_invitation_file], [null, fileOf()]);
  });
});
