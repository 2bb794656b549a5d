import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holdRows, mergeNewest } from '../console/web/src/api/live-rows.ts';
import { computeScale } from '../console/web/src/pages/overview/series.ts';
import { countDecimals, parseAmount } from '../console/web/src/pages/payments/amount.ts';
import { toRelativeTime } from '../console/web/src/parts/relative-time.ts';
import { findFaultySetting, toSettings, withChange } from '../console/web/src/parts/setting-changes.ts';
import { startOfDay } from '../console/wire/start-of-day.ts';

describe('an amount that a user enters', () => {
  it('is accepted with point or comma, and gets all decimals of the currency', () => {
    for (const typed of ['5', '5.0', '5,00', ' 05.00 '])
      assert.deepEqual(parseAmount(typed, '12.50'), { amount: '5.00' });
    assert.deepEqual(parseAmount('900', '1000'), { amount: '900' });
    assert.deepEqual(parseAmount('0.001', '1.000'), { amount: '0.001' });
  });

  it('may be the maximum, and not a minor unit more', () => {
    assert.deepEqual(parseAmount('12.50', '12.50'), { amount: '12.50' });
    assert.deepEqual(parseAmount('12.51', '12.50'), { fault: 'tooMuch' });
    assert.deepEqual(parseAmount('999999999999.99', '999999999999.98'), { fault: 'tooMuch' });
  });

  it('is never guessed: a thousands separator, a sign, an exponent and too many decimals are rejected', () => {
    for (const typed of ['1,000', '1.000', '1,000.00', '-5', '5e3', '5.001', '', '.5', '5.', '5 000', '٥'])
      assert.deepEqual(parseAmount(typed, '9999.00'), { fault: 'form' }, typed);
    assert.deepEqual(parseAmount('5.0', '1000'), { fault: 'form' });
  });

  it('is above zero', () => {
    for (const typed of ['0', '0.00', '000']) assert.deepEqual(parseAmount(typed, '12.50'), { fault: 'zero' });
  });

  it('has the decimals of the currency that the service uses', () => {
    assert.deepEqual(['12.50', '1000', '1.000'].map(countDecimals), [2, 0, 3]);
  });
});

describe('the rows of a list that is polled', () => {
  const key = (row: string): string => row.charAt(0);
  const rows = (text: string): string[] => text.split(' ').filter((row) => row !== '');

  it('are the newest page, and behind it what was read before', () => {
    const merged = (newest: string, before: string) => mergeNewest(rows(newest), rows(before), key).join(' ');
    assert.equal(merged('e d c', 'c b a'), 'e d c b a');
    assert.equal(merged('e d2 b', 'd c b a'), 'e d2 b a', 'changed and removed rows');
    assert.equal(merged('h g f', 'c b a'), 'h g f', 'a page and more are missing in between');
    assert.equal(merged('', 'a'), '');
  });

  it('wait when they would move others, and only then', () => {
    const held = (shown: string, now: string) => {
      const { rows: result, waiting } = holdRows(rows(shown), rows(now), key);
      return `${result.join(' ')} +${waiting}`;
    };
    assert.equal(held('c b a', 'e d c b a'), 'c b a +2');
    assert.equal(held('c b a', 'e c2 a'), 'c2 a +1', 'changed and removed rows do not wait');
    assert.equal(held('c b', 'c b a'), 'c b a +0', 'older rows move nothing');
    assert.equal(held('c a', 'c b a'), 'c a +1', 'rows in between move others');
    assert.equal(held('b a', 'd c'), 'b a +2', 'all are new');
    assert.equal(held('', 'b a'), 'b a +0');
    assert.equal(held('b a', ''), ' +0', 'all were deleted');
  });
});

describe('a relative time', () => {
  const MINUTE = 60_000;
  const text = (ms: number): string => {
    const { number, unit } = toRelativeTime(ms);
    return `${number} ${unit}`;
  };

  it('is rounded to the nearest number of its unit', () => {
    assert.equal(text(-119 * MINUTE), '-2 hour');
    assert.equal(text(-89 * MINUTE), '-1 hour');
    assert.equal(text(119 * MINUTE), '2 hour');
    assert.equal(text(-100_000), '-2 minute');
    assert.equal(text(-36 * 60 * MINUTE), '-1 day');
    assert.equal(text(-37 * 60 * MINUTE), '-2 day');
  });

  it('uses the next unit instead of 60 minutes, 24 hours, 30 days or 12 months', () => {
    assert.equal(text(-59.6 * MINUTE), '-1 hour');
    assert.equal(text(-23.6 * 60 * MINUTE), '-1 day');
    assert.equal(text(-29.6 * 1440 * MINUTE), '-1 month');
    assert.equal(text(-360 * 1440 * MINUTE), '-1 year');
    assert.deepEqual([text(-20_000), text(20_000)], ['0 second', '0 second']);
  });
});

