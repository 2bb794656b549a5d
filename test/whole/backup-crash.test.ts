import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolderOf } from '../../src/storage/sqlite/temporary-folder.ts';
import { type AgeKey, newAgeKey } from '../fixtures/age-keys.ts';
import { BIN, runWithSettings, withoutSettings } from '../fixtures/command.ts';
import { inScope, onlyLong } from '../scope.ts';

/** Large enough that a command is killed while it writes. */
const FILLER_BYTES = inScope({ usual: 24, long: 48 }) * 1024 * 1024;
/** Kills of each command: the first when a file appears, the others at random moments after it. */
const KILLS = inScope({ usual: 1, long: 15 });
const POLL_INTERVAL_MS = 2;
const RANDOM_MS = 400;

describe('after kill -9', { timeout: 600_000 }, () => {
  let directory: string;
  let keys: AgeKey;
  const inFolder = (...names: string[]): string => join(directory, ...names);
  const settings = (folder: string): Record<string, string> => ({
    CARDVAULT_DATA_DIR: inFolder(folder),
    CARDVAULT_DATABASE_URL: `sqlite:${inFolder(folder, 'cardvault.db')}`,
  });
  const run = (folder: string, ...args: string[]) => runWithSettings(settings(folder), ...args, '--json');
  const namesIn = (folder: string): string[] =>
    existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];

  const temporary = (): string => temporaryFolderOf(inFolder('data'));

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-backup-crash-'));
    mkdirSync(inFolder('backups'));
    keys = await newAgeKey(directory, 'identity');
    assert.equal((await run('data', 'account', 'create', '--name', 'Whole')).code, 0);
    const database = new DatabaseSync(inFolder('data', 'cardvault.db'));
    database.exec('create table filler (content blob)');
    database.prepare('insert into filler values (randomblob(?))').run(FILLER_BYTES);
    database.close();
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** Starts a command, and kills it when a file that matches appears, or some time after that. */
  async function killWhile(folder: string, args: readonly string[], watched: string, name: RegExp, index: number) {
    const env = { ...withoutSettings(process.env), ...settings(folder) };
    const child: ChildProcess = spawn(process.execPath, [BIN, ...args], { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    let isRunning = true;
    void ended.then(() => {
      isRunning = false;
    });
    while (isRunning && !namesIn(watched).some((each) => name.test(each))) await pause(POLL_INTERVAL_MS);
    if (index > 0) await pause(Math.random() * RANDOM_MS);
    child.kill('SIGKILL');
    await ended;
  }

  test('of a backup there is no file of its name or a complete one, and the next start removes its snapshot', async () => {
    let completed = 0;
    for (let index = 0; index < KILLS; index++) {
      const file = inFolder('backups', `killed-${index}.age`);
      await killWhile(
        'data',
        ['backup', file, '--recipient', keys.recipient],
        inFolder('backups'),
        new RegExp(`killed-${index}.*partial`),
        index,
      );
      const snapshots = namesIn(temporary()).filter((name) => name.endsWith('.db'));
      for (const name of snapshots) assert.equal(statSync(join(temporary(), name)).mode & 0o077, 0);
      if (index === 0) assert.deepEqual([existsSync(file), snapshots.length], [false, 1]);
      if (existsSync(file)) {
        completed++;
        assert.equal((await run('data', 'drill', '--identity', keys.file, '--from', file)).code, 0);
      }
      assert.equal((await run('data', 'account', 'list')).code, 0);
      assert.deepEqual(namesIn(temporary()), []);
    }
    const complete = inFolder('backups', 'complete.age');
    assert.equal((await run('data', 'backup', complete, '--recipient', keys.recipient)).code, 0);
    const recorded = (await run('data', 'backup', 'list')).json as { file: string; present: boolean }[];
    assert.ok(recorded.length >= 1 && recorded.length <= completed + 1);
    assert.ok(
      recorded.every(({ present }) => present),
      'a recorded backup exists',
    );
  });

  test('of a drill its copy is removed by the next command, and the vault is unchanged', {
    skip: onlyLong,
  }, async () => {
    const file = inFolder('backups', 'complete.age');
    for (let index = 0; index < KILLS; index++) {
      await killWhile('data', ['drill', '--identity', keys.file, '--from', file], temporary(), /cardvault\.db$/, index);
      assert.equal((await run('data', 'audit', 'verify')).json.ok, true);
      assert.deepEqual(namesIn(temporary()), []);
    }
    assert.equal((await run('data', 'drill', '--identity', keys.file, '--from', file)).code, 0);
  });

  test('of a restore nothing starts as a vault, or the complete one does', async () => {
    const file = inFolder('backups', 'complete.age');
    for (let index = 0; index < KILLS; index++) {
      const folder = `restored-${index}`;
      mkdirSync(inFolder(folder));
      copyFileSync(inFolder('data', 'root.key'), inFolder(folder, 'root.key'));
      await killWhile(folder, ['restore', file, '--identity', keys.file], inFolder(folder), /\.restoring$/, index);
      const isComplete = existsSync(inFolder(folder, 'cardvault.db'));
      if (index === 0) assert.equal(isComplete, false);
      if (!isComplete) {
        const again = await run(folder, 'restore', file, '--identity', keys.file);
        assert.equal(again.code, 0, again.err);
      }
      const [account, ...others] = (await run(folder, 'account', 'list')).json;
      assert.deepEqual([account.name, others], ['Whole', []]);
      assert.deepEqual(
        namesIn(inFolder(folder)).filter((name) => /restor|temporary/.test(name)),
        [],
      );
    }
  });
});
