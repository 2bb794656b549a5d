import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { HOUR, MINUTE, SECOND } from './clock.ts';
import { LIMITS } from './limits.ts';
import { aheadOfSteady, TimeGuard, type TimeReading } from './time-guard.ts';

const NOW = Date.UTC(2026, 10, 23, 12);
const TOLERANCE = LIMITS.clockToleranceMs;

function newGuard() {
  const state = { time: NOW, monotonic: 1000 };
  const guard = new TimeGuard({ clock: () => state.time, monotonic: () => state.monotonic });
  const pass = (milliseconds: number): void => {
    state.time += milliseconds;
    state.monotonic += milliseconds;
  };
  const jump = (milliseconds: number): void => {
    state.time += milliseconds;
  };
  return { guard, state, pass, jump };
}

function trustedGuard() {
  const rig = newGuard();
  rig.guard.begin(NOW);
  assert.equal(rig.guard.trustedNow(), NOW);
  return rig;
}

test('all times come from one reading, so that the time between two readings extends no lifetime', () => {
  let time = NOW;
  const guard = new TimeGuard({ clock: () => time++, monotonic: () => time - NOW });
  guard.begin(NOW);
  guard.accept(guard.read());
  const { now, steady, latest } = guard.timesNow();
  assert.deepEqual([steady, latest], [now, now]);
  assert.equal(aheadOfSteady(guard), 0);
});

describe('a clock that jumps', () => {
  for (const hours of [200, 1, -1, -200])
    it(`by ${hours} hours is not trusted until it agrees again`, () => {
      const { guard, state, pass, jump } = trustedGuard();
      pass(HOUR);
      jump(hours * HOUR);
      assert.equal(guard.trustedNow(), undefined);
      assert.equal(guard.read().distrust, hours > 0 ? 'ahead' : 'behind');
      pass(9 * SECOND);
      assert.equal(guard.steadyNow(), NOW + HOUR + 9 * SECOND);
      assert.equal(guard.latestNow(), Math.max(state.time, NOW + HOUR + 9 * SECOND));
      assert.equal(guard.lastTrusted, NOW);
      jump(-hours * HOUR);
      assert.equal(guard.trustedNow(), state.time);
    });

  it('is trusted within the tolerance', () => {
    for (const difference of [TOLERANCE, -TOLERANCE]) {
      const { guard, state, jump } = trustedGuard();
      jump(difference);
      assert.equal(guard.trustedNow(), state.time);
      jump(Math.sign(difference));
      assert.equal(guard.trustedNow(), undefined);
    }
  });

  it('cannot drift beyond the tolerance by many small jumps', () => {
    const { guard, pass, jump } = trustedGuard();
    let jumps = 0;
    for (; guard.trustedNow() !== undefined; jumps++) {
      pass(SECOND);
      jump(MINUTE);
    }
    assert.ok(jumps <= 6, `${jumps}`);
  });

  it('is followed when it is corrected evenly', () => {
    const { guard, state, pass, jump } = trustedGuard();
    for (let minute = 0; minute < 3000; minute++) {
      pass(MINUTE);
      jump(500);
      assert.equal(guard.trustedNow(), state.time);
    }
    assert.ok(state.time - state.monotonic - NOW > 2 * TOLERANCE);
  });

  it('is trusted after an operator accepted it, and compared from that time on', () => {
    const { guard, state, pass, jump } = trustedGuard();
    jump(200 * HOUR);
    guard.accept(guard.read());
    pass(MINUTE);
    assert.equal(guard.trustedNow(), state.time);
    assert.equal(guard.since, NOW + 200 * HOUR);
    jump(-200 * HOUR);
    assert.equal(guard.read().distrust, 'behind');
  });

  it('is reported at each change', () => {
    const { guard, pass, jump } = trustedGuard();
    const changes: TimeReading['distrust'][] = [];
    guard.onChange(({ distrust }) => changes.push(distrust));
    for (const difference of [0, 10 * HOUR, 0, -10 * HOUR, 0]) {
      jump(difference);
      pass(SECOND);
      for (let reads = 0; reads < 3; reads++) guard.trustedNow();
    }
    assert.deepEqual(changes, [undefined, 'ahead', undefined]);
  });
});

describe('a start', () => {
  it('trusts a clock that agrees with the last trusted time', () => {
    for (const stopped of [-TOLERANCE, 0, HOUR, LIMITS.uncheckedStopMs + TOLERANCE]) {
      const { guard, state } = newGuard();
      guard.begin(NOW - stopped);
      assert.equal(guard.trustedNow(), state.time);
    }
  });

  it('does not trust a clock that is earlier, much later, or without a stored time to compare', () => {
    for (const [last, distrust] of [
      [NOW + TOLERANCE + 1, 'behind'],
      [NOW - LIMITS.uncheckedStopMs - TOLERANCE - 1, 'long-stop'],
      [undefined, 'no-record'],
    ] as const) {
      const { guard } = newGuard();
      guard.begin(last);
      assert.equal(guard.read().distrust, distrust);
      assert.equal(guard.trustedNow(), undefined);
      assert.equal(guard.since, undefined);
    }
  });

  it('compares exactly from the first trusted time on', () => {
    const { guard, jump } = newGuard();
    guard.begin(NOW - HOUR);
    assert.equal(guard.trustedNow(), NOW);
    jump(HOUR);
    assert.equal(guard.trustedNow(), undefined);
  });

  it('trusts a clock that enters the range later', () => {
    const { guard, state, jump } = newGuard();
    guard.begin(NOW - 100 * HOUR);
    assert.equal(guard.steadyNow(), NOW - 100 * HOUR);
    jump(-99 * HOUR);
    assert.equal(guard.trustedNow(), state.time);
  });
});
