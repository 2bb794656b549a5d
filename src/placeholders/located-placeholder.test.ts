import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { Failure } from '../kernel/failure.ts';
import { explain } from '../kernel/reasons.ts';
import {
  characterOfValue,
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
  positionOf: (index) => ({ line: 7, column: offset + index + 1 }),
  characterOf: characterOfValue,
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

describe('located placeholders', () => {
  it('are numbered over all spans of a payload', () => {
    const marks = marksOf(stretch(`x${ONE}${ONE}`), stretch('none'), stretch(ONE, 100));
    assert.deepEqual(
      marks.map(({ number, start, end, location }) => [number, start, end, location()]),
      [
        [1, 1, 17, 'place 1'],
        [2, 17, 33, 'place 17'],
        [3, 100, 116, 'place 100'],
      ],
    );
  });

  it('are at most 100 over all spans', () => {
    assert.equal(marksOf(stretch(ONE.repeat(100))).length, 100);
    const alone = failure(() => marksOf(stretch(ONE.repeat(101))));
    assert.equal(
      alone.message,
      'place 1600: placeholder 101: character 1601 of the value: expected at most 100 placeholders',
    );
    const [most, last] = [stretch(ONE.repeat(99)), stretch(ONE, 5000)];
    assert.equal(marksOf(most, last).length, 100);
    const { code, field, message } = failure(() => marksOf(most, last, stretch(`xx${ONE}`, 6000)));
    assert.equal(code, 'invalid_placeholder');
    assert.equal(field, 'place 6002');
    assert.equal(message, 'place 6002: placeholder 101: character 3 of the value: expected at most 100 placeholders');
  });

  it('do not exist in a malformed text: the error has number, location and character', () => {
    const { code, field, message, values } = failure(() => marksOf(stretch(ONE), stretch(`..${ONE} {{b:x}}`, 50)));
    assert.deepEqual([values['placeholder'], values['line'], values['column']], [3, 7, 74]);
    assert.equal(code, 'invalid_placeholder');
    assert.equal(field, 'place 73');
    assert.equal(
      message,
      'place 73: placeholder 3: character 24 of the value: expected one of detokenize, transaction',
    );
  });

  it('do not hide other errors', () => {
    const broken = { ...stretch(ONE), offsetOf: () => assert.fail('broken') };
    assert.throws(() => marksOf(broken), /broken/);
  });
});

describe('substitution', () => {
  it('inserts what each span encodes, and changes nothing else', () => {
    const payload = `a${ONE}b${ONE}`;
    assert.equal(substitute(payload, withValues(marksOf(stretch(payload)), ['1', '22'])), 'a<1>b<22>');
    assert.equal(substitute(payload, []), payload);
  });

  it('does not search the inserted values', () => {
    const payload = `${ONE}${ONE}`;
    assert.equal(substitute(payload, withValues(marksOf(stretch(payload)), [ONE, '$&'])), `<${ONE}><$&>`);
  });

  it('fails for a value that cannot be encoded there, without reporting it', () => {
    const payload = `${ONE}${ONE}`;
    const { code, message } = failure(() =>
      substitute(payload, withValues(marksOf(stretch(payload)), ['x', 'impossible'])),
    );
    assert.equal(code, 'invalid_placeholder');
    assert.equal(message, 'place 16: placeholder 2: the value cannot be written in this place');
  });
});

describe('placeholderFailure', () => {
  it('is an error of the requested kind', () => {
    const { code, field, message, values } = placeholderFailure(
      { number: 7, location: () => '/a', position: () => ({ line: 2, column: 5 }) },
      explain('tokenUnknown'),
      'unknown_token',
    );
    assert.deepEqual([code, field, message], ['unknown_token', '/a', '/a: placeholder 7: no such token']);
    assert.deepEqual(values, { placeholder: 7, problem: explain('tokenUnknown'), line: 2, column: 5 });
  });
});
