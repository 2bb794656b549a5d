import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { onlyLong } from '../../../test/scope.ts';
import { Connection } from './connection.ts';

const KILLS = 40;
const LIVES_MS = { atLeast: 500, more: 700 };
const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures', 'scrubbing-process.ts');
const MEBIBYTE = 2 ** 20;

test('a process that is killed while it shortens the log loses no commit', {
  skip: onlyLong,
  timeout: 300_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-checkpoints-'));
  const path = join(directory, 'vault.db');
  let [last, long] = [0, 0];
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawn(process.execPath, [PROGRAM, path], { stdio: ['ignore', 'pipe', 'inherit'] });
      const printing = text(child.stdout);
      await wait(LIVES_MS.atLeast + Math.random() * LIVES_MS.more);
      assert.equal(child.exitCode, null, 'the process ended before it was killed');
      child.kill('SIGKILL');
      await once(child, 'close');
      // The last line may have been cut.
      last = Math.max(last, ...(await printing).split('\n').slice(0, -1).map(Number));
      if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > MEBIBYTE) long++;
      const connection = new Connection(path, { readOnly: false });
      try {
        assert.equal(connection.read('pragma integrity_check', [])[0]?.['integrity_check'], 'ok');
        const [found] = connection.read('select max(number) as last, count(*) as count from committed', []);
        assert.ok(Number(found?.['last']) >= last, `${found?.['last']} of ${last} commits were there`);
        assert.equal(found?.['count'], found?.['last']);
      } finally {
        connection.database.close();
      }
    }
    assert.ok(last > 10 * KILLS && long > KILLS / 2, `${last} commits and ${long} long logs prove nothing`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
