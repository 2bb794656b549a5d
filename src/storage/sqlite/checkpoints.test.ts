import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { failFlushes } from '../../../test/fixtures/fail-flushes.ts';
import { type CheckpointOptions, Checkpoints } from './checkpoints.ts';
import { Connection } from './connection.ts';
import { endOfLog, readLog, uncopied } from './log-length.ts';

const OPTIONS: CheckpointOptions = { step: 20, pauseMs: [0, 0], pauseFactor: 0, longLog: 60, interval: 1 };
const PAGE = 4096;
/** One row takes about this many pages of the log. */
const ROW_BYTES = 10 * PAGE;
const PATIENCE = 2000;
const MEBIBYTE = 2 ** 20;
const ERASED = 'erased-'.repeat(8);

describe('checkpoints', () => {
  let directory: string;
  let path: string;
  let connection: Connection;
  let checkpoints: Checkpoints;
  let faults: Error[];
  /** Each reading of the stopwatch is later than the one before by this. */
  let advance: number;
  let time = 0;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-checkpoints-'));
    path = join(directory, 'vault.db');
    connection = new Connection(path, { readOnly: false });
    connection.database.exec('create table a (id integer primary key, bytes blob)');
    faults = [];
    advance = 0;
    checkpoints = newCheckpoints(OPTIONS);
  });
  afterEach(async () => {
    if (connection.database.isOpen) await checkpoints.close();
    rmSync(directory, { recursive: true });
  });

  const newCheckpoints = (options: CheckpointOptions): Checkpoints =>
    new Checkpoints(
      connection,
      path,
      () => (time += advance),
      (error) => faults.push(error),
      options,
    );
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

  for (const [length, options] of [
    ['a pause', { pauseMs: [1e6, 1e6] }],
    ['a pause that is in proportion to the copy', { pauseMs: [0, 1e6], pauseFactor: 1000 }],
  ] as const)
    test(`a step of the log is copied long before the log restarts, and the next one after ${length}`, async () => {
      advance = 1000;
      await checkpoints.close();
      connection = new Connection(path, { readOnly: false });
      checkpoints = newCheckpoints({ ...OPTIONS, longLog: 1e6, ...options });
      const rows = await insertUntil(() => readLog(connection, 'noop').checkpointed > 0);
      // Without a pause the thread would be done with each step within some rows.
      await insertUntil(() => uncopied(readLog(connection, 'noop')) > 100 * OPTIONS.step, rows);
    });

  test('a pause that is in proportion to the copy has an end', async () => {
    advance = 1000;
    await checkpoints.close();
    connection = new Connection(path, { readOnly: false });
    checkpoints = newCheckpoints({ ...OPTIONS, longLog: 1e6, pauseMs: [0, 1], pauseFactor: 1000 });
    const copied = (): number => readLog(connection, 'noop').checkpointed;
    const rows = await insertUntil(() => copied() > 0);
    const first = copied();
    await insertUntil(() => copied() > first, rows);
  });

  test('a disk that fails ends all checkpoints, so that the next process copies the whole log', async () => {
    const rows = await insertUntil(() => readLog(connection, 'noop').checkpointed > 0);
    assert.ok(failFlushes(path));
    const all = await insertUntil(() => faults.length > 0, rows);
    assert.match(faults[0]?.message ?? '', /EINVAL.*fdatasync/);
    await assert.rejects(checkpoints.scrub(), /fdatasync/);
    await insertUntil(() => length() > 5 * OPTIONS.longLog, all);
    assert.equal(faults.length, 1);
    assert.ok(readLog(connection, 'noop').checkpointed < length());
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

  /** Makes a log of more than a megabyte that contains what was erased. */
  function erase(): void {
    connection.database.exec('pragma secure_delete = on');
    for (let id = 0; id < 300; id++)
      connection
        .statement('insert into a values (?, cast(? as blob))')
        .run(id, ERASED.repeat(ROW_BYTES / ERASED.length));
    connection.database.exec('delete from a');
    assert.ok(readFileSync(`${path}-wal`).includes(ERASED) && statSync(`${path}-wal`).size > 4 * MEBIBYTE);
  }

  /** Opens a copy of the files as they are now, as a start after a crash does, and returns its number of rows. */
  function countAfterCrash(): unknown {
    const copied = join(directory, 'copied.db');
    for (const part of ['', '-wal']) copyFileSync(path + part, copied + part);
    const crashed = new Connection(copied, { readOnly: false });
    try {
      assert.equal(crashed.read('pragma integrity_check', [])[0]?.['integrity_check'], 'ok');
      return crashed.read('select count(*) as number from a', [])[0]?.['number'];
    } finally {
      crashed.database.close();
    }
  }

  const assertScrubbed = (): void => {
    for (const part of ['', '-wal'])
      assert.ok(!readFileSync(path + part).includes(ERASED), `erased data is in ${path}${part}`);
  };

  test('a scrub empties a short log', async () => {
    for (let id = 0; id < 5; id++) insert(id);
    await checkpoints.scrub();
    assert.equal(statSync(`${path}-wal`).size, 0);
    connection.statement('delete from a').run();
    await checkpoints.scrub();
    assert.equal(statSync(`${path}-wal`).size, 0);
  });

  test('a scrub leaves only its own commit of a long log', async () => {
    erase();
    await checkpoints.scrub();
    assertScrubbed();
    assert.equal(length(), 1);
    assert.equal(countAfterCrash(), 0);
  });

  test('a scrub beside commits removes what was erased before it, and a crash in the middle of it loses nothing', async () => {
    erase();
    const sizes = new Set<number>();
    let [rows, isOver] = [0, false];
    const scrubbing = checkpoints.scrub().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      if (rows < 20) connection.statement('insert into a values (?, ?)').run(rows++, 'b');
      await turn();
      sizes.add(statSync(`${path}-wal`).size);
      assert.equal(countAfterCrash(), rows);
    }
    await scrubbing;
    assert.ok(sizes.size > 10, `the file had ${sizes.size} sizes`);
    assertScrubbed();
  });

  test('a scrub cuts nothing of what another process commits between its steps', async () => {
    erase();
    const other = new Connection(path, { readOnly: false });
    const exec = connection.database.exec.bind(connection.database);
    let rows = 0;
    connection.database.exec = (sql) => {
      // The length of the log was read before.
      if (sql === 'begin immediate' && rows < 50) other.statement('insert into a values (?, ?)').run(rows++, 'b');
      exec(sql);
    };
    await checkpoints.scrub();
    assert.equal(rows, 50);
    assert.equal(countAfterCrash(), rows);
    assert.equal(connection.read('select count(*) as number from a', [])[0]?.['number'], rows);
    other.database.close();
    assertScrubbed();
  });

  test('a scrub cuts nothing when the length of the log cannot be read', async () => {
    erase();
    const read = connection.read.bind(connection);
    const { database } = connection;
    const exec = database.exec.bind(database);
    let steps = 0;
    database.exec = (sql) => {
      if (sql === 'begin immediate') steps++;
      exec(sql);
    };
    connection.read = (sql, values) => {
      if (steps > 1 && sql.includes('noop')) throw new Error('disk I/O error');
      return read(sql, values);
    };
    await assert.rejects(checkpoints.scrub(), /disk I\/O error/);
    connection.read = read;
    assert.equal(countAfterCrash(), 0);
    await checkpoints.scrub();
    assertScrubbed();
  });

  test('a scrub knows the size of pages from the log', async () => {
    for (const setting of ['journal_mode = delete', 'page_size = 8192']) connection.database.exec(`pragma ${setting}`);
    connection.database.exec('vacuum');
    connection.database.exec('pragma journal_mode = wal');
    assert.equal(connection.read('pragma page_size', [])[0]?.['page_size'], 8192);
    erase();
    let [rows, isOver] = [0, false];
    const scrubbing = checkpoints.scrub().finally(() => {
      isOver = true;
    });
    for (; !isOver; await turn()) connection.statement('insert into a values (?, ?)').run(rows++, 'b');
    await scrubbing;
    assert.equal(countAfterCrash(), rows);
    assertScrubbed();
  });

  test('the end of a log is where its file says so, and nowhere else', () => {
    for (let id = 0; id < 3; id++) insert(id);
    const file = openSync(`${path}-wal`, 'r');
    try {
      const pages = length();
      assert.equal(endOfLog(file, pages), fstatSync(file).size);
      for (const wrong of [pages - 1, pages + 1, 1, 0, -1]) assert.equal(endOfLog(file, wrong), undefined);
      // Behind the restarted log there are pages of the old one.
      readLog(connection, 'restart');
      connection.statement('insert into a values (?, ?)').run(3, 'b');
      const left = length();
      const end = endOfLog(file, left) ?? 0;
      assert.ok(left < pages && end > 0 && end < fstatSync(file).size);
    } finally {
      closeSync(file);
    }
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
