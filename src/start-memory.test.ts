import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { TestClock } from '../test/fixtures/clock.ts';
import { SECOND } from './kernel/clock.ts';
import { releaseStartMemory } from './start-memory.ts';

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? Number.NaN;

test('the young generation of a start is returned to the system', () => {
  const clock = new TestClock();
  releaseStartMemory(clock.timers);
  // Objects that survive make the young generation grow.
  const kept: object[] = [];
  // In a process that other tests share, the young generation may have grown before.
  do kept.push({ bytes: [kept.length] });
  while (youngBytes() < 16e6);
  clock.advance(3 * SECOND);
  assert.ok(youngBytes() < 4e6, `${youngBytes()} bytes`);
  assert.ok(kept.length > 0);
});
