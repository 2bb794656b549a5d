import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../src/kernel/failure.ts';
import { FairQueue } from './fair-queue.ts';

/** Tasks that end when the test says so, and the order in which they began. */
function tasks() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const task = (name: string) => (): Promise<string> => {
    started.push(name);
    return new Promise((resolve) => ends.set(name, () => resolve(name)));
  };
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await nextTick();
  };
  return { started: started, task, end, nextTick: nextTick };
}

const isUnavailable = (result: PromiseSettledResult<unknown> | undefined): boolean =>
  result?.status === 'rejected' && result.reason instanceof Failure && result.reason.code === 'unavailable';

describe('a fair queue', () => {
  test('runs tasks of all sources in rotation, however many one of them has', async () => {
    const { started, task, end, nextTick } = tasks();
    const queue = new FairQueue({ concurrent: 1, perSource: 50, total: 100 });
    const names = Array.from({ length: 45 }, (_, index) => `flood-${index}`);
    const all = names.map((name) => queue.run('flood', task(name)));
    all.push(queue.run('ana', task('ana-0')), queue.run('ana', task('ana-1')), queue.run('bob', task('bob-0')));
    await nextTick();
    for (let index = 0; index < 48; index++) await end(started[index] ?? '');
    await Promise.all(all);
    assert.deepEqual(started.slice(0, 7), ['flood-0', 'flood-1', 'ana-0', 'bob-0', 'flood-2', 'ana-1', 'flood-3']);
    assert.equal(started.length, 48);
  });

  test('never runs more tasks at a time than its limit, also when tasks fail', async () => {
    const queue = new FairQueue({ concurrent: 2, perSource: 50, total: 100 });
    let [running, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      throw new Error('failed');
    };
    await Promise.allSettled(Array.from({ length: 20 }, (_, index) => queue.run(`${index % 3}`, work)));
    assert.deepEqual([running, most], [0, 2]);
    assert.equal(await queue.run('next', () => Promise.resolve('done')), 'done');
  });

  test('rejects tasks of one source beyond its limit', async () => {
    const { started, task, end } = tasks();
    const queue = new FairQueue({ concurrent: 1, perSource: 2, total: 100 });
    const results = Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => queue.run('one', task(name))));
    const other = queue.run('two', task('e'));
    for (const name of ['a', 'b', 'e', 'c']) await end(name);
    assert.equal(await other, 'e');
    assert.deepEqual(started, ['a', 'b', 'e', 'c']);
    assert.deepEqual(
      (await results).map((result) => isUnavailable(result)),
      [false, false, false, true],
    );
  });

  test('drops the newest task of the longest source when it is full, and is empty at the end', async () => {
    const { started, task, end } = tasks();
    const queue = new FairQueue({ concurrent: 1, perSource: 10, total: 3 });
    const flood = Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => queue.run('one', task(name))));
    const other = queue.run('two', task('e'));
    const third = Promise.allSettled([queue.run('three', task('f')), queue.run('three', task('g'))]);
    for (const name of ['a', 'b', 'e', 'f']) await end(name);
    assert.equal(await other, 'e');
    assert.deepEqual(started, ['a', 'b', 'e', 'f']);
    assert.deepEqual(
      (await flood).map((result) => isUnavailable(result)),
      [false, false, true, true],
    );
    assert.deepEqual(
      (await third).map((result) => isUnavailable(result)),
      [false, true],
    );
    assert.equal(await queue.run('one', () => Promise.resolve('free')), 'free');
  });
});
