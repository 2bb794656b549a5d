import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { positionAt } from './text-position.ts';

describe('the position of an offset', () => {
  it('is the line, and the column in it, of any text', () => {
    const texts = fc.array(fc.constantFrom('a', '😀', '\n', '\r', '\r\n'), { maxLength: 20 });
    fc.assert(
      fc.property(texts, (parts) => {
        // A CR and an LF side by side are one line end, however they came together.
        const text = parts.join('');
        const lines = text.split(/\r\n?|\n/);
        const { line, column } = positionAt(text, text.length);
        assert.deepEqual([line, column], [lines.length, (lines.at(-1) ?? '').length + 1]);
      }),
    );
  });

  it('of a line end is after the last character of the line', () => {
    assert.deepEqual(positionAt('ab\r\nc', 2), { line: 1, column: 3 });
    assert.deepEqual(positionAt('ab\r\nc', 4), { line: 2, column: 1 });
    assert.deepEqual(positionAt('', 0), { line: 1, column: 1 });
    assert.deepEqual(positionAt('ab\r\nc', 3), { line: 1, column: 4 });
    assert.deepEqual(positionAt('ab\rc', 3), { line: 2, column: 1 });
  });
});
