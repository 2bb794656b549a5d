import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../kernel/clock.ts';
import { nextAttemptAt, parseRetryAfter, parseSchedule } from './schedule.ts';

/** `share`: where in its range each number is drawn. */
const randomAt = (share: number) => ({
  bytes: () => new Uint8Array(0),
  below: (bound: number) => Math.min(bound - 1, Math.floor(share * bound)),
});

describe('a schedule', () => {
  test('is 1 to 20 delays of a second to a day', () => {
    assert.deepEqual(parseSchedule('5s,5m, 2h'), [5 * SECOND, 5 * MINUTE, 2 * HOUR]);
    assert.deepEqual(parseSchedule('24h'), [24 * HOUR]);
    assert.deepEqual(parseSchedule(Array.from({ length: 20 }, () => '1s').join(','))?.length, 20);
    for (const text of [
      '',
      '5',
      's',
      '0s',
      '-1s',
      '1.5s',
      '25h',
      '86401s',
      '5s,',
      '1d',
      Array.from({ length: 21 }, () => '1s').join(','),
    ])
      assert.equal(parseSchedule(text), undefined, text);
  });

  test('counts from the end of the failed attempt, with up to a tenth more', () => {
    const delays = [10 * SECOND, MINUTE];
    const failed = { step: 1, endedAt: 1000, retryAfter: undefined };
    assert.equal(nextAttemptAt(delays, failed, randomAt(0)), 11_000);
    assert.equal(nextAttemptAt(delays, failed, randomAt(0.9999)), 12_000);
    assert.equal(nextAttemptAt(delays, { ...failed, step: 2 }, randomAt(0)), 61_000);
    assert.equal(nextAttemptAt(delays, { ...failed, step: 3 }, randomAt(0)), undefined);
  });

  test('is postponed by Retry-After, by a day at most, and never brought forward', () => {
    const delays = [MINUTE];
    const at = (retryAfter: number) => nextAttemptAt(delays, { step: 1, endedAt: 0, retryAfter }, randomAt(0));
    assert.equal(at(5 * MINUTE), 5 * MINUTE);
    assert.equal(at(SECOND), MINUTE);
    assert.equal(at(30 * 24 * HOUR), 24 * HOUR);
  });
});

test('Retry-After is a number of seconds or a date', () => {
  assert.equal(parseRetryAfter('120', 1000), 121_000);
  assert.equal(parseRetryAfter('Fri, 31 Dec 1999 23:59:59 GMT', 0), 946_684_799_000);
  for (const text of [undefined, '', '-1', '1.5', 'soon', '2027-01-01', 'Fri, 99 Dec'])
    assert.equal(parseRetryAfter(text, 0), undefined, text);
});
