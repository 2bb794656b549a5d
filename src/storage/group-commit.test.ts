import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from '../kernel/limits.ts';
import type { StoredUnit } from './account-numbers.ts';
import { StorageError, write } from './database.ts';
import { GroupCommit, type GroupResult } from './group-commit.ts';

const SQL = 'insert';
const unit = (name: string, rows = 1): StoredUnit => ({ writes: [{ sql: SQL, rows: Array(rows).fill([name]) }] });
const nameOf = ({ writes }: StoredUnit): string => String(writes[0]?.rows[0]?.[0]);
const COMMITTED = { committed: true } as const;

/** A sink that returns results only when the test tells it to. */
function slowSink() {
  const groups: { names: string[]; finish(result?: GroupResult): void; fail(error: Error): void }[] = [];
  const send = (units: StoredUnit[]): Promise<readonly GroupResult[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly GroupResult[]>();
    groups.push({
      names: units.map(nameOf),
      finish: (result = COMMITTED) => resolve(units.map(() => result)),
      fail: reject,
    });
    return promise;
  };
  /** Finishes every group until no more come. */
  const finishAll = async (): Promise<void> => {
    for (let done = 0; done < groups.length; ) {
      groups[done++]?.finish();
      for (let round = 0; round < 5; round++) await nextRound();
    }
  };
  return { groups, send, finishAll };
}

async function rounds(): Promise<void> {
  for (let round = 0; round < 5; round++) await nextRound();
}

