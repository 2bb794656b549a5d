import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Checkpoints } from './checkpoints.ts';
import { Connection } from './connection.ts';
import { readLog } from './log-length.ts';

const OPTIONS = { longLog: 60, interval: 1 };
const PAGE = 4096;
/** One row takes about this many pages of the log. */
const ROW_BYTES = 10 * PAGE;
const PATIENCE = 2000;
const ERASED = 'erased-'.repeat(8);

describe('checkpoints', () => {
  let directory: string;
  let path: string;
  let connection: Connection;
  let checkpoints: Checkpoints;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-checkpoints-'));
    path = join(directory, 'vault.db');
    connection = new Connection(path, { readOnly: false });
    connection.database.exec('create table a (id integer primary key, bytes blob)');
    checkpoints = new Checkpoints(connection, path, OPTIONS);
  });
  afterEach(async () => {
    if (connection.database.isOpen) await checkpoints.close();
    rmSync(directory, { recursive: true });
  });

  const insert = (id: number): void => {
    connection.statement('insert into a values (?, randomblob(?))').run(id, ROW_BYTES);
    checkpoints.afterTransaction();
  };
  const length = (): number => readLog(connection, 'noop').length;

  /** Inserts rows one after the other, and lets the thread work between them, until this is true. */
  async function insertUntil(isReached: () => boolean, from = 0): Promise<number> {
    for (let id = from; id < from + PATIENCE; id++) {
      if (isReached()) return id;
      insert(id);
      await turn();
    }
    return assert.fail(`not reached after ${PATIENCE} rows; the log has ${length()} pages`);
  }

  test('a long log restarts beside new commits, and no row is lost', async () => {
    let longest = 0;
    const rows = await insertUntil(() => {
      longest = Math.max(longest, length());
      return longest >= OPTIONS.longLog && length() < longest / 2;
    });
    const [found] = connection.read('select count(*) as number from a', []);
    assert.equal(found?.['number'], rows);
    await checkpoints.close();
    assert.ok(!existsSync(`${path}-wal`), 'the last connection to close removes the log');
    const reopened = new Connection(path, { readOnly: true });
    assert.equal(reopened.read('select count(*) as number from a', [])[0]?.['number'], rows);
    assert.equal(reopened.read('pragma integrity_check', [])[0]?.['integrity_check'], 'ok');
    reopened.close();
  });

  test('a reader of an old state delays the copy and loses nothing of what it reads', async () => {
    insert(0);
    const reader = new Connection(path, { readOnly: true });
    reader.database.exec('begin');
    assert.equal(reader.read('select count(*) as number from a', [])[0]?.['number'], 1);
    const rows = await insertUntil(() => length() > 4 * OPTIONS.longLog, 1);
    assert.equal(reader.read('select count(*) as number from a', [])[0]?.['number'], 1);
    reader.database.exec('commit');
    reader.close();
    const before = length();
    await insertUntil(() => length() < before / 2, rows);
  });

  test('a scrub leaves an empty log, also of a long one', async () => {
    for (let id = 0; id < 50; id++) insert(id);
    await checkpoints.scrub();
    assert.equal(statSync(`${path}-wal`).size, 0);
    connection.statement('delete from a').run();
    await checkpoints.scrub();
    assert.equal(statSync(`${path}-wal`).size, 0);
  });

  test('a scrub beside commits removes what was erased before it, and a crash in the middle of it loses nothing', async () => {
    const { database } = connection;
    database.exec('pragma secure_delete = on');
    for (let id = 0; id < 300; id++)
      connection
        .statement('insert into a values (?, cast(? as blob))')
        .run(id, ERASED.repeat(ROW_BYTES / ERASED.length));
    database.exec('delete from a');
    const sizes = new Set<number>();
    let [rows, isOver] = [0, false];
    const scrubbing = checkpoints.scrub().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      if (rows < 20) connection.statement('insert into a values (?, ?)').run(rows++, 'b');
      await turn();
      sizes.add(statSync(`${path}-wal`).size);
      const copied = join(directory, 'copied.db');
      for (const part of ['', '-wal']) copyFileSync(path + part, copied + part);
      const crashed = new Connection(copied, { readOnly: false });
      assert.equal(crashed.read('select count(*) as number from a', [])[0]?.['number'], rows);
      assert.equal(crashed.read('pragma integrity_check', [])[0]?.['integrity_check'], 'ok');
      crashed.database.close();
    }
    await scrubbing;
    assert.ok(sizes.size > 10, `the file had ${sizes.size} sizes`);
    for (const part of ['', '-wal'])
      assert.ok(!readFileSync(path + part).includes(ERASED), `erased data is in ${path}${part}`);
  });

  test('a scrub fails while a reader needs the log, and succeeds later', async () => {
    insert(0);
    const reader = new Connection(path, { readOnly: true });
    reader.database.exec('begin');
    reader.read('select count(*) as number from a', []);
    insert(1);
    await assert.rejects(checkpoints.scrub(), /while it is read/);
    reader.close();
    await checkpoints.scrub();
    assert.equal(statSync(`${path}-wal`).size, 0);
  });
});
