import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { Failure } from '../kernel/failure.ts';
import { locateInText } from './in-text.ts';
import { substitute } from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';

describe('placeholders in a text of any format', () => {
  it('are found anywhere, keys and comments included', () => {
    const text = `{"${ONE}": [${ONE}]} <!-- ${ONE} --> ${ONE}`;
    assert.equal(substitute(text, withValues(locateInText(text), ['1', '2', '3', '4'])), '{"1": [2]} <!-- 3 --> 4');
  });

  it('are recognized by their raw characters only', () => {
    for (const text of ['{"a":"\\u007b{a:detokenize}}"}', '&#123;{a:detokenize}}', '{\\{a:detokenize}}', '']) {
      assert.deepEqual(locateInText(text), [], text);
    }
    assert.throws(() => locateInText('{"a":"{{a:detokenize\\n}}"}'), Failure);
  });

  it('are replaced with values escaped as in JSON strings, and nothing else changes', () => {
    const values = fc.string({ unit: 'binary' });
    const around = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('{', '('));
    fc.assert(
      fc.property(around, values, around, (before, value, after) => {
        const text = before + ONE + after;
        const expected = before + JSON.stringify(value).slice(1, -1) + after;
        assert.equal(substitute(text, withValues(locateInText(text), [value])), expected);
      }),
    );
  });

  it('are located by line', () => {
    const text = `${ONE}\r\n\n ${ONE}${ONE}\n${ONE}\n`;
    assert.deepEqual(
      locateInText(text).map(({ number, location }) => [number, location()]),
      [
        [1, 'line 1'],
        [2, 'line 3'],
        [3, 'line 3'],
        [4, 'line 4'],
      ],
    );
  });

  it('that are malformed are rejected with number, line and character', () => {
    assert.throws(
      () => locateInText(`${ONE}\n\n{{a:4111111111111111}}`),
      (error) => {
        assert.ok(error instanceof Failure);
        assert.equal(error.code, 'invalid_placeholder');
        const at = 'line 3: placeholder 2: character 5 of the line';
        assert.equal(error.message, `${at}: expected one of detokenize, transaction`);
        return true;
      },
    );
  });
});
