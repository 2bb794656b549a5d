import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import type { TakingThread } from '../../test/fixtures/taking-thread.ts';
import { systemRandom } from '../crypto/random.ts';
import { DAY, MINUTE, type MonotonicClock, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type BucketSource, createBucketMemory, TokenBuckets, tokenBucketsPerMinute } from './rate-limit.ts';

function fakeClock(start = 0) {
  let now = start;
  return {
    clock: () => now,
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const newSource = (clock: MonotonicClock): BucketSource => ({ memory: createBucketMemory(systemRandom()), clock });

const newBuckets = (clock: MonotonicClock, rate: number, burst: number): TokenBuckets =>
  new TokenBuckets({ ...newSource(clock), kind: 'test', rate, burst });

/** How many are allowed in a row. */
function drain(buckets: TokenBuckets, name: string): number {
  for (let count = 0; count < 10_000; count++) if (!buckets.take(name).allowed) return count;
  return assert.fail('there is no limit');
}

describe('a token bucket', () => {
  it('allows the burst immediately, then the rate', () => {
    const { clock, pass } = fakeClock();
    const buckets = newBuckets(clock, 10, 20);
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
    const buckets = newBuckets(clock, 10, 20);
    drain(buckets, 'a');
    pass(365 * DAY);
    assert.equal(drain(buckets, 'a'), 20);
  });

  it('exists once for each name', () => {
    const { clock } = fakeClock();
    const buckets = newBuckets(clock, 1, 3);
    assert.equal(drain(buckets, 'a'), 3);
    assert.equal(drain(buckets, 'b'), 3);
    assert.equal(drain(buckets, 'a'), 0);
  });

  it('reports what remains and when it changes', () => {
    const { clock, pass } = fakeClock();
    const buckets = newBuckets(clock, 2, 4);
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
        const buckets = newBuckets(clock, rate / 7, 5);
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
        const buckets = newBuckets(clock, 5, 10);
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

  it('of a caller that is no longer stored is full', () => {
    const { clock, pass } = fakeClock();
    const buckets = newBuckets(clock, 1, 2);
    for (let index = 0; index < LIMITS.trackedAddresses - 1; index++) buckets.take(`${index}`);
    pass(MINUTE);
    assert.equal(drain(buckets, 'guesser'), 2);
    // One more than is kept: the full ones go, the empty one stays.
    buckets.take('one more');
    assert.equal(buckets.take('guesser').allowed, false);
    assert.equal(drain(buckets, '0'), 2);
  });
});

describe('memory of buckets', () => {
  const size = { rate: 1, burst: 5 };

  it('is shared by all that use it, by kind', () => {
    const source = newSource(() => 0);
    const [one, other] = ['keys', 'keys'].map((kind) => new TokenBuckets({ ...source, kind, ...size }));
    for (let count = 0; count < 3; count++) one?.take('a');
    assert.equal(other?.take('a').remaining, 1);
    assert.equal(one?.take('a').remaining, 0);
    assert.equal(other?.take('a').allowed, false);
    assert.equal(new TokenBuckets({ ...source, kind: 'denials', ...size }).take('a').remaining, 4);
  });

  it('replaces the fullest bucket when there are too many, and never one that is empty', () => {
    const buckets = new TokenBuckets({ ...newSource(() => 0), kind: 'keys', ...size });
    assert.equal(drain(buckets, 'guesser'), 5);
    for (let index = 0; index < 10 * LIMITS.trackedAddresses; index++) buckets.take(`${index}`);
    assert.equal(buckets.take('guesser').allowed, false);
  });

  it('counts a token that another thread takes at any moment of the first call', (context) => {
    const { load } = Atomics;
    let moment = 0;
    for (let loads = 0; loads >= moment; ) {
      moment++;
      loads = 0;
      const source = newSource(() => 0);
      const [one, other] = ['keys', 'keys'].map((kind) => new TokenBuckets({ ...source, kind, ...size }));
      const mocked = context.mock.method(Atomics, 'load', (array: Int32Array, place: number) => {
        if (++loads === moment) other?.take('a');
        return load(array, place);
      });
      one?.take('a');
      mocked.mock.restore();
      if (loads >= moment) assert.equal(one?.take('a').remaining, 2, `load ${moment}`);
    }
    assert.ok(moment > 5, `${moment} moments`);
  });

  it('lets threads take each token once', { timeout: 60_000 }, async () => {
    const source = newSource(() => 0);
    const burst = 2000;
    const workerData: TakingThread = { memory: source.memory, burst, attempts: burst };
    const script = new URL('../../test/fixtures/taking-thread.ts', import.meta.url);
    const threads = Array.from({ length: 3 }, () => new Worker(script, { workerData }));
    const counts = await Promise.all(threads.map(async (thread) => Number((await once(thread, 'message'))[0])));
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      burst,
    );
    const buckets = new TokenBuckets({ ...source, kind: 'keys', rate: 1, burst });
    assert.equal(buckets.take('a').allowed, false);
  });
});

describe('a limit per minute', () => {
  it('allows all requests at once, and refills evenly', () => {
    const { clock, pass } = fakeClock();
    const buckets = tokenBucketsPerMinute(newSource(clock), 'test', 60);
    assert.equal(drain(buckets, 'a'), 60);
    assert.equal(buckets.take('a').reset, 1);
    pass(SECOND);
    assert.equal(drain(buckets, 'a'), 1);
    pass(MINUTE);
    assert.equal(drain(buckets, 'a'), 60);
  });

  it('may be less than one request a second', () => {
    const { clock, pass } = fakeClock();
    const buckets = tokenBucketsPerMinute(newSource(clock), 'test', 3);
    assert.equal(drain(buckets, 'a'), 3);
    assert.equal(buckets.take('a').reset, 20);
    pass(19 * SECOND);
    assert.equal(buckets.take('a').allowed, false);
    pass(1001);
    assert.equal(buckets.take('a').allowed, true);
  });
});
