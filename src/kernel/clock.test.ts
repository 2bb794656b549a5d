import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY, formatIso8601, HOUR, MINUTE, parseIso8601 } from './clock.ts';

const NOON = Date.UTC(2027, 0, 31, 12);

describe('a time that a user enters', () => {
  it('is parsed with its time zone', () => {
    assert.equal(parseIso8601('2027-01-31T12:00:00Z'), NOON);
    assert.equal(parseIso8601('2027-01-31T12:00:00.25Z'), NOON + 250);
    assert.equal(parseIso8601('2027-01-31T12:01Z'), NOON + MINUTE);
    assert.equal(parseIso8601('2027-01-31T14:00:00+02:00'), NOON);
    assert.equal(parseIso8601('2027-01-31T06:30:00-05:30'), NOON);
    assert.equal(parseIso8601(formatIso8601(NOON)), NOON);
  });

  it('is the start of that day in UTC when it is a date', () => {
    assert.equal(parseIso8601('2027-01-31'), NOON - 12 * HOUR);
    assert.equal(parseIso8601('2028-02-29'), Date.UTC(2028, 1, 28) + DAY);
  });

  for (const text of [
    '',
    'now',
    '1800000000000',
    '31.01.2027',
    '2027-1-31',
    '2027-01-31T12:00:00',
    '2027-01-31 12:00:00Z',
    '2027-01-31T12Z',
    '2027-01-31T25:00:00Z',
    '2027-13-01',
    '2027-02-29',
    '2027-02-29T12:00:00Z',
    '2027-04-31T12:00:00+02:00',
    '2027-00-00',
    ' 2027-01-31',
    '2027-01-31\n',
    '+002027-01-31T12:00:00Z',
  ]) {
    it(`is not ${JSON.stringify(text)}`, () => assert.equal(parseIso8601(text), undefined));
  }
});
