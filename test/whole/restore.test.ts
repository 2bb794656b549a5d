import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Core } from '../../src/cli/context.ts';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { runExclusively } from '../../src/storage/sqlite/run-exclusively.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { type CommandResult, runInProcess, runWithSettings } from '../fixtures/command.ts';

/** A folder on another file system than that of temporary files. */
const ELSEWHERE = ['/dev/shm', '/tmp', '/var/tmp'].find(
  (folder) => existsSync(folder) && statSync(folder).dev !== statSync(tmpdir()).dev,
);

/** A data directory with a backup after a restore. */
const FILES = ['backup.db', 'cardvault.db', 'cardvault.db.lock', 'root.key'];

const OPERATOR = { actor: { type: 'operator' as const } };

describe('restore', { timeout: 120_000 }, () => {
  /** A vault with the account "Before" and its backup; each test has a copy of both. */
  let origin: string;
  let directory: string;
  const file = (name: string): string => join(directory, name);
  const backup = (): string => file('backup.db');
  const open = (folder: string): Promise<Core> => openCore(parseConfig({ CARDVAULT_DATA_DIR: folder }), systemClocks);
  const restore = (...more: string[]): Promise<CommandResult> =>
    runInProcess(directory, 'restore', backup(), '--json', ...more);
  const names = async (folder = directory): Promise<string[]> => {
    const core = await open(folder);
    const all = await core.accounts.list();
    await core.close();
    return all.map(({ name }) => name);
  };
  const leaveSadKey = (): void => {
    mkdirSync(file('cardvault.db.sad-keys'));
    writeFileSync(file('cardvault.db.sad-keys/sandbox-1'), 'a key of the old database');
  };
  const leftovers = (): string[] => readdirSync(directory).filter((name) => name.includes('.restoring'));

  before(async () => {
    origin = mkdtempSync(join(tmpdir(), 'cardvault-restore-'));
    const core = await open(origin);
    await core.transactions.run({ origin: OPERATOR }, (transaction) => core.accounts.create(transaction, 'Before'));
    await core.database.backup(join(origin, 'backup.db'));
    await core.transactions.run({ origin: OPERATOR }, (transaction) => core.accounts.create(transaction, 'After'));
    await core.close();
  });
  beforeEach(() => {
    directory = mkdtempSync(join(origin, 'copy-'));
    for (const name of ['cardvault.db', 'root.key', 'backup.db']) copyFileSync(join(origin, name), file(name));
  });
  after(() => rmSync(origin, { recursive: true, force: true }));

  test('replaces the database with the backup, for its user only, and removes the old one', async () => {
    chmodSync(backup(), 0o644);
    writeFileSync(file('cardvault.db.restoring'), 'what a crash left');
    leaveSadKey();
    const { code, err, json } = await restore('--force');
    assert.equal(err, '');
    assert.equal(code, 0);
    const { audit, ...others } = json;
    assert.deepEqual(others, { database: file('cardvault.db') });
    assert.equal(audit.ok, true);
    assert.equal(statSync(file('cardvault.db')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(directory).sort(), FILES);
    assert.deepEqual(await names(), ['Before']);
  });

  test('moves the old database into a folder instead', async () => {
    const folder = join(directory, 'deep', 'old');
    leaveSadKey();
    const { code, err, json } = await restore('--keep-old', folder);
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.ok(!existsSync(file('cardvault.db.sad-keys')));
    assert.equal(readFileSync(join(folder, 'cardvault.db.sad-keys', 'sandbox-1'), 'utf8'), 'a key of the old database');
    assert.equal(json.kept, join(folder, 'cardvault.db'));
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.deepEqual(await names(), ['Before']);
    copyFileSync(json.kept, file('cardvault.db'));
    assert.deepEqual(await names(), ['Before', 'After']);
  });

  test('moves the old database to another file system', { skip: ELSEWHERE === undefined }, async () => {
    const folder = mkdtempSync(join(ELSEWHERE ?? '', 'cardvault-restore-'));
    leaveSadKey();
    try {
      const { code, err, json } = await restore('--keep-old', folder);
      assert.equal(err, '');
      assert.equal(code, 0);
      assert.deepEqual(readdirSync(folder).sort(), ['cardvault.db', 'cardvault.db.sad-keys']);
      assert.deepEqual(readdirSync(join(folder, 'cardvault.db.sad-keys')), ['sandbox-1']);
      assert.equal(statSync(json.kept).mode & 0o777, 0o600);
      copyFileSync(json.kept, file('cardvault.db'));
      assert.deepEqual(await names(), ['Before', 'After']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('overwrites nothing in that folder', async () => {
    const folder = mkdtempSync(join(directory, 'old-'));
    writeFileSync(join(folder, 'cardvault.db'), 'an older one');
    const { code, err } = await restore('--keep-old', folder);
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /cardvault\.db exists already; name another folder/);
    assert.deepEqual(await names(), ['Before', 'After']);
    assert.deepEqual(leftovers(), []);
  });

  test('removes no database when the audit log of the backup is not intact', async () => {
    const forged = new DatabaseSync(backup());
    forged.exec('update journal set environment = 2 where sequence = 1');
    forged.close();
    const { code, err } = await restore('--force');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /audit log of the backup is not in order: .*nothing was changed; --keep-old/);
    assert.deepEqual(await names(), ['Before', 'After']);
    const restored = await restore('--keep-old', file('old'));
    assert.equal(restored.code, 0);
    assert.equal(restored.json.audit.ok, false);
    assert.deepEqual(await names(), ['Before']);
  });

  describe('that was interrupted while it replaced the database', () => {
    const opensNothing = async (): Promise<void> => {
      await assert.rejects(open(directory), /restore of .* was interrupted; run the same cardvault restore again/);
      const { code, err } = await runInProcess(directory, 'account', 'list', '--json');
      assert.equal(code, 1);
      assert.match(JSON.parse(err).error, /was interrupted/);
    };
    /** The files of a database that was killed: its newest records are in its log. */
    const leaveLog = async (): Promise<void> => {
      const core = await open(directory);
      await core.transactions.run({ origin: OPERATOR }, (transaction) =>
        core.accounts.create(transaction, 'In the log'),
      );
      for (const part of ['', '-wal', '-shm']) copyFileSync(file(`cardvault.db${part}`), file(`killed${part}`));
      await core.close();
      for (const part of ['', '-wal', '-shm']) renameSync(file(`killed${part}`), file(`cardvault.db${part}`));
    };
    beforeEach(async () => {
      await leaveLog();
      leaveSadKey();
      copyFileSync(backup(), file('cardvault.db.restored'));
    });

    for (const [moment, left] of [
      ['before it removed anything', ['', '-wal', '-shm']],
      ['when it had removed the log', ['']],
      ['when it had moved the database', ['-wal', '-shm']],
    ] as const) {
      test(`${moment}: the old database cannot be opened, and the same command completes the restore`, async () => {
        for (const part of ['', '-wal', '-shm'])
          if (!(left as readonly string[]).includes(part)) rmSync(file(`cardvault.db${part}`));
        await opensNothing();
        const { code, err } = await restore('--force');
        assert.equal(err, '');
        assert.equal(code, 0);
        assert.deepEqual(await names(), ['Before']);
        assert.deepEqual(readdirSync(directory).sort(), FILES);
      });
    }

    test('completes from the verified database when the backup no longer exists', async () => {
      rmSync(backup());
      const { code, err } = await runInProcess(
        directory,
        ...['restore', file('cardvault.db.restored'), '--keep-old', file('old'), '--json'],
      );
      assert.equal(err, '');
      assert.equal(code, 0);
      assert.deepEqual(await names(), ['Before']);
      rmSync(file('cardvault.db'));
      copyFileSync(file('old/cardvault.db'), file('cardvault.db'));
      assert.deepEqual(await names(), ['Before', 'After', 'In the log']);
    });
  });

  test('leaves the database unchanged when the root key does not unseal the backup', async () => {
    const other = mkdtempSync(join(origin, 'other-'));
    const core = await open(other);
    rmSync(backup());
    await core.database.backup(backup());
    await core.close();
    const { code, err } = await restore('--force');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /root key does not open this database/);
    assert.deepEqual(readdirSync(directory).sort(), FILES);
    assert.deepEqual(await names(), ['Before', 'After']);
  });

  test('replaces a damaged database', async () => {
    writeFileSync(file('cardvault.db'), 'nothing that SQLite could read '.repeat(1000));
    const { code, err } = await restore('--force');
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.deepEqual(await names(), ['Before']);
  });

  test('does not apply the write-ahead log of a lost database', async () => {
    const core = await open(directory);
    await core.transactions.run({ origin: OPERATOR }, (transaction) => core.accounts.create(transaction, 'Lost'));
    copyFileSync(file('cardvault.db-wal'), file('kept-wal'));
    await core.close();
    rmSync(file('cardvault.db'));
    copyFileSync(file('kept-wal'), file('cardvault.db-wal'));
    assert.equal((await restore()).code, 0);
    assert.deepEqual(await names(), ['Before']);
  });

  test('moves the write-ahead log together with the database', async () => {
    const core = await open(directory);
    await core.transactions.run({ origin: OPERATOR }, (transaction) => core.accounts.create(transaction, 'Newest'));
    for (const part of ['', '-wal']) copyFileSync(file(`cardvault.db${part}`), backup() + part);
    await core.close();
    assert.equal((await restore('--force')).code, 0);
    assert.deepEqual(await names(), ['Before', 'After', 'Newest']);
  });

  test('creates the data directory, and reports a missing root key', async () => {
    const fresh = join(directory, 'deep', 'fresh');
    const from = ['restore', backup(), '--json'];
    const without = await runInProcess(fresh, ...from);
    assert.equal(without.code, 1);
    assert.match(JSON.parse(without.err).error, /root key file .* is missing.*put it back/);
    assert.deepEqual(readdirSync(fresh), ['cardvault.db.lock']);
    assert.equal(statSync(fresh).mode & 0o777, 0o700);
    rmSync(fresh, { recursive: true });
    const variables = { CARDVAULT_DATA_DIR: fresh, CARDVAULT_ROOT_KEY_FILE: file('root.key') };
    const { code, err } = await runWithSettings(variables, ...from);
    assert.equal(err, '');
    assert.equal(code, 0);
    copyFileSync(file('root.key'), join(fresh, 'root.key'));
    assert.deepEqual(await names(fresh), ['Before']);
  });

  test('is rejected while another process has the database open', async () => {
    const core = await open(directory);
    try {
      await core.accounts.list();
      const { code, err } = await restore('--force');
      assert.equal(code, 2);
      assert.match(JSON.parse(err).error, /is in use; stop the service first/);
      assert.deepEqual(leftovers(), []);
    } finally {
      await core.close();
    }
    assert.deepEqual(await names(), ['Before', 'After']);
  });

  test('is rejected while another restore of the database runs, whose files stay', async () => {
    writeFileSync(file('cardvault.db.restoring'), 'of the other one');
    await runExclusively(file('cardvault.db.lock'), '', async () => {
      const { code, err } = await restore('--force');
      assert.equal(code, 1);
      assert.match(
        JSON.parse(err).error,
        /another command restores .*cardvault\.db; repeat this one when it has ended/,
      );
    });
    assert.equal(readFileSync(file('cardvault.db.restoring'), 'utf8'), 'of the other one');
    assert.deepEqual(await names(), ['Before', 'After']);
    assert.equal((await restore('--force')).code, 0);
    assert.deepEqual(await names(), ['Before']);
  });

  test('is rejected for a file that is not a backup, without remaining files', async () => {
    writeFileSync(backup(), 'no database');
    const { code, err } = await restore('--force');
    assert.equal(code, 2);
    assert.match(JSON.parse(err).error, /no intact backup/);
    assert.deepEqual(leftovers(), []);
    assert.ok(existsSync(file('cardvault.db')));
  });

  test('reports the path that cannot be created', async () => {
    const variables = { CARDVAULT_DATA_DIR: join(file('root.key'), 'below') };
    const { code, err } = await runWithSettings(variables, 'restore', backup(), '--json');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /cannot be copied to .*: (ENOTDIR|EEXIST)/);
  });
});
