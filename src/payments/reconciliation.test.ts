import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  buildOperation,
  buildPayment,
  buildReconciliation,
  NEXT,
  NOW,
  withCompleted,
  withOperation,
} from '../../test/fixtures/payment-fixtures.ts';
import { DAY, HOUR, type Random } from '../kernel/clock.ts';
import type { PaymentSnapshot } from './payment.ts';
import {
  backOff,
  firstRecoveryAt,
  nextDueAt,
  nextRecoveryAt,
  type RecoveryTimes,
  recoveryTimes,
  withoutRecheck,
} from './reconciliation.ts';
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
  it('are parsed from the settings', () => {
    const settings = effectiveSettings(COMMON_SETTINGS, { 'opened-expiry': '90s', 'timeout-ms': '750' });
    assert.deepEqual(recoveryTimes(settings), {
      timeout: 750,
      recoveryDelay: 60_000,
      recoveryMax: HOUR,
      lifetimes: { opened: 90_000, authorization: 7 * DAY },
    });
  });

  it('are extended by the lead of the deciding clock', () => {
    const settings = effectiveSettings(COMMON_SETTINGS, { 'opened-expiry': '90s' });
    assert.deepEqual(recoveryTimes(settings, 500).lifetimes, { opened: 90_500, authorization: 7 * DAY + 500 });
  });

  it('are not numbers where settings are missing', () => {
    assert.deepEqual(recoveryTimes({}), {
      timeout: Number.NaN,
      recoveryDelay: Number.NaN,
      recoveryMax: Number.NaN,
      lifetimes: { opened: Number.NaN, authorization: Number.NaN },
    });
  });
});

describe('an operation whose outcome is unknown', () => {
  it('is first inquired about when its response is overdue and the processor had time to record it', () => {
    assert.equal(firstRecoveryAt(buildOperation({ createdAt: NOW }), times()), NOW + 6000);
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

  it('is within its bounds and never decreases with the attempts', () => {
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

describe('the due time of a payment with nothing in progress', () => {
  it('is its expiry, earlier when operations are rechecked, or never', () => {
    const AGAIN = NOW + 100;
    const dueAt = (recheckIds: readonly string[], expiresAt: number | undefined): number | undefined =>
      nextRecoveryAt(buildPayment({ expiresAt }), { recheckIds }, AGAIN);
    assert.equal(dueAt([], undefined), undefined);
    assert.equal(dueAt([], NOW + 50), NOW + 50);
    assert.equal(dueAt([], NOW + 500), NOW + 500);
    assert.equal(dueAt(['a'], undefined), AGAIN);
    assert.equal(dueAt(['a'], NOW + 500), AGAIN);
    assert.equal(dueAt(['a'], NOW + 50), NOW + 50);
    assert.equal(dueAt(['a'], 0), 0);
    assert.equal(dueAt([], 0), 0);
  });
});

describe('the time at which a payment is due after an event', () => {
  const base = { now: NOW, times: times({ recoveryDelay: 1000 }), random: drawing('least') };
  const inProgress = withOperation({}, { type: 'capture', createdAt: NOW - 5 }, { dueAt: NOW + 7, attempts: 2 });
  const waiting = withCompleted({ expiresAt: undefined }, {}, { attempts: 1, dueAt: NOW + 7, recheckIds: ['first'] });

  it('is that of the first recovery when an operation has started', () => {
    const first = NOW - 5 + 2000;
    assert.equal(nextDueAt({ ...base, event: 'requested', before: undefined, after: inProgress }), first);
    assert.equal(nextDueAt({ ...base, event: 'started', before: waiting, after: inProgress }), first);
  });

  it('stays while the operation is in progress, until an attempt is counted', () => {
    const due = (event: string) => nextDueAt({ ...base, event, before: inProgress, after: inProgress });
    assert.equal(due('responded'), NOW + 7);
    assert.equal(due('notified'), NOW + 7);
    assert.equal(due('unanswered'), NOW + 4000);
  });

  it('is that of the recheck or the expiry of a payment with nothing in progress, or never', () => {
    const due = (after: PaymentSnapshot) => nextDueAt({ ...base, event: 'inquired', before: inProgress, after });
    assert.equal(due(waiting), NOW + 2000);
    assert.equal(due({ ...waiting, payment: buildPayment({ expiresAt: NOW + 10 }) }), NOW + 10);
    assert.equal(due({ ...waiting, reconciliation: buildReconciliation() }), undefined);
    assert.equal(nextDueAt({ ...base, event: 'inquired', before: waiting, after: waiting }), NOW + 2000);
  });

  it('is now after a hint, or a response that contradicts what recovery found', () => {
    assert.equal(nextDueAt({ ...base, event: 'notified', before: waiting, after: waiting }), NOW);
    assert.equal(nextDueAt({ ...base, event: 'responded', before: waiting, after: waiting }), NOW);
    assert.equal(nextDueAt({ ...base, event: 'responded', before: undefined, after: waiting }), NOW);
    assert.equal(nextDueAt({ ...base, event: 'responded', before: inProgress, after: waiting }), NOW + 2000);
  });
});

describe('the operations that are rechecked', () => {
  it('can be removed one at a time, and keep their order', () => {
    const { recheckIds } = withoutRecheck(buildReconciliation({ recheckIds: ['a', NEXT, 'b'] }), NEXT);
    assert.deepEqual(recheckIds, ['a', 'b']);
  });
});
