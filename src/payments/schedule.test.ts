import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { buildOperation, buildPayment, NOW } from '../../test/fixtures/payment-fixtures.ts';
import { DAY, HOUR, type Random } from '../kernel/clock.ts';
import {
  backOff,
  firstRecoveryAt,
  nextRecoveryAt,
  type RecoveryTimes,
  recheckUntil,
  recoveryTimes,
} from './schedule.ts';
import { COMMON_SETTINGS, effectiveSettings } from './settings.ts';

const times = (changes: Partial<RecoveryTimes> = {}): RecoveryTimes => ({
  timeout: 1000,
  recoveryDelay: 5000,
  recoveryMax: HOUR,
  lifetimes: { opened: DAY, authorization: 7 * DAY },
  ...changes,
});

/** The smallest or the greatest jitter; notes the bounds that were asked for. */
function drawing(extreme: 'least' | 'most'): Random & { readonly bounds: number[] } {
  const bounds: number[] = [];
  const below = (bound: number): number => {
    bounds.push(bound);
    return extreme === 'least' ? 0 : bound - 1;
  };
  return { bounds, below, bytes: () => assert.fail('no bytes are needed') };
}

describe('times', () => {
  it('are read from the settings', () => {
    const settings = effectiveSettings(COMMON_SETTINGS, { 'opened-expiry': '90s', 'timeout-ms': '750' });
    assert.deepEqual(recoveryTimes(settings), {
      timeout: 750,
      recoveryDelay: 60_000,
      recoveryMax: HOUR,
      lifetimes: { opened: 90_000, authorization: 7 * DAY },
    });
  });

  it('are no numbers where the settings are not there', () => {
    assert.deepEqual(recoveryTimes({}), {
      timeout: Number.NaN,
      recoveryDelay: Number.NaN,
      recoveryMax: Number.NaN,
      lifetimes: { opened: Number.NaN, authorization: Number.NaN },
    });
  });
});

describe('an operation whose outcome is unknown', () => {
  it('is first looked at when its answer must have come and the processor had time to note it', () => {
    assert.equal(firstRecoveryAt(buildOperation({ createdAt: NOW }), times()), NOW + 6000);
  });

  it('is looked for twice as long as recovery may take', () => {
    assert.equal(recheckUntil(buildOperation({ createdAt: NOW }), times()), NOW + 2 * HOUR);
  });
});

describe('the wait for the next attempt', () => {
  const least = (attempts: number, recoveryDelay: number): number =>
    backOff(attempts, times({ recoveryDelay }), drawing('least'));

  it('doubles from the recovery delay up to an hour', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((attempts) => least(attempts, 5000)),
      [5000, 10_000, 20_000, 40_000],
    );
    assert.equal(least(9, 5000), 2_560_000);
    assert.equal(least(10, 5000), HOUR);
    assert.equal(least(5000, 5000), HOUR);
  });

  it('is never shorter than a quarter of a second, and then grows to 12 doublings', () => {
    assert.equal(least(0, 0), 250);
    assert.equal(least(0, 249), 250);
    assert.equal(least(0, 251), 251);
    assert.equal(least(12, 0), 250 * 4096);
    assert.equal(least(13, 0), 250 * 4096);
    assert.equal(least(11, 0), 250 * 2048);
  });

  it('has a jitter of up to a tenth', () => {
    const random = drawing('most');
    assert.equal(backOff(0, times(), random), 5499);
    assert.equal(backOff(20, times(), random), HOUR + HOUR / 10 - 1);
    assert.equal(backOff(0, times({ recoveryDelay: 255 }), random), 255 + 25);
    assert.deepEqual(random.bounds, [500, HOUR / 10, 26]);
  });

  it('keeps within its bounds and never shrinks with the attempts', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(600_000), (attempts, recoveryDelay) => {
        const lowest = least(attempts, recoveryDelay);
        const highest = backOff(attempts, times({ recoveryDelay }), drawing('most'));
        assert.ok(lowest >= 250 && lowest <= HOUR && highest < lowest * 1.1 + 1);
        assert.ok(least(attempts + 1, recoveryDelay) >= lowest);
      }),
    );
  });
});

describe('the next look at a payment', () => {
  it('is when it ends, or sooner when something is watched, or never', () => {
    const AGAIN = NOW + 100;
    const look = (watched: readonly string[], expiresAt: number | undefined): number | undefined =>
      nextRecoveryAt(buildPayment({ recheckIds: watched, expiresAt }), AGAIN);
    assert.equal(look([], undefined), undefined);
    assert.equal(look([], NOW + 50), NOW + 50);
    assert.equal(look([], NOW + 500), NOW + 500);
    assert.equal(look(['a'], undefined), AGAIN);
    assert.equal(look(['a'], NOW + 500), AGAIN);
    assert.equal(look(['a'], NOW + 50), NOW + 50);
    assert.equal(look(['a'], 0), 0);
    assert.equal(look([], 0), 0);
  });
});
