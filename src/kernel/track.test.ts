import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseTrack2 } from './track.ts';

const DATA = '4111111111111111=29122011234567890';
const read = { data: DATA, pan: '4111111111111111', expiry: { month: '12', year: '29' } };

describe('parseTrack2', () => {
  it('accepts the data with and without sentinels and check character, and returns it without', () => {
    for (const text of [
      DATA,
      `;${DATA}?`,
      `;${DATA}?5`,
      `;${DATA}?;`,
      `;${DATA}??`,
      `;${DATA}`,
      `${DATA}?`,
      `${DATA}?:`,
    ]) {
      assert.deepEqual(parseTrack2(text), read, text);
    }
  });

  it('accepts D as the separator', () => {
    const data = '4111111111111111D2912201';
    assert.deepEqual(parseTrack2(data), { ...read, data });
    assert.deepEqual(parseTrack2(`;${data}?`), { ...read, data });
  });

  it('accepts a separator in place of expiry or service code', () => {
    const pan = '4111111111111111';
    assert.deepEqual(parseTrack2(`${pan}==201123`), { data: `${pan}==201123`, pan, expiry: undefined });
    assert.deepEqual(parseTrack2(`${pan}===123`), { data: `${pan}===123`, pan, expiry: undefined });
    assert.deepEqual(parseTrack2(`${pan}DDD`), { data: `${pan}DDD`, pan, expiry: undefined });
    assert.deepEqual(parseTrack2(`${pan}=2912=99`)?.expiry, { month: '12', year: '29' });
  });

  it('accepts card numbers of 12 to 19 digits and 37 characters in total', () => {
    for (let length = 10; length <= 21; length++) {
      const pan = '5'.repeat(length);
      assert.equal(parseTrack2(`${pan}=2912201`)?.pan, length >= 12 && length <= 19 ? pan : undefined);
    }
    const longest = `4111111111111111=2912201${'0'.repeat(13)}`;
    assert.equal(longest.length, 37);
    assert.equal(parseTrack2(longest)?.data, longest);
    assert.equal(parseTrack2(`;${longest}?0`)?.data, longest);
    assert.equal(parseTrack2(`${longest}0`), undefined);
  });

  it('accepts nothing else', () => {
    for (const text of [
      '',
      ';?',
      '4111111111111111',
      '4111111111111111=',
      '4111111111111111=29',
      '4111111111111111=2912',
      '4111111111111111=29122',
      '4111111111111111=2913201',
      '4111111111111111=2900201',
      '4111111111111111^2912201',
      '4111111111111111d2912201',
      '4111 1111 1111 1111=2912201',
      '411111111111111x=2912201',
      '4111111111111111=2912201x',
      `;;${DATA}?`,
      `;${DATA}?12`,
      ` ${DATA}`,
      `${DATA}\n`,
      `%B4111111111111111^LOPEZ/ANA^29122011234567890?`,
    ]) {
      assert.equal(parseTrack2(text), undefined, JSON.stringify(text));
    }
  });

  it('parses what is composed of valid parts, and returns it unchanged', () => {
    const digits = (min: number, max: number): fc.Arbitrary<string> =>
      fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`));
    const expiry = fc.tuple(digits(2, 2), fc.constantFrom('01', '06', '12'));
    fc.assert(
      fc.property(
        digits(12, 19),
        fc.constantFrom('=', 'D'),
        fc.option(expiry, { nil: undefined }),
        fc.option(digits(3, 3), { nil: undefined }),
        digits(0, 10),
        (pan, separator, date, service, rest) => {
          const data = `${pan}${separator}${date?.join('') ?? separator}${service ?? separator}${rest}`;
          const expected = date === undefined ? undefined : { year: date[0], month: date[1] };
          assert.deepEqual(parseTrack2(`;${data}?`), { data, pan, expiry: expected });
        },
      ),
    );
  });
});
