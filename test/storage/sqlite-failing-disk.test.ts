import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { Connection } from '../../src/storage/sqlite/connection.ts';

const PROGRAM = join(import.meta.dirname, '..', 'fixtures', 'failing-disk-process.ts');
const REASON = /^the process ends because the disk failed while the log of SQLite was copied: EINVAL.*fdatasync\n/;

/** The arguments of `unshare` for a program that is the first process of its container, as far as it can tell. */
const AS_FIRST = ['--pid', '--fork', '--mount-proc', 'sh', '-c', 'ulimit -c 0; exec "$@"', 'sh'];
const isRoot = spawnSync('unshare', [...AS_FIRST, 'true']).status === 0;

const CASES = [
  { title: 'ends with the whole log and loses no commit, and says why', hasReader: true, isFirst: false, skip: false },
  { title: 'does so with a standard error that is closed', hasReader: false, isFirst: false, skip: false },
  {
    ...{ title: 'does so as the first process of a container', hasReader: true, isFirst: true },
    skip: !isRoot && 'needs root, for a namespace of processes',
  },
] as const;

describe('a process whose disk fails while the log is copied', () => {
  for (const { title, hasReader, isFirst, skip } of CASES)
    test(title, { skip, timeout: 60_000 }, async () => {
      const directory = realpathSync(mkdtempSync(join(tmpdir(), 'cardvault-failing-disk-')));
      const path = join(directory, 'vault.db');
      try {
        const created = new Connection(path, { readOnly: false });
        created.database.exec('create table committed (number integer primary key, bytes blob)');
        created.close();
        const command = [process.execPath, PROGRAM, path];
        const [program = '', ...args] = isFirst ? ['unshare', ...AS_FIRST, ...command] : command;
        const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
        if (!hasReader) child.stderr.destroy();
        const [printed, errors, [, signal]] = await Promise.all([
          text(child.stdout),
          hasReader ? text(child.stderr) : undefined,
          once(child, 'close'),
        ]);
        if (errors !== undefined) assert.match(errors, REASON);
        // No signal of its own ends a first process, but the fault of an instruction does.
        if (isFirst) assert.match(String(signal), /^SIG(?:ILL|TRAP|SEGV|ABRT)$/);
        else assert.equal(signal, 'SIGKILL');
        assert.ok(statSync(`${path}-wal`).size > 0, 'the log is kept');
        // The last line may have been cut.
        const last = Math.max(...printed.split('\n').slice(0, -1).map(Number));
        const connection = new Connection(path, { readOnly: false });
        const [found] = connection.read('select count(*) as number from committed', []);
        assert.ok(Number(found?.['number']) >= last && last > 0, `${found?.['number']} of ${last}`);
        connection.close();
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
});