describe('group commit', () => {
  test('a single unit is sent immediately', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const outcome = group.commit(unit('alone'));
    await rounds();
    assert.deepEqual(
      sink.groups.map(({ names }) => names),
      [['alone']],
    );
    sink.groups[0]?.finish();
    assert.deepEqual(await outcome, COMMITTED);
  });

  test('units that arrive together are sent together', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const outcomes = ['a', 'b', 'c'].map((name) => group.commit(unit(name)));
    await rounds();
    assert.deepEqual(
      sink.groups.map(({ names }) => names),
      [['a', 'b', 'c']],
    );
    await sink.finishAll();
    assert.deepEqual(await Promise.all(outcomes), [COMMITTED, COMMITTED, COMMITTED]);
  });

  test('units that arrive while the sink is busy are sent as one group, in order', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const names = Array.from({ length: 100 }, (_, index) => `${index}`);
    const outcomes: Promise<unknown>[] = [];
    for (const name of names) {
      outcomes.push(group.commit(unit(name)));
      await nextRound();
    }
    assert.ok(sink.groups.length < 10, `${sink.groups.length} groups for 100 units is no gathering`);
    assert.ok(group.queuedUnits > 50);
    await sink.finishAll();
    await Promise.all(outcomes);
    assert.deepEqual(
      sink.groups.flatMap((each) => each.names),
      names,
    );
    assert.equal(group.queuedUnits, 0);
  });

  test('groups of many rows are sent while others are written, and fewer rows gather', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 3, rowsToSend: 10 });
    const outcomes = ['a', 'b', 'c', 'd'].map((name) => group.commit(unit(name, 5)));
    await rounds();
    const small = [group.commit(unit('e', 4)), group.commit(unit('f', 5))];
    await rounds();
    assert.deepEqual(
      sink.groups.map(({ names }) => names),
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    );
    sink.groups[0]?.finish();
    sink.groups[1]?.finish();
    await rounds();
    assert.deepEqual(sink.groups[2]?.names, ['e', 'f']);
    sink.groups[2]?.finish();
    await Promise.all([...outcomes, ...small]);
  });

  test('each unit gets its own result', async () => {
    const resultOf = (each: StoredUnit): GroupResult => {
      const index = Number(nameOf(each));
      return index % 3 === 0 ? { error: `fault ${index}` } : { committed: false, write: index, row: index + 1 };
    };
    const group = new GroupCommit(async (units) => units.map(resultOf), { maxConcurrent: 2 });
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => group.commit({ writes: [write(SQL, [`${index}`])] })),
    );
    for (const [index, result] of results.entries()) {
      if (index % 3 === 0) {
        assert.equal(result.status, 'rejected');
        assert.ok(result.reason instanceof StorageError);
        assert.equal(result.reason.message, `fault ${index}`);
      } else {
        assert.deepEqual(result, { status: 'fulfilled', value: { committed: false, write: index, row: index + 1 } });
      }
    }
  });

  test('an error of the sink rejects its group and no other', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const first = [group.commit(unit('1')), group.commit(unit('2'))];
    await rounds();
    const second = [group.commit(unit('3')), group.commit(unit('4'))];
    await rounds();
    const settled = Promise.allSettled([...first, ...second]);
    const error = new StorageError('the disk is full');
    sink.groups[0]?.fail(error);
    await rounds();
    sink.groups[1]?.finish();
    assert.deepEqual(
      sink.groups.map(({ names }) => names),
      [
        ['1', '2'],
        ['3', '4'],
      ],
    );
    assert.deepEqual(await settled, [
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: COMMITTED },
      { status: 'fulfilled', value: COMMITTED },
    ]);
  });

  test('a unit without a result of the sink is rejected', async () => {
    const group = new GroupCommit(async () => [COMMITTED], { maxConcurrent: 2 });
    const results = await Promise.allSettled([group.commit(unit('told')), group.commit(unit('forgotten'))]);
    assert.equal(results[0].status, 'fulfilled');
    assert.equal(results[1].status, 'rejected');
    assert.ok(results[1].reason instanceof StorageError);
  });

  test('units beyond the maximum of waiting units are rejected, and waiting ones are not lost', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const accepted: Promise<unknown>[] = [];
    let refused: unknown;
    while (refused === undefined && accepted.length < 2 * LIMITS.queuedUnits) {
      const full = group.queuedUnits >= LIMITS.queuedUnits;
      const outcome = group.commit(unit('x'));
      if (full) refused = await outcome.catch((error: unknown) => error);
      else accepted.push(outcome);
    }
    assert.ok(refused instanceof StorageError);
    assert.match(refused.message, /too many/);
    assert.ok(accepted.length >= LIMITS.queuedUnits);
    assert.equal(group.queuedUnits, LIMITS.queuedUnits);
    await rounds();
    await sink.finishAll();
    assert.equal((await Promise.all(accepted)).length, accepted.length);
    assert.equal(sink.groups.flatMap(({ names }) => names).length, accepted.length);
    assert.equal(group.queuedUnits, 0);
    const later = group.commit(unit('later'));
    await rounds();
    sink.groups.at(-1)?.finish();
    assert.deepEqual(await later, COMMITTED);
  });

  test('a group is limited in rows, except for a unit that alone has more', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const half = LIMITS.rowsPerCommit / 2;
    const sizes = [half, half, 1, LIMITS.rowsPerCommit * 3, half, half + 1, 5, 5];
    const outcomes = sizes.map((rows, index) => group.commit(unit(`${index}`, rows)));
    await rounds();
    await sink.finishAll();
    await Promise.all(outcomes);
    const groups = sink.groups.map(({ names }) => names.map((name) => sizes[Number(name)] ?? 0));
    assert.deepEqual(groups.flat(), sizes);
    for (const rows of groups) {
      const sum = rows.reduce((total, each) => total + each, 0);
      assert.ok(rows.length === 1 || sum <= LIMITS.rowsPerCommit, `a group of ${sum} rows`);
    }
  });

  test('journal entries count as rows', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    const entry = { account: '', environment: '', at: 1, record: '' };
    const journal = Array(LIMITS.rowsPerCommit).fill(entry);
    const outcomes = ['a', 'b'].map((name) => group.commit({ writes: unit(name).writes, journal }));
    await rounds();
    await sink.finishAll();
    await Promise.all(outcomes);
    assert.deepEqual(
      sink.groups.map(({ names }) => names),
      [['a'], ['b']],
    );
  });

  test('drained waits for all units, including failed ones', async () => {
    const sink = slowSink();
    const group = new GroupCommit(sink.send, { maxConcurrent: 2 });
    await group.drained();
    const failed = group.commit(unit('1')).catch(() => 'failed');
    await rounds();
    const second = group.commit(unit('2'));
    let drained = false;
    const draining = group.drained().then(() => {
      drained = true;
    });
    await rounds();
    assert.equal(drained, false);
    sink.groups[0]?.fail(new StorageError('away'));
    await rounds();
    assert.equal(drained, false);
    await sink.finishAll();
    await draining;
    assert.equal(await failed, 'failed');
    assert.deepEqual(await second, COMMITTED);
  });
});
