import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { runExclusively } from './run-exclusively.ts';

const BUSY = 'another one is at work';
/** A process that takes the lock of its argument, and keeps it until it ends. */
const HOLDER = `
  import { runExclusively } from ${JSON.stringify(new URL('./run-exclusively.ts', import.meta.url).href)};
  await runExclusively(process.argv[1], '', () => {
    process.stdout.write('locked');
    return new Promise(() => setInterval(() => undefined, 1000));
  });
`;

describe('work under a lock', { timeout: 60_000 }, () => {
  let folder: string;
  let lock: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-lock-'));
    lock = join(folder, 'lock');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('excludes other processes, until its process ends in any way', async () => {
    const args = ['--input-type=module', '--eval', HOLDER, lock];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      await assert.rejects(
        runExclusively(lock, BUSY, async () => assert.fail('both are at work')),
        { message: BUSY },
      );
    } finally {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    assert.equal(await runExclusively(lock, BUSY, async () => 'worked'), 'worked');
  });

  test('waits for other work of the same process', async () => {
    const steps: string[] = [];
    const first = runExclusively(lock, BUSY, async () => {
      steps.push('first begins');
      await wait(100);
      steps.push('first ends');
    });
    const second = runExclusively(lock, BUSY, async () => steps.push('second'));
    await Promise.all([first, second]);
    assert.deepEqual(steps, ['first begins', 'first ends', 'second']);
  });

  test('ends its lock when it fails', async () => {
    await assert.rejects(
      runExclusively(lock, BUSY, () => Promise.reject(new Error('failed'))),
      /failed/,
    );
    assert.equal(await runExclusively(lock, BUSY, async () => 1), 1);
  });

  test('locks a file of its user, or of the group that shares the folder', async () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o770);
    for (const [place, mode] of [
      [folder, 0o600],
      [shared, 0o660],
    ] as const) {
      await runExclusively(join(place, 'modes'), BUSY, () => Promise.resolve());
      assert.equal(statSync(join(place, 'modes')).mode & 0o777, mode);
    }
  });

  test('needs no lock where its process cannot write', {
    skip: process.geteuid?.() === 0 && 'root writes everywhere',
  }, async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o500 });
    assert.equal(await runExclusively(join(closed, 'lock'), BUSY, async () => 1), 1);
    assert.equal(existsSync(join(closed, 'lock')), false);
  });
});