describe('the scale of a chart', () => {
  it('has at most four round steps from zero to a maximum above all bars', () => {
    const ends = [1, 3, 4, 5, 10, 11, 489, 1000, 1001].map((most) => [most, computeScale(most)] as const);
    for (const [most, ticks] of ends) {
      const [last = 0, before = 0] = [ticks.at(-1), ticks.at(-2)];
      assert.ok(last >= most && before < most && ticks.length <= 5 && ticks[0] === 0, `${most}: ${ticks.join(' ')}`);
    }
    assert.deepEqual(computeScale(489), [0, 200, 400, 600]);
    assert.deepEqual(computeScale(10), [0, 5, 10]);
  });

  it('has integers only, and a maximum even without data', () => {
    assert.deepEqual(computeScale(3), [0, 1, 2, 3]);
    assert.deepEqual(computeScale(0), [0, 1]);
    for (const most of [1, 2, 7, 9, 10]) assert.ok(computeScale(most).every(Number.isInteger));
  });
});

describe('the start of a day', () => {
  const starts = (day: string, timeZone: string, daysLater?: number) => startOfDay(day, timeZone, daysLater);

  it('is midnight in the time zone, a number of days later', () => {
    assert.equal(starts('2026-07-01', 'UTC'), '2026-07-01T00:00:00.000Z');
    assert.equal(starts('2026-07-01', 'America/Bogota'), '2026-07-01T05:00:00.000Z');
    assert.equal(starts('2026-07-01', 'Asia/Kathmandu'), '2026-06-30T18:15:00.000Z');
    assert.equal(starts('2026-12-31', 'Pacific/Kiritimati', 1), '2026-12-31T10:00:00.000Z');
    assert.equal(starts('2026-02-28', 'America/New_York', 1), '2026-03-01T05:00:00.000Z');
  });

  it('follows daylight saving time, on the days of the change too', () => {
    assert.equal(starts('2026-03-29', 'Europe/Madrid'), '2026-03-28T23:00:00.000Z');
    assert.equal(starts('2026-03-29', 'Europe/Madrid', 1), '2026-03-29T22:00:00.000Z');
    assert.equal(starts('2026-10-25', 'Europe/Madrid', 1), '2026-10-25T23:00:00.000Z');
    // There the clock changes at midnight: it skips that hour in spring, and shows it twice in autumn.
    assert.equal(starts('2026-09-06', 'America/Santiago'), '2026-09-06T04:00:00.000Z');
    assert.equal(starts('2026-04-05', 'America/Santiago'), '2026-04-05T04:00:00.000Z');
    assert.equal(starts('2026-11-01', 'America/Havana'), '2026-11-01T04:00:00.000Z');
  });

  it('is undefined without a date', () => {
    for (const day of ['', 'soon', '2026-13-01']) assert.equal(starts(day, 'UTC'), undefined);
  });
});

describe('changes of settings', () => {
  const setting = (over: object) => ({
    name: 'auth',
    value: 'jwt',
    is_set: true,
    default_value: null,
    expected: { reason: 'valueVisible', values: {} } as const,
    is_secret: false,
    ...over,
  });

  it('contain settings that differ, and emptied ones as removed', () => {
    const changes = withChange(withChange({}, setting({}), 'http-signature'), setting({ name: 'key-id' }), '');
    assert.deepEqual(toSettings(changes), [{ name: 'auth', value: 'http-signature' }, { name: 'key-id' }]);
    assert.deepEqual(withChange(changes, setting({}), 'jwt'), { 'key-id': '' });
  });

  it('include an entered secret although it is unknown whether it differs', () => {
    assert.deepEqual(withChange({}, setting({ value: null, is_secret: true }), 's'), { auth: 's' });
  });

  it('are found by the path in a failure', () => {
    const sent = [{ name: 'auth' }, { name: 'key-id' }];
    assert.equal(findFaultySetting('settings[1].value', sent), 'key-id');
    assert.equal(findFaultySetting('key-id', sent), 'key-id');
    assert.equal(findFaultySetting(undefined, sent), undefined);
  });
});
