import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { PeriodicTask } from './periodic-task.ts';

test('a round calls a sweep until nothing is due, and an exhaustive one once, whatever it left', async () => {
  const calls = { stepwise: 0, exhaustive: 0 };
  const removed: string[] = [];
  const task = new PeriodicTask({
    every: 1000,
    sweeps: [
      { kind: 'stepwise', run: async () => (++calls.stepwise < 3 ? 1 : 0) },
      {
        kind: 'exhaustive',
        isExhaustive: true,
        run: async () => {
          if (++calls.exhaustive > 5) throw new Error('the sweep does not end');
          return 1;
        },
      },
    ],
    work: [],
    time: trustedTime(() => Date.now()),
    onRemoved: (kind, count) => removed.push(`${kind} ${count}`),
    onError: (kind, error) => assert.fail(`${kind}: ${error}`),
  });
  await task.runOnce();
  assert.deepEqual(calls, { stepwise: 3, exhaustive: 1 });
  assert.deepEqual(removed, ['stepwise 1', 'stepwise 1', 'exhaustive 1']);
});
