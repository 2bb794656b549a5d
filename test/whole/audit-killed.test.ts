import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { DAY } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { BIN, runAt, runWithSettings, withoutSettings } from '../fixtures/command.ts';
import { inScope } from '../scope.ts';

const OLD_RECORDS = inScope({ usual: 10, long: 30 }) * LIMITS.recordsPerPruning;
const KILLS = inScope({ usual: 2, long: 40 });

describe('commands about the audit log that are killed', { timeout: 240_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  const variables = {
    CARDVAULT_DATA_DIR: directory,
    CARDVAULT_DATABASE_URL: `sqlite:${join(directory, 'vault.db')}`,
  };
  const before390Days = new Date(Date.now() - 390 * DAY).toISOString();
  const run = (...args: string[]) => runWithSettings(variables, ...args);
  const start = (...args: string[]): ChildProcess =>
    spawn(process.execPath, [BIN, ...args], {
      env: { ...withoutSettings(process.env), ...variables },
      stdio: 'ignore',
    });
  /** Kills a command a number of milliseconds after the condition became true, unless it has ended. */
  const killAfter = async (child: ChildProcess, isReached: () => boolean, milliseconds: number): Promise<void> => {
    const ended = once(child, 'close');
    while (child.exitCode === null && !isReached()) await pause(1);
    await pause(milliseconds);
    child.kill('SIGKILL');
    await ended;
  };

  before(async () => {
    const at = Date.now() - 400 * DAY;
    const account = (await runAt(() => at, variables, 'account', 'create', '--name', 'Store', '--json')).json.id;
    const core = await openCore(parseConfig(variables), systemClocks);
    for (let written = 0; written < OLD_RECORDS; written += 1000) {
      const journal = Array.from({ length: 1000 }, (_, index) => ({
        account,
        environment: 'sandbox',
        at,
        record: JSON.stringify({ action: 'capture.retrieved', outcome: 'success', actor: { type: 'service' }, index }),
      }));
      await core.database.commit({ writes: [], journal });
    }
    await core.close();
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('leave no incomplete export', async () => {
    const file = join(directory, 'export.jsonl');
    await killAfter(start('audit', 'export', file), () => existsSync(`${file}.incomplete`), 0);
    // Where it ended before it was killed, the file is complete.
    if (!existsSync(file)) assert.equal((await run('audit', 'export', file)).code, 0);
    const keys = join(directory, 'vault.pem');
    writeFileSync(keys, (await run('audit', 'public-key')).out);
    assert.equal((await run('audit', 'check', file, '--key', keys)).code, 0);
    const again = join(directory, 'again.jsonl');
    writeFileSync(`${again}.incomplete`, 'left by a crash');
    assert.equal((await run('audit', 'export', again)).code, 0);
    assert.equal(existsSync(`${again}.incomplete`), false);
  });

  test('leave a pruning that the same command completes', async () => {
    const file = join(directory, 'removed.jsonl');
    const prune = ['audit', 'prune', '--before', before390Days, '--to', file];
    const countRecords = async (): Promise<number> => (await run('audit', 'verify', '--json')).json.records;
    for (let kill = 0; kill < KILLS; kill++) {
      const isReached = (): boolean => existsSync(kill === 0 ? `${file}.incomplete` : file);
      await killAfter(start(...prune), isReached, kill === 0 ? 1 : 150 + 60 * kill);
      const { code, json } = await run('audit', 'verify', '--json');
      assert.deepEqual([code, json.fault], [0, undefined], `kill ${kill}`);
    }
    const { code, json } = await run(...prune, '--json');
    assert.equal(code, 0);
    assert.ok(json.records > OLD_RECORDS);
    assert.ok((await countRecords()) < 10);
  });
});
