import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { conditionsNow } from './results.ts';
import { measureThreads, threadSection } from './threads.ts';

test('the section shows each number of threads beside the first', { skip: onlyLong }, async () => {
  const measured = await measureThreads({ rounds: 1, seconds: 0.5, workers: [1, 2] }, () => undefined);
  assert.equal(measured.figures.length, 6);
  for (const { perSecond, cpu, writerCpu, rate } of measured.figures)
    assert.ok(perSecond > 0 && cpu > writerCpu && writerCpu >= 0 && rate > 0);
  const section = threadSection(measured, conditionsNow(new Date(0)));
  assert.match(section, /\| authorize a payment +\| 2 +\|/);
});
