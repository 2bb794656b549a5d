import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BIN, runCommand, serveHere, withoutSettings } from './command.ts';
import { type House, startHouse } from './house.ts';

describe('beside a running service', () => {
  let house: House;
  before(async () => {
    house = await startHouse();
  });
  after(() => house.stop());

  test('commands of another process work, and the service goes on', async () => {
    const variables = { CARDVAULT_DATA_DIR: house.directory };
    const made = await runCommand(['account', 'create', '--name', 'Beside', '--json'], variables);
    assert.equal(made.stderr, '');
    const { id } = made.json();
    const args = ['key', 'create', '--account', id, '--environment', 'production', '--name', 'n', '--ip', '127.0.0.1'];
    const { key } = (await runCommand([...args, '--json'], variables)).json();
    const answer = await house.call('GET', '/v1/account', { key, environment: 'production' });
    assert.equal(answer.json.data.id, id);
    const file = join(house.directory, 'copy.db');
    const [backup, verified] = await Promise.all([
      runCommand(['backup', '--to', file, '--json'], variables),
      runCommand(['audit', 'verify', '--json'], variables),
      ...Array.from({ length: 20 }, () => house.call('POST', '/v1/account', { key: 'wrong' })),
    ]);
    assert.deepEqual((backup as { stdout: string }).stdout, `${JSON.stringify({ file }, null, 2)}\n`);
    assert.equal((verified as { code: number }).code, 0);
  });

  test('a reader of the output that goes away is no fault of the command', () => {
    const script = `"$0" "$1" account list --json | true; exit "$PIPESTATUS"`;
    const env = { ...withoutSettings(process.env), CARDVAULT_DATA_DIR: house.directory };
    const { status, stderr } = spawnSync('bash', ['-c', script, process.execPath, BIN], { env, encoding: 'utf8' });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });

  test('an older Node that calls cardvault is replaced by the one of the project', {
    skip: olderNode() === undefined && 'this machine has no Node from 20 to 23',
  }, async () => {
    const variables = { CARDVAULT_DATA_DIR: house.directory };
    const listed = await runCommand(['account', 'list', '--json'], variables, olderNode());
    assert.equal(listed.stderr, '');
    assert.equal(listed.code, 0);
    assert.ok(Array.isArray(listed.json()));
    const wrong = await runCommand(['account', 'show', 'nobody', '--json'], variables, olderNode());
    assert.equal(wrong.code, 1);
    assert.match(JSON.parse(wrong.stderr).error, /no such account/);
    assert.equal(wrong.stdout, '');
  });
});

describe('serve', () => {
  for (const json of [true, false]) {
    test(`prints ${json ? 'one JSON document with --json' : 'a screen with a line to try'}, once more without a key`, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      try {
        const [first, second] = [await served(directory, json), await served(directory, json)];
        if (json) {
          const { production, sandbox, console: operators, demo_key, operator_invitation, ...rest } = JSON.parse(first);
          for (const url of [production, sandbox, operators]) assert.match(url, /^https:\/\/localhost:[0-9]+$/);
          assert.match(demo_key, /^cv_sandbox_[A-Za-z0-9_-]{43}$/);
          assert.ok(operator_invitation.startsWith(`${operators}/join#`));
          assert.match(operator_invitation, /#[A-Za-z0-9_-]{43}$/);
          const authority = join(directory, 'tls', 'ca.pem');
          assert.deepEqual(rest, { data_directory: directory, authority_file: authority });
          assert.equal(JSON.parse(second).demo_key, null);
          assert.equal(JSON.parse(second).operator_invitation, null);
        } else {
          assert.match(first, /^cardvault is running, /);
          assert.match(first, /\ncurl --cacert \S+ https:\/\/localhost:[0-9]+\/v1\/tokenization\/simple .*cv_sandbox_/);
          assert.match(first, /first operator.*\n\n {2}https:\/\/localhost:[0-9]+\/join#[A-Za-z0-9_-]{43}\n/);
          assert.doesNotMatch(second, /cv_sandbox_|curl|join#/);
          assert.match(second, /nobody has joined as the first operator yet.*cardvault operator invite/);
          assert.match(second, /cardvault key create/);
        }
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
  }
});

/** Starts the service, stops it, and returns what it printed. */
async function served(directory: string, json: boolean): Promise<string> {
  const { printed, stop } = await serveHere(directory, json ? ['--json'] : []);
  assert.equal(await stop(), 0);
  return printed;
}

/** A Node of this machine that is too old to run the service itself. */
function olderNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders
    .map((folder) => join(folder, 'node'))
    .find((file) => {
      if (!existsSync(file)) return false;
      const major = Number(/^v([0-9]+)/.exec(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout)?.[1]);
      return major >= 20 && major < 24;
    });
}
