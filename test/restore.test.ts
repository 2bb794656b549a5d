import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Core } from '../src/cli/core.ts';
import { readConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import { type Ran, runHere, runWith } from './command.ts';

const OPERATOR = { actor: { type: 'operator' as const } };

describe('restore', { timeout: 120_000 }, () => {
  /** A vault with the account "Before" and its backup; each test has a copy of both. */
  let origin: string;
  let directory: string;
  const file = (name: string): string => join(directory, name);
  const backup = (): string => file('backup.db');
  const open = (folder: string): Promise<Core> =>
    openCore(readConfig({ CARDVAULT_DATA_DIR: folder }), () => Date.now());
  const restore = (...more: string[]): Promise<Ran> =>
    runHere(directory, 'restore', '--from', backup(), '--json', ...more);
  const names = async (folder = directory): Promise<string[]> => {
    const core = await open(folder);
    const all = await core.accounts.list();
    await core.close();
    return all.map(({ name }) => name);
  };
  const leftovers = (): string[] => readdirSync(directory).filter((name) => name.includes('.restoring'));

  before(async () => {
    origin = mkdtempSync(join(tmpdir(), 'cardvault-restore-'));
    const core = await open(origin);
    await core.accounts.create('Before', OPERATOR);
    await core.database.backup(join(origin, 'backup.db'));
    await core.accounts.create('After', OPERATOR);
    await core.close();
  });
  beforeEach(() => {
    directory = mkdtempSync(join(origin, 'copy-'));
    for (const name of ['cardvault.db', 'root.key', 'backup.db']) copyFileSync(join(origin, name), file(name));
  });
  after(() => rmSync(origin, { recursive: true, force: true }));

  test('puts the backup in the place of the database, for its user only, and the old one aside', async () => {
    chmodSync(backup(), 0o644);
    writeFileSync(file('cardvault.db.restoring'), 'what a crash left');
    const { code, err, json } = await restore('--force');
    assert.equal(err, '');
    assert.equal(code, 0);
    const { database, aside } = json;
    assert.equal(statSync(database).mode & 0o777, 0o600);
    assert.deepEqual(await names(), ['Before']);
    copyFileSync(aside, database);
    assert.deepEqual(await names(), ['Before', 'After']);
    assert.deepEqual(leftovers(), []);
  });

  test('leaves the database alone when the root key does not open the backup', async () => {
    const other = mkdtempSync(join(origin, 'other-'));
    const core = await open(other);
    rmSync(backup());
    await core.database.backup(backup());
    await core.close();
    const { code, err } = await restore('--force');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /root key does not open this database/);
    assert.deepEqual(readdirSync(directory).sort(), ['backup.db', 'cardvault.db', 'root.key']);
    assert.deepEqual(await names(), ['Before', 'After']);
  });

  test('replaces a damaged database', async () => {
    writeFileSync(file('cardvault.db'), 'nothing that SQLite could read '.repeat(1000));
    const { code, err } = await restore('--force');
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.deepEqual(await names(), ['Before']);
  });

  test('does not apply a log that a lost database left behind', async () => {
    const core = await open(directory);
    await core.accounts.create('Lost', OPERATOR);
    copyFileSync(file('cardvault.db-wal'), file('kept-wal'));
    await core.close();
    rmSync(file('cardvault.db'));
    copyFileSync(file('kept-wal'), file('cardvault.db-wal'));
    assert.equal((await restore()).code, 0);
    assert.deepEqual(await names(), ['Before']);
  });

  test('takes the log of a database that was put aside with it', async () => {
    const core = await open(directory);
    await core.accounts.create('Newest', OPERATOR);
    for (const part of ['', '-wal']) copyFileSync(file(`cardvault.db${part}`), backup() + part);
    await core.close();
    assert.equal((await restore('--force')).code, 0);
    assert.deepEqual(await names(), ['Before', 'After', 'Newest']);
  });

  test('makes the data directory, and says so when the root key is not there', async () => {
    const fresh = join(directory, 'deep', 'fresh');
    const from = ['restore', '--from', backup(), '--json'];
    const without = await runHere(fresh, ...from);
    assert.equal(without.code, 1);
    assert.match(JSON.parse(without.err).error, /root key file .* is missing.*put it back/);
    assert.deepEqual(readdirSync(fresh), []);
    assert.equal(statSync(fresh).mode & 0o777, 0o700);
    rmSync(fresh, { recursive: true });
    const variables = { CARDVAULT_DATA_DIR: fresh, CARDVAULT_ROOT_KEY_FILE: file('root.key') };
    const { code, err } = await runWith(variables, ...from);
    assert.equal(err, '');
    assert.equal(code, 0);
    copyFileSync(file('root.key'), join(fresh, 'root.key'));
    assert.deepEqual(await names(fresh), ['Before']);
  });

  test('refuses while another process has the database open', async () => {
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

  test('refuses what is no backup, and leaves nothing of it', async () => {
    writeFileSync(backup(), 'no database');
    const { code, err } = await restore('--force');
    assert.equal(code, 2);
    assert.match(JSON.parse(err).error, /no intact backup/);
    assert.deepEqual(leftovers(), []);
    assert.ok(existsSync(file('cardvault.db')));
  });

  test('tells plainly where it cannot be made', async () => {
    const variables = { CARDVAULT_DATA_DIR: join(file('root.key'), 'below') };
    const { code, err } = await runWith(variables, 'restore', '--from', backup(), '--json');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /cannot be copied to .*: (ENOTDIR|EEXIST)/);
  });
});
