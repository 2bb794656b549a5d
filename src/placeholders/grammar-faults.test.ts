import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findPlaceholders, PlaceholderSyntaxError } from './grammar.ts';

function fault(text: string): PlaceholderSyntaxError {
  try {
    findPlaceholders(text);
  } catch (error) {
    assert.ok(error instanceof PlaceholderSyntaxError, String(error));
    return error;
  }
  return assert.fail(`accepted ${text}`);
}

describe('a grammar error', () => {
  const FILTERS = 'expected one of extract, date, encrypt';
  const ORDER = 'expected each filter once, extract before date before encrypt';
  const WHERE = 'expected one of detokenize, transaction';
  const DATES = 'expected one of MM/YYYY, MM/YY, MM, YYYY/MM, YYYY-MM, YYYY, YY';
  const WHAT = 'expected one of card, expiration, name, token';
  const TOKEN = 'expected a token, as {{ begins a placeholder';

  it('states what was expected at which character', () => {
    const cases: readonly (readonly [text: string, at: number, message: string])[] = [
      ['{{', 2, TOKEN],
      ['{{ ', 3, TOKEN],
      ['{{}}', 2, TOKEN],
      ['{{:detokenize}}', 2, TOKEN],
      ['{{ñ:detokenize}}', 2, TOKEN],
      ['{{"a":{{', 2, TOKEN],
      ['{{a', 3, 'expected :'],
      ['{{a b:detokenize}}', 4, 'expected :'],
      ['{{a_b:detokenize}}', 3, 'expected :'],
      ['{{a}}', 3, 'expected :'],
      ['{{a;detokenize}}', 3, 'expected :'],
      ['{{a:', 4, WHERE],
      ['{{a:}}', 4, WHERE],
      ['{{a: detokenise}}', 5, WHERE],
      ['{{a:Detokenize}}', 4, WHERE],
      ['{{a:DETOKENIZE}}', 4, WHERE],
      ['{{a:transactions}}', 4, WHERE],
      ['{{a::detokenize}}', 4, WHERE],
      ['{{a:detokenize', 14, 'expected | or }}'],
      ['{{a:detokenize}', 14, 'expected | or }}'],
      ['{{a:detokenize} }', 14, 'expected | or }}'],
      ['{{a:detokenize encrypt}}', 15, 'expected | or }}'],
      ['{{a:detokenizeD}}', 14, 'expected | or }}'],
      ['{{a:detokenize:card}}', 14, 'expected | or }}'],
      ['{{a:detokenize|', 15, FILTERS],
      ['{{a:detokenize|}}', 15, FILTERS],
      ['{{a:detokenize||encrypt}}', 15, FILTERS],
      ['{{a:detokenize| upper}}', 16, FILTERS],
      ['{{a:detokenize|Encrypt}}', 15, FILTERS],
      ['{{a:detokenize|encrypt:x}}', 22, 'expected | or }}'],
      ['{{a:detokenize|extract}}', 22, 'expected :'],
      ['{{a:detokenize|extract:}}', 23, WHAT],
      ['{{a:detokenize|extract:Name}}', 23, WHAT],
      ['{{a:detokenize|extract: pan}}', 24, WHAT],
      ['{{a:transaction|extract: pan}}', 25, `${WHAT}, cvv`],
      ['{{a:detokenize|extract: cvv}}', 24, 'cvv is a part of captures only'],
      ['{{a:detokenize|date:MM}}', 15, 'date follows extract:expiration only'],
      ['{{a:detokenize|extract:name|date:MM}}', 28, 'date follows extract:expiration only'],
      ['{{a:detokenize|extract:expiration|date}}', 38, 'expected :'],
      ['{{a:detokenize|extract:expiration|date:}}', 39, DATES],
      ['{{a:detokenize|extract:expiration|date:mm}}', 39, DATES],
      ['{{a:detokenize|extract:expiration|date: YYMM}}', 40, DATES],
      ['{{a:detokenize|extract:expiration|date:YY/MM}}', 39, DATES],
      ['{{a:detokenize|extract:expiration|date:MM-YY}}', 39, DATES],
      ['{{a:detokenize|extract:expiration|date:MM /YY}}', 42, 'expected | or }}'],
      ['{{a:detokenize|extract:expiration|date:MM/}}', 41, 'expected | or }}'],
      ['{{a:detokenize|extract:name|extract:name}}', 28, ORDER],
      ['{{a:detokenize|extract:expiration|date:MM|date:MM}}', 42, ORDER],
      ['{{a:detokenize|extract:expiration|date:MM|extract:expiration}}', 42, ORDER],
      ['{{a:detokenize|encrypt|encrypt}}', 23, ORDER],
      ['{{a:detokenize|encrypt|extract:name}}', 23, ORDER],
      ['{{a:detokenize|extract:expiration|encrypt|date:MM}}', 42, ORDER],
    ];
    for (const [text, at, message] of cases) {
      const found = fault(text);
      assert.deepEqual([found.at, found.message, found.number], [at, message, 1], text);
    }
  });

  it('contains the number of the placeholder and the position in the entire text', () => {
    const { at, number } = fault('x {{a:detokenize}} }} {{b:transaction}} {{c:x}}');
    assert.deepEqual([at, number], [44, 3]);
  });

  it('does not quote the text', () => {
    const card = '4111111111111111';
    for (const text of [`{{${card}`, `{{a:${card}`, `{{a:detokenize|${card}`, `{{a:detokenize|extract:${card}`]) {
      assert.ok(!fault(text).message.includes('4111'), text);
    }
  });

  it('is the only error that a text can cause', () => {
    const pieces = fc.constantFrom(
      ...['{{', '{', '}}', '}', '|', ':', 'a', 'detokenize', 'transaction', 'extract', 'expiration', 'date', 'MM/YY'],
      ...['encrypt', ' ', '\n', '{{a:detokenize', '{{a:detokenize}}'],
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
    );
    let refused = 0;
    let accepted = 0;
    fc.assert(
      fc.property(texts, (text) => {
        try {
          for (const { start, end } of findPlaceholders(text)) {
            assert.ok(text.startsWith('{{', start) && text.endsWith('}}', end), text);
            accepted++;
          }
        } catch (error) {
          assert.ok(error instanceof PlaceholderSyntaxError);
          assert.ok(error.at > 0 && error.at <= text.length);
          refused++;
        }
      }),
      { numRuns: 3000 },
    );
    assert.ok(refused > 100 && accepted > 50, 'the property was not put to the test');
  });

  it('is found in linear time', () => {
    // 2^20 characters each: a quadratic search would run for minutes.
    const size = 2 ** 20;
    assert.equal(fault(`{{${' '.repeat(size)}`).at, size + 2);
    assert.equal(fault(`{{${'a'.repeat(size)}`).at, size + 2);
    assert.equal(fault(`{{a:${'b'.repeat(size)}`).at, 4);
    assert.equal(fault(`{{a:detokenize|extract:expiration|date:${'M'.repeat(size)}`).at, 39);
    assert.equal(fault('{'.repeat(size)).at, 2);
    assert.deepEqual(findPlaceholders('{ '.repeat(size / 2)), []);
    assert.deepEqual(findPlaceholders('}'.repeat(size)), []);
  });
});
