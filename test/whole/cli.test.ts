import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { BIN, type CommandResult, runCommand, runInProcess, runWithSettings, Shell } from '../fixtures/command.ts';
import { openFolder } from '../fixtures/database.ts';

const TENANT = ['--account', '$account', '--environment', 'sandbox'];

/** A public key in the age format. */
const RECIPIENT = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj';

/** Commands with what they need, in an order in which each can do its work; `$account` and `$key` stand for ids. */
const COMMANDS: readonly (readonly string[])[] = [
  ['migrate'],
  ['account', 'create', '--name', 'Store'],
  ['account', 'list'],
  ['account', 'show', '$account'],
  ['key', 'create', '--account', '$account', '--environment', 'sandbox', '--name', 'n', '--ip', '127.0.0.1'],
  ['key', 'list', '--account', '$account'],
  ['key', 'show', '$key'],
  ['key', 'edit', '$key', '--name', 'other'],
  ['key', 'rotate', '$key'],
  ['key', 'revoke', '$key'],
  ['proxy', 'configure', ...TENANT, '--setting', 'jose.payload=plain'],
  ['proxy', 'show', ...TENANT],
  ['proxy', 'remove', ...TENANT, '--force'],
  ['payments', 'enable', ...TENANT, '--setting', 'opened-expiry=1h'],
  ['payments', 'show', ...TENANT],
  ['payments', 'disable', ...TENANT],
  ['payments', 'doubtful'],
  ['account', 'suspend', '$account'],
  ['account', 'resume', '$account'],
  ['keyring', 'status'],
  ['keyring', 'rotate', 'wrapping'],
  ['keyring', 'destroy'],
  ['clock', 'status'],
  ['clock', 'confirm'],
  ['audit', 'verify'],
  ['audit', 'export'],
  ['export', ...TENANT, '--recipient', RECIPIENT, '--output', '$file.age'],
  ['audit', 'public-key'],
  ['backup', '$file', '--plain'],
  ['copy', '--from', 'sqlite:cardvault.db', '--to', 'sqlite:$file.moved'],
  ['restore', '$file', '--force'],
];

/** Commands that need a payment in doubt, a file, a private key, custodians, an old log, or a wrong machine, and are tested where there are some. */
const ELSEWHERE = [
  'doctor',
  'import',
  'payments resolve',
  'audit check',
  'audit checkpoint',
  'audit prune',
  'backup list',
  'backup end',
  'drill',
  'recovered',
  'scrub',
  'operator invite',
  'operator list',
  'operator remove',
  'operator unlock',
  'keyring custody',
  'keyring ceremony',
  'keyring acknowledge',
  'keyring hold',
  'unseal',
  ...['create', 'list', 'update', 'rotate', 'test', 'replay', 'delete'].map((command) => `webhook ${command}`),
  ...['create', 'check'].map((command) => `receipt ${command}`),
  ...['set', 'remove', 'show', 'report'].map((command) => `retention ${command}`),
];

const manyNetworks = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => ['--ip', `10.0.${index >> 8}.${index & 255}`]).flat();

const byName = ({ name: a = '' }: { name?: string }, { name: b = '' }: { name?: string }): number => (a < b ? -1 : 1);

/** Commands that open the database themselves, and reject one that is in use. */
const WITHOUT_USERS = ['migrate', 'copy', 'restore'];

/** Commands that have commands of their own. */
const GROUPS = [
  ...['account', 'key', 'operator', 'proxy', 'payments', 'audit', 'keyring', 'keyring custody', 'clock'],
  ...['webhook', 'receipt', 'retention'],
];

const commandName = (args: readonly string[]): string =>
  args.slice(0, GROUPS.includes(args[0] ?? '') ? 2 : 1).join(' ');

async function runIn(shell: Shell, directory: string, ...args: string[]): Promise<CommandResult> {
  if (!WITHOUT_USERS.includes(args[0] ?? '')) return shell.run(...args);
  await shell.close();
  return runInProcess(directory, ...args);
}

