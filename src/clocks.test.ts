import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { bootClock } from './clocks.ts';
import { HOUR, type MonotonicClock } from './kernel/clock.ts';

describe('the time since the boot', () => {
  /** The clocks of a machine; `readings` counts those of the time since the boot. */
  let machine: { boot: number; wall: number; ticks: number; readings: number };
  let clock: MonotonicClock;
  beforeEach(() => {
    machine = { boot: 5000.4, wall: 1_700_000_000_000.7, ticks: 300.2, readings: 0 };
    const sinceBoot = (): number => {
      machine.readings++;
      return Math.floor(machine.boot / 10) * 10;
    };
    clock = bootClock(
      sinceBoot,
      () => Math.floor(machine.wall),
      () => machine.ticks,
    );
  });
  const pass = (milliseconds: number): void => {
    machine.boot += milliseconds;
    machine.wall += milliseconds;
    machine.ticks += milliseconds;
  };

  test('advances with the clocks, never backwards, and is read once a second', () => {
    let last = clock();
    for (let step = 0; step < 2000; step++) {
      pass(5.3);
      const now = clock();
      assert.ok(now >= last, `${now} after ${last}`);
      assert.ok(Math.abs(now - machine.boot) <= 10, `${now} instead of ${machine.boot}`);
      last = now;
    }
    assert.ok(machine.readings <= 12, `${machine.readings} readings in 10.6 seconds`);
  });

  test('includes a suspension immediately, in which only the boot and the wall clock advance', () => {
    clock();
    machine.boot += 8 * HOUR;
    machine.wall += 8 * HOUR;
    assert.ok(Math.abs(clock() - machine.boot) <= 10);
    pass(1);
    assert.ok(Math.abs(clock() - machine.boot) <= 11);
  });

  test('does not follow a wall clock that is set', () => {
    const before = clock();
    for (const jump of [HOUR, -2 * HOUR, 3]) {
      machine.wall += jump;
      pass(1);
      assert.ok(clock() - before <= 14);
    }
  });
});
