import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { Failure } from '../kernel/failure.ts';
import {
  createLineCounter,
  type DecodedSpan,
  type LocatedPlaceholder,
  locateIn,
  placeholderFailure,
  substitute,
} from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';

/** A stretch that stands at this offset of a payload. */
const stretch = (text: string, offset = 0): DecodedSpan => ({
  text,
  offsetOf: (index) => offset + index,
  locationOf: (index) => `place ${offset + index}`,
  positionOf: (index) => `sign ${index}`,
  encode: (value) => (value === 'impossible' ? undefined : `<${value}>`),
});

function marksOf(...stretches: readonly DecodedSpan[]): LocatedPlaceholder[] {
  const marks: LocatedPlaceholder[] = [];
  for (const each of stretches) locateIn(each, marks);
  return marks;
}

function failure(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  return assert.fail('nothing was thrown');
}

describe('marks', () => {
  it('are numbered through all stretches of a payload', () => {
    const marks = marksOf(stretch(`x${ONE}${ONE}`), stretch('none'), stretch(ONE, 100));
    assert.deepEqual(
      marks.map(({ number, start, end, location: place }) => [number, start, end, place]),
      [
        [1, 1, 17, 'place 1'],
        [2, 17, 33, 'place 17'],
        [3, 100, 116, 'place 100'],
      ],
    );
  });

  it('are 100 at most over all stretches', () => {
    assert.equal(marksOf(stretch(ONE.repeat(100))).length, 100);
    const alone = failure(() => marksOf(stretch(ONE.repeat(101))));
    assert.equal(alone.message, 'place 1600: placeholder 101: sign 1600: expected at most 100 placeholders');
    const [most, last] = [stretch(ONE.repeat(99)), stretch(ONE, 5000)];
    assert.equal(marksOf(most, last).length, 100);
    const { code, field, message } = failure(() => marksOf(most, last, stretch(`xx${ONE}`, 6000)));
    assert.equal(code, 'invalid_placeholder');
    assert.equal(field, 'place 6002');
    assert.equal(message, 'place 6002: placeholder 101: sign 2: expected at most 100 placeholders');
  });

  it('of a malformed text are none: the failure has number, place and character', () => {
    const { code, field, message } = failure(() => marksOf(stretch(ONE), stretch(`..${ONE} {{b:x}}`, 50)));
    assert.equal(code, 'invalid_placeholder');
    assert.equal(field, 'place 73');
    assert.equal(message, 'place 73: placeholder 3: sign 23: expected one of detokenize, transaction');
  });

  it('let other errors pass', () => {
    const broken = { ...stretch(ONE), offsetOf: () => assert.fail('broken') };
    assert.throws(() => marksOf(broken), /broken/);
  });
});

describe('replacing', () => {
  it('puts in what each stretch writes, and leaves everything else', () => {
    const payload = `a${ONE}b${ONE}`;
    assert.equal(substitute(payload, withValues(marksOf(stretch(payload)), ['1', '22'])), 'a<1>b<22>');
    assert.equal(substitute(payload, []), payload);
  });

  it('does not look at what it put in', () => {
    const payload = `${ONE}${ONE}`;
    assert.equal(substitute(payload, withValues(marksOf(stretch(payload)), [ONE, '$&'])), `<${ONE}><$&>`);
  });

  it('fails for a value that cannot stand there, and tells nothing of it', () => {
    const payload = `${ONE}${ONE}`;
    const { code, message } = failure(() =>
      substitute(payload, withValues(marksOf(stretch(payload)), ['x', 'impossible'])),
    );
    assert.equal(code, 'invalid_placeholder');
    assert.equal(message, 'place 16: placeholder 2: the value cannot be written in this place');
  });
});

describe('faultAt', () => {
  it('is of the kind that is asked for', () => {
    const { code, field, message } = placeholderFailure(
      { location: '/a', number: 7 },
      'no such token',
      'unknown_token',
    );
    assert.deepEqual([code, field, message], ['unknown_token', '/a', '/a: placeholder 7: no such token']);
  });
});

describe('lineCounter', () => {
  it('counts line ends before an offset, for any ascending offsets', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a\n]{0,30}$/), fc.array(fc.nat(30)), fc.nat(9), (text, offsets, first) => {
        const lineOf = createLineCounter(text, first);
        for (const offset of offsets.sort((one, other) => one - other)) {
          assert.equal(lineOf(offset), `line ${first + text.slice(0, offset).split('\n').length - 1}`);
        }
      }),
    );
  });
});