describe('the command line', () => {
  let directory: string;
  let shell: Shell;
  let account: string;
  const run = async (where: string, ...args: string[]): Promise<CommandResult> =>
    where === directory ? runIn(shell, where, ...args) : runInProcess(where, ...args);
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    shell = new Shell(directory);
    account = (await run(directory, 'account', 'create', '--name', 'Store', '--json')).json.id;
  });
  after(async () => {
    await shell.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const newKey = async (...more: string[]): Promise<CommandResult> =>
    run(directory, 'key', 'create', '--account', account, '--environment', 'sandbox', '--name', 'n', '--json', ...more);

  describe('every command', () => {
    const ids = { account: '', key: '' };
    let location = '';
    let there: Shell;
    before(() => {
      location = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      there = new Shell(location);
    });
    after(async () => {
      await there.close();
      rmSync(location, { recursive: true, force: true });
    });
    const runThere = (...args: string[]): Promise<CommandResult> => runIn(there, location, ...args);
    const filled = (args: readonly string[], file: string): string[] =>
      args.map((arg) =>
        arg.replace('$account', ids.account).replace('$key', ids.key).replace('$file', join(location, file)),
      );

    for (const args of COMMANDS) {
      test(`${commandName(args)} prints one JSON document with --json`, async () => {
        const { code, out, err } = await runThere(...filled(args, 'backup'), '--json');
        assert.equal(err, '');
        assert.equal(code, 0);
        const document = JSON.parse(out);
        assert.equal(typeof document, 'object');
        assert.ok(out.endsWith('\n'));
        if (commandName(args) === 'account create') ids.account = document.id;
        if (commandName(args) === 'key create') ids.key = document.id;
      });
    }

    for (const args of COMMANDS) {
      test(`${commandName(args)} prints text without --json`, async () => {
        if (commandName(args) === 'key edit')
          ids.key = (
            await runThere(
              'key',
              'create',
              '--account',
              ids.account,
              '--environment',
              'sandbox',
              '--name',
              'n',
              '--json',
            )
          ).json.id;
        const { code, out, err } = await runThere(...filled(args, 'copy'));
        assert.equal(err, '');
        assert.equal(code, 0);
        assert.ok(out.length > 10 && out.endsWith('\n'));
        assert.throws(() => JSON.parse(out), 'no JSON');
      });
    }
  });

  describe('help', () => {
    const names = [...new Set([...COMMANDS.map(commandName), ...ELSEWHERE, 'serve', ...GROUPS, ''])];
    for (const name of names) {
      test(`cardvault ${name} --help explains`, async () => {
        const { code, out, err } = await run(directory, ...name.split(' ').filter(Boolean), '--help');
        assert.equal(code, 0);
        assert.equal(err, '');
        assert.ok(out.startsWith(`Usage: cardvault ${name}`.trimEnd()), out);
        const [, about = '', ...options] = out.split('\n\n');
        assert.match(about, /^\S.{8,}/);
        for (const line of options.join('\n').split('\n')) {
          const isOption = /^ {2}\S/.test(line);
          if (isOption) assert.match(line, /^ {2}\S.*?( {2,}\S|$)/, `an option without words: ${line}`);
        }
        if (![...GROUPS, ''].includes(name)) assert.match(out, /--json/);
      });
    }

    test('every command that help lists is tested here', async () => {
      const listed = async (...group: string[]): Promise<string[]> => {
        const { out } = await run(directory, ...group, '--help');
        const lines = out.slice(out.indexOf('Commands:')).split('\n');
        return lines.flatMap((line) => /^ {2}([a-z-]+)/.exec(line)?.[1] ?? []).filter((name) => name !== 'help');
      };
      const groups = new Set(GROUPS);
      const all: string[] = [];
      for (const name of await listed()) {
        if (name === 'backup') all.push(name);
        if (groups.has(name) || name === 'backup')
          all.push(...(await listed(name)).map((command) => `${name} ${command}`));
        else all.push(name);
      }
      assert.deepEqual(all.sort(), [...COMMANDS.map(commandName), ...ELSEWHERE, 'serve'].sort());
    });

    test('--version is the version of the package', async () => {
      const { version } = JSON.parse(readFileSync(join(BIN, '..', '..', 'package.json'), 'utf8'));
      assert.equal((await run(directory, '--version')).out.trim(), version);
    });
  });

  test('clock status reports no problem before the first start of a service', async () => {
    const { out } = await run(directory, 'clock', 'status');
    assert.match(out, /\ntrusted {7}not yet: no trusted time is stored; the next start trusts the time unless /);
  });

  describe('a usage error', () => {
    const mistakes: readonly [what: RegExp, args: string[]][] = [
      [/unknown command 'nothing'/, ['nothing']],
      [/unknown command 'nothing'/, ['account', 'nothing']],
      [/unknown option '--more'/, ['account', 'list', '--more']],
      [/--name/, ['account', 'create']],
      [/--name: expected 1 to 255 characters/, ['account', 'create', '--name', '']],
      [/--name: expected 1 to 255 characters/, ['account', 'create', '--name', 'a\nb']],
      [/--name: expected 1 to 255 characters/, ['account', 'create', '--name', 'x'.repeat(256)]],
      [/missing required argument 'id'/, ['account', 'show']],
      [/too many arguments/, ['account', 'show', 'a', 'b']],
      [/there is no such account; see: cardvault account list/, ['account', 'show', 'unknown']],
      [/there is no such account/, ['key', 'list', '--account', 'unknown']],
      [/there is no such account/, ['key', 'create', '--account', 'x', '--environment', 'sandbox', '--name', 'n']],
      [/there is no such key; see: cardvault key list/, ['key', 'revoke', 'nothing']],
      [/there is no such key/, ['key', 'rotate', 'nothing']],
      [/there is no such key/, ['key', 'edit', 'nothing', '--name', 'n']],
      [/nothing to change/, ['key', 'edit', 'nothing']],
      [/--account/, ['key', 'create', '--environment', 'sandbox', '--name', 'n']],
      [/--environment/, ['key', 'create', '--account', '$account', '--name', 'n']],
      [/--name: required/, ['key', 'create', '--account', '$account', '--environment', 'sandbox']],
      [/expected sandbox or production/, ['key', 'create', '--account', 'x', '--environment', 'test', '--name', 'n']],
      [/expected minutes, 0 to 43200/, ['key', 'rotate', 'x', '--overlap', '-1']],
      [/expected minutes, 0 to 43200/, ['key', 'rotate', 'x', '--overlap', '43201']],
      [/expected minutes, 0 to 43200/, ['key', 'rotate', 'x', '--overlap', '1h']],
      [/missing required argument 'file'/, ['backup']],
      [/exists already; give the name of a new file/, ['backup', BIN, '--plain']],
      [/--recipient: name a public key \(age1…\) that can open the backup/, ['backup', '/nowhere/at/all']],
      [
        /--recipient: has 5 characters, and a key of this type has 62; /,
        ['backup', '/nowhere', '--recipient', 'age1x'],
      ],
      [/--recipient: is a private key/, ['backup', '/nowhere', '--recipient', 'AGE-SECRET-KEY-1X']],
      [/--plain: cannot be combined with recipients/, ['backup', '/nowhere', '--plain', '--recipient', 'age1x']],
      [/there is no folder \/nowhere/, ['backup', '/nowhere/at/all', '--plain']],
      [/there is no such backup that has not ended/, ['backup', 'end', 'bkp_unknown']],
      [/there is no folder/, ['backup', 'list', '/nowhere']],
      [/expected 1 to 1000000/, ['drill', '--identity', BIN, '--sample', '0']],
      [/contains more than 20 identities/, ['drill', '--identity', BIN]],
      [/there is no file \/nowhere\/at\/all/, ['restore', '/nowhere/at/all']],
      [/--identity: .* is not encrypted/, ['restore', BIN, '--identity', BIN]],
      [/expected a time in ISO 8601/, ['recovered', '--to', 'yesterday']],
      [/only PostgreSQL is recovered to a time/, ['recovered', '--to', '2026-01-01T00:00:00Z']],
      [/no intact backup/, ['restore', BIN, '--force']],
      ...[
        '300.1.1.1',
        '1.2.3',
        '10.0.0.0/33',
        '::/129',
        'localhost',
        '',
        '1.2.3.4/',
        '010.1.1.1',
        'fe80::1%eth0',
        '=x',
      ].map((ip): [RegExp, string[]] => [/expected an address or CIDR network/, ['key', 'edit', 'x', '--ip', ip]]),
      [/--name: expected no card number$/m, ['account', 'create', '--name', 'till 4111 1111 1111 1111']],
      [/--name: contains invisible characters; remove them$/m, ['account', 'create', '--name', 'a\u202eb']],
      [/--name: expected no card number$/m, ['key', 'edit', 'x', '--name', '4111-1111-1111-1111']],
      [/--description: expected no card number$/m, ['key', 'edit', 'x', '--description', '4111111111111111']],
      [/--ip note: expected no card number$/m, ['key', 'edit', 'x', '--ip', '127.0.0.1=4111111111111111']],
      [/--ip note: expected 1 to 255 characters/, ['key', 'edit', 'x', '--ip', `127.0.0.1=${'x'.repeat(256)}`]],
      [
        /at most 1000 entries/,
        ['key', 'create', '--account', '$account', '--environment', 'sandbox', '--name', 'n', ...manyNetworks(1001)],
      ],
      [/expected one of tokens:create, /, ['key', 'edit', 'x', '--permission', 'tokens']],
      [/expected one of /, ['key', 'edit', 'x', '--permission', 'tokens:create,tokens:inspect']],
      ...['soon', '2099-13-01T00:00:00Z', '4000000000', '2099-01-01T00:00:00'].map((time): [RegExp, string[]] => [
        /expected (ISO 8601|a time to come)/,
        ['key', 'edit', 'x', '--expires', time],
      ]),
    ];
    for (const [what, args] of mistakes) {
      test(`${args.join(' ').slice(0, 80)} is explained`, async () => {
        const command = args.map((arg) => arg.replace('$account', account));
        const inJson = await run(directory, ...command, '--json');
        assert.notEqual(inJson.code, 0);
        assert.equal(inJson.out, '');
        const document = JSON.parse(inJson.err);
        assert.deepEqual(Object.keys(document), ['error']);
        assert.match(document.error, what);
        const inText = await run(directory, ...command);
        assert.equal(inText.code, inJson.code);
        assert.equal(inText.out, '');
        assert.match(inText.err, what);
        assert.throws(() => JSON.parse(inText.err));
      });
    }

    for (const group of [[], ...GROUPS.map((name) => name.split(' '))]) {
      test(`a missing subcommand of ${['cardvault', ...group].join(' ')} is an error with --json, and prints the help without`, async () => {
        const inJson = await run(directory, ...group, '--json');
        assert.equal(inJson.code, 2);
        assert.match(JSON.parse(inJson.err).error, /^a subcommand is missing: [a-z]+/);
        const inText = await run(directory, ...group);
        assert.equal(inText.code, 2);
        assert.match(inText.err, /^Usage: cardvault /);
      });
    }

    test('an invalid setting is reported with every other one', async () => {
      const variables = { CARDVAULT_DATA_DIR: directory, CARDVAULT_SANDBOX_PORT: 'x', CARDVAULT_HOUST: '::1' };
      const { code, stdout, stderr } = await runCommand(['account', 'list', '--json'], variables);
      assert.notEqual(code, 0);
      assert.equal(stdout, '');
      const { error } = JSON.parse(stderr);
      assert.match(error, /CARDVAULT_SANDBOX_PORT: expected a whole number of 0 to 65535/);
      assert.match(error, /CARDVAULT_HOUST: there is no such setting/);
    });
  });

  describe('accounts and keys', () => {
    test('an account is created, listed and shown', async () => {
      const created = (await run(directory, 'account', 'create', '--name', 'Käse & Co', '--json')).json;
      assert.match(created.id, /^acct_[0-9a-z]{10}$/);
      assert.equal(created.name, 'Käse & Co');
      assert.equal(created.status, 'onboarding');
      assert.deepEqual((await run(directory, 'account', 'show', created.id, '--json')).json, created);
      const all = (await run(directory, 'account', 'list', '--json')).json;
      assert.deepEqual(
        all.find(({ id }: { id: string }) => id === created.id),
        created,
      );
    });

    test('those whose rows were altered are reported, and restored or revoked', async () => {
      const { id } = (await run(directory, 'account', 'create', '--name', 'Altered', '--json')).json;
      const key = (
        await run(
          directory,
          ...['key', 'create', '--account', id, '--environment', 'sandbox', '--name', 'till', '--json'],
        )
      ).json;
      assert.equal(key.altered, false);
      const database = await openFolder(directory);
      const changes = [
        write('update accounts set name = ? where id = ?', ['Other', id], 1),
        write('update api_keys set allow_list = ? where id = ?', ['[{"cidr":"0.0.0.0/0","note":""}]', key.id], 1),
      ];
      await commitOrThrow(database, { writes: changes });
      await database.close();
      const keys = ['key', 'list', '--account', id];
      assert.match((await run(directory, ...keys)).out, new RegExp(`^${key.id} +sandbox +altered `, 'm'));
      const [listed] = (await run(directory, ...keys, '--json')).json;
      assert.deepEqual([listed.state, listed.altered], ['altered', true]);
      for (const act of [
        ['edit', key.id, '--description', 'x'],
        ['rotate', key.id],
      ]) {
        const refused = await run(directory, 'key', ...act);
        assert.deepEqual([refused.code, refused.out], [1, '']);
        assert.match(refused.err, /the key was altered in the database: it can only be revoked/);
      }
      assert.equal((await run(directory, 'key', 'revoke', key.id, '--json')).json.state, 'revoked');

      assert.match((await run(directory, 'account', 'list')).out, new RegExp(`^${id} +altered `, 'm'));
      assert.match(
        (await run(directory, 'account', 'show', id)).out,
        /^altered +yes: .*account suspend ID --name NAME$/m,
      );
      assert.match((await run(directory, 'account', 'suspend', id)).err, /the account was altered in the database/);
      const sealed = (await run(directory, 'account', 'suspend', id, '--name', 'Shop', '--json')).json;
      assert.deepEqual([sealed.name, sealed.status, sealed.altered], ['Shop', 'suspended', false]);
      assert.equal((await run(directory, 'account', 'resume', id, '--json')).json.status, 'sandbox');
    });

    test('repeated options are all accepted, with their notes', async () => {
      const { json } = await newKey(
        ...['--ip', '203.0.113.7=shop', '--ip', '2001:DB8::/32=a=b', '--ip', '::ffff:192.0.2.0/120'],
        ...['--permission', 'tokens:create', '--permission', 'account:read', '--description', 'for the shop'],
      );
      assert.match(json.key, /^cv_sandbox_[A-Za-z0-9_-]{43}$/);
      assert.ok(json.key.startsWith(json.prefix));
      assert.equal(json.account, account);
      assert.equal(json.environment, 'sandbox');
      assert.equal(json.description, 'for the shop');
      assert.deepEqual(json.permissions, ['tokens:create', 'account:read']);
      assert.deepEqual(json.allow_list, [
        { cidr: '203.0.113.7', note: 'shop' },
        { cidr: '2001:db8::/32', note: 'a=b' },
        { cidr: '192.0.2.0/24', note: '' },
      ]);
    });

    test('without options a key has all permissions, no allow-list and no expiry', async () => {
      const { json } = await newKey();
      assert.deepEqual(json.permissions, [...PERMISSIONS]);
      assert.deepEqual(json.allow_list, []);
      assert.equal(json.expires_at, null);
      assert.match((await run(directory, 'key', 'edit', json.id, '--name', 'n')).out, /refused everywhere/);
    });

    test('editing replaces the lists in the command and keeps the others', async () => {
      const { id, key, ...created } = (await newKey('--ip', '10.0.0.1', '--permission', 'tokens:create')).json;
      const edited = (await run(directory, 'key', 'edit', id, '--ip', '10.0.0.2', '--ip', '10.0.0.3', '--json')).json;
      assert.equal('key' in edited, false);
      assert.deepEqual(edited, {
        ...created,
        id,
        allow_list: ['10.0.0.2', '10.0.0.3'].map((cidr) => ({ cidr, note: '' })),
      });
      const expires = new Date(Date.now() + DAY).toISOString();
      const again = (await run(directory, 'key', 'edit', id, '--expires', expires, '--description', 'd', '--json'))
        .json;
      assert.deepEqual(again, { ...edited, expires_at: expires, description: 'd' });
      assert.match(key, /^cv_/);
    });

    test('a list never contains a key', async () => {
      const { json } = await newKey();
      const listed = await run(directory, 'key', 'list', '--account', account, '--json');
      assert.ok(listed.json.some(({ id }: { id: string }) => id === json.id));
      assert.ok(!listed.out.includes(json.key));
      for (const each of listed.json) assert.equal('key' in each, false);
    });

    test('a revoked key remains revoked', async () => {
      const { id } = (await newKey()).json;
      assert.equal((await run(directory, 'key', 'revoke', id, '--json')).json.state, 'revoked');
      for (const args of [
        ['revoke', id],
        ['rotate', id],
        ['edit', id, '--name', 'n'],
      ]) {
        const { code, err } = await run(directory, 'key', ...args, '--json');
        assert.equal(code, 1);
        assert.match(JSON.parse(err).error, /revoked/);
      }
    });

    test('an expired key has no successor', async () => {
      const { id } = (await newKey()).json;
      const core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory }), systemClocks);
      await core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
        core.accounts.editKey(transaction, id, { expiresAt: Date.now() - 1 }),
      );
      await core.close();
      const { code, err } = await run(directory, 'key', 'rotate', id, '--json');
      assert.equal(code, 1);
      assert.match(JSON.parse(err).error, /expired/);
    });

    test('an account changes from onboarding to sandbox to live, and returns to its stage after a suspension', async () => {
      const { id } = (await run(directory, 'account', 'create', '--name', 'New', '--json')).json;
      const status = async (): Promise<string> => (await run(directory, 'account', 'show', id, '--json')).json.status;
      const key = (environment: string): Promise<CommandResult> =>
        run(directory, 'key', 'create', '--account', id, '--environment', environment, '--name', 'n', '--json');
      const [first, second] = await Promise.all([key('sandbox'), key('sandbox')]);
      assert.deepEqual([first?.code, second?.code], [0, 0], 'two first keys at once');
      assert.equal(await status(), 'sandbox');
      await key('production');
      await key('sandbox');
      assert.equal(await status(), 'live');
      await run(directory, 'account', 'suspend', id);
      await key('production');
      assert.equal(await status(), 'suspended');
      assert.equal((await run(directory, 'account', 'suspend', id)).code, 1);
      await run(directory, 'account', 'resume', id);
      assert.equal(await status(), 'live');
    });
  });

  describe('the operator', () => {
    let own: string;
    before(() => {
      own = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    });
    after(() => rmSync(own, { recursive: true, force: true }));
    const as = (name: string, ...args: string[]): Promise<CommandResult> =>
      runWithSettings({ CARDVAULT_DATA_DIR: own, CARDVAULT_OPERATOR: name }, ...args);
    const actor = (name: string, source: string) => ({ id: `uid:${process.geteuid?.()}`, name, source });

    test('is recorded by the configured name, or as the user of the operating system, and the output says so', async () => {
      const named = await as('Ana López', 'account', 'create', '--name', 'A');
      const { username } = userInfo();
      const unnamed = await as('', 'account', 'create', '--name', 'B');
      assert.deepEqual(
        [named.operatorLine, unnamed.operatorLine],
        [
          'recorded in the audit log as operator Ana López (CARDVAULT_OPERATOR)',
          `recorded in the audit log as operator ${username} (user of the operating system)`,
        ],
      );
      assert.doesNotMatch(named.out, /operator/);
      const document = JSON.parse((await as('Olga', 'account', 'create', '--name', 'C', '--json')).out);
      assert.deepEqual(document.recorded_operator, actor('Olga', 'setting'));
      const exported = JSON.parse((await as('Otto', 'audit', 'export', '--json')).out);
      const created = exported.filter(({ action }: { action: string }) => action === 'account.created');
      assert.deepEqual(
        created.map((record: { actor: object }) => record.actor).sort(byName),
        [actor('Ana López', 'setting'), actor('Olga', 'setting'), actor(username, 'os-user')]
          .map((each) => ({ type: 'operator', ...each }))
          .sort(byName),
      );
    });

    test('is not printed by commands without an audit record, nor by one that failed', async () => {
      for (const args of [
        ['account', 'list'],
        ['audit', 'verify'],
      ]) {
        assert.equal((await as('Ana', ...args)).operatorLine, undefined);
        assert.doesNotMatch((await as('Ana', ...args, '--json')).out, /recorded_operator/);
      }
      const failed = await as('Ana', 'account', 'suspend', 'acct_0000000000');
      assert.deepEqual([failed.code, failed.operatorLine], [1, undefined]);
    });
  });

  test('audit verify reports the fault and exits with 1', async () => {
    const own = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    try {
      await run(own, 'account', 'create', '--name', 'A');
      const exported = (await run(own, 'audit', 'export', '--json')).json;
      assert.deepEqual(
        exported.map(({ action }: { action: string }) => action),
        ['service.initialised', 'journal.opened', 'audit.exported', 'account.created'],
      );
      assert.deepEqual([exported[2].actor.type, exported[2].detail], ['operator', { of: 'everything' }]);
      const { account, hash } = exported[3];
      assert.deepEqual(exported[1].targets, [`chain:${account}/1`]);
      const { ok, records, chains, digest, heads } = (await run(own, 'audit', 'verify', '--json')).json;
      assert.deepEqual({ ok, records, chains }, { ok: true, records: exported.length, chains: 2 });
      assert.deepEqual(heads, [
        { account: '', lane: 1, sequence: 3, hash: exported[2].hash },
        { account, lane: 1, sequence: 1, hash },
      ]);
      const lines = ` 1 3 ${exported[2].hash}\n${account} 1 1 ${hash}\n`;
      assert.equal(digest, createHash('sha256').update(lines).digest('hex'));
      const human = (await run(own, 'audit', 'verify')).out;
      assert.equal(human, `4 records in 2 chains, all in order\nheads  SHA-256 ${digest}\n`);
      const exportOf = async (id: string) => (await run(own, 'audit', 'export', '--account', id, '--json')).json;
      const [created, ofAccount, ...more] = await exportOf(account);
      assert.deepEqual(
        [created, ofAccount.action, ofAccount.detail, more],
        [exported[3], 'audit.exported', { of: account }, []],
      );
      const ofService = await exportOf('');
      assert.deepEqual(ofService.slice(0, 3), exported.slice(0, 3));
      assert.deepEqual(
        ofService.slice(3).map(({ detail }: { detail: object }) => detail),
        [{ of: account }, { of: 'service' }],
      );
      assert.match((await run(own, 'audit', 'export', '--account', 'acct_unknown')).err, /no such account/);
      const core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: own }), systemClocks);
      const forged = { sql: 'update journal set environment = 2 where account <> 0', rows: [[]] };
      await core.database.commit({ writes: [forged] });
      await core.close();
      const { code, json } = await run(own, 'audit', 'verify', '--json');
      assert.equal(code, 1);
      assert.equal(json.ok, false);
      assert.match(json.fault, /changed/);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });

  test('restore replaces the current database only with an option', async () => {
    const own = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    try {
      await run(own, 'account', 'create', '--name', 'Before');
      const file = join(own, 'copy.db');
      assert.equal((await run(own, 'backup', file, '--plain', '--json')).json.file, file);
      await run(own, 'account', 'create', '--name', 'After');
      assert.match((await run(own, 'restore', file)).err, /--force removes it, --keep-old moves it/);
      const { database } = (await run(own, 'restore', file, '--force', '--json')).json;
      assert.ok(existsSync(database));
      const names = (await run(own, 'account', 'list', '--json')).json.map(({ name }: { name: string }) => name);
      assert.deepEqual(names, ['Before']);
      writeFileSync(join(own, 'other'), 'no database');
      assert.match((await run(own, 'restore', join(own, 'other'), '--force')).err, /no intact backup/);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});
