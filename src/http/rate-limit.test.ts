import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DAY, MINUTE, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { TokenBuckets, tokenBucketsPerMinute } from './rate-limit.ts';

function fakeClock(start = 1_700_000_000_000) {
  let now = start;
  return {
    clock: () => now,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

/** How many are allowed in a row. */
function drain(buckets: TokenBuckets, name: string): number {
  for (let count = 0; count < 10_000; count++) if (!buckets.take(name).allowed) return count;
  return assert.fail('there is no limit');
}

describe('a token bucket', () => {
  it('allows the burst immediately, then the rate', () => {
    const { clock, pass } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 10, burst: 20 });
    assert.equal(drain(buckets, 'a'), 20);
    pass(99);
    assert.equal(buckets.take('a').allowed, false);
    pass(1);
    assert.equal(drain(buckets, 'a'), 1);
    pass(SECOND);
    assert.equal(drain(buckets, 'a'), 10);
  });

  it('never holds more than the burst', () => {
    const { clock, pass } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 10, burst: 20 });
    drain(buckets, 'a');
    pass(365 * DAY);
    assert.equal(drain(buckets, 'a'), 20);
  });

  it('exists once for each name', () => {
    const { clock } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 1, burst: 3 });
    assert.equal(drain(buckets, 'a'), 3);
    assert.equal(drain(buckets, 'b'), 3);
    assert.equal(drain(buckets, 'a'), 0);
  });

  it('reports what remains and when it changes', () => {
    const { clock, pass } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 2, burst: 4 });
    assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 3, reset: 1 });
    assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 2, reset: 1 });
    assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 1, reset: 2 });
    assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 0, reset: 2 });
    assert.deepEqual(buckets.take('a'), { allowed: false, remaining: 0, reset: 1 });
    pass(SECOND);
    assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 1, reset: 2 });
  });

  it('allows a request after the reported wait', () => {
    const step = fc.tuple(fc.nat(3000), fc.boolean());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step, { maxLength: 30 }), (rate, steps) => {
        const { clock, pass } = fakeClock();
        const buckets = new TokenBuckets({ clock, rate: rate / 7, burst: 5 });
        for (const [milliseconds, waits] of steps) {
          pass(milliseconds);
          const { allowed, reset } = buckets.take('a');
          assert.ok(reset >= 1);
          if (allowed || !waits) continue;
          pass(reset * SECOND);
          assert.equal(buckets.take('a').allowed, true);
        }
      }),
    );
  });

  it('never allows more than burst and rate in any period', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(500), { minLength: 1, maxLength: 200 }), (pauses) => {
        const { clock, pass } = fakeClock();
        const buckets = new TokenBuckets({ clock, rate: 5, burst: 10 });
        let allowed = 0;
        let elapsed = 0;
        for (const milliseconds of pauses) {
          pass(milliseconds);
          elapsed += milliseconds;
          if (buckets.take('a').allowed) allowed++;
          assert.ok(allowed <= 10 + (elapsed / SECOND) * 5 + 1e-6);
        }
      }),
    );
  });

  it('is neither emptied nor frozen by a clock that is set back', () => {
    const { clock, pass } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 10, burst: 20 });
    for (let count = 0; count < 15; count++) buckets.take('a');
    pass(-DAY);
    assert.equal(drain(buckets, 'a'), 5);
    pass(SECOND);
    assert.equal(drain(buckets, 'a'), 10);
  });

  it('of a caller that is no longer stored is full', () => {
    const { clock, pass } = fakeClock();
    const buckets = new TokenBuckets({ clock, rate: 1, burst: 2 });
    for (let index = 0; index < LIMITS.trackedAddresses - 1; index++) buckets.take(`${index}`);
    pass(MINUTE);
    assert.equal(drain(buckets, 'guesser'), 2);
    // One more than is kept: the full ones go, the empty one stays.
    buckets.take('one more');
    assert.equal(buckets.take('guesser').allowed, false);
    assert.equal(drain(buckets, '0'), 2);
  });
});

describe('a limit per minute', () => {
  it('allows all requests at once, and refills evenly', () => {
    const { clock, pass } = fakeClock();
    const buckets = tokenBucketsPerMinute(clock, 60);
    assert.equal(drain(buckets, 'a'), 60);
    assert.equal(buckets.take('a').reset, 1);
    pass(SECOND);
    assert.equal(drain(buckets, 'a'), 1);
    pass(MINUTE);
    assert.equal(drain(buckets, 'a'), 60);
  });

  it('may be less than one request a second', () => {
    const { clock, pass } = fakeClock();
    const buckets = tokenBucketsPerMinute(clock, 3);
    assert.equal(drain(buckets, 'a'), 3);
    assert.equal(buckets.take('a').reset, 20);
    pass(19 * SECOND);
    assert.equal(buckets.take('a').allowed, false);
    pass(1001);
    assert.equal(buckets.take('a').allowed, true);
  });
});
