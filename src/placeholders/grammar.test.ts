import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type DateFormat,
  type ExtractPart,
  findPlaceholders,
  type Placeholder,
  PlaceholderSyntaxError,
} from './grammar.ts';

const PARTS: readonly ExtractPart[] = ['card', 'expiration', 'name', 'token', 'cvv'];
const FORMATS: readonly DateFormat[] = ['MM', 'YY', 'YYYY', 'MM/YY', 'MM/YYYY', 'YYYY/MM', 'YYYY-MM'];
const BLANKS = [' ', '\t', '\r', '\n'];

const expected = (token: string, more: Partial<Placeholder> = {}): Placeholder => ({
  token,
  source: 'detokenize',
  part: 'card',
  date: undefined,
  encrypt: false,
  ...more,
});

/** The one placeholder that the whole text is. */
function only(text: string): Placeholder {
  const [found, ...others] = findPlaceholders(text);
  assert.ok(found !== undefined && others.length === 0, text);
  assert.deepEqual([found.start, found.end], [0, text.length], text);
  return found.placeholder;
}

function fault(text: string): PlaceholderSyntaxError {
  try {
    findPlaceholders(text);
  } catch (error) {
    assert.ok(error instanceof PlaceholderSyntaxError, String(error));
    return error;
  }
  return assert.fail(`accepted ${text}`);
}

/** Every word and sign of it, in order. */
function symbolsOf({ token, source, part, date, encrypt }: Placeholder, names: boolean): string[] {
  return [
    ...['{{', token, ':', source],
    ...(names || part !== 'card' ? ['|', 'extract', ':', part] : []),
    ...(date === undefined ? [] : ['|', 'date', ':', date]),
    ...(encrypt ? ['|', 'encrypt'] : []),
    '}}',
  ];
}

const tokens = fc.stringMatching(/^[A-Za-z0-9-]{1,40}$/);
const placeholders: fc.Arbitrary<Placeholder> = fc
  .record({
    token: tokens,
    source: fc.constantFrom('detokenize' as const, 'transaction' as const),
    part: fc.constantFrom(...PARTS),
    date: fc.option(fc.constantFrom(...FORMATS), { nil: undefined }),
    encrypt: fc.boolean(),
  })
  .map(({ source, part, date, ...rest }) => ({
    ...rest,
    part,
    source: part === 'cvv' ? 'transaction' : source,
    date: part === 'expiration' ? date : undefined,
  }));

describe('a placeholder', () => {
  it('refers to a token, and without a filter to the card number', () => {
    assert.deepEqual(only('{{ 411111ABCd-1111 : detokenize }}'), expected('411111ABCd-1111'));
    assert.deepEqual(only('{{a:transaction}}'), expected('a', { source: 'transaction' }));
  });

  it('selects each part; the security code for captures only', () => {
    for (const part of PARTS) {
      assert.deepEqual(only(`{{a:transaction|extract:${part}}}`), expected('a', { source: 'transaction', part }));
      if (part !== 'cvv') assert.deepEqual(only(`{{a:detokenize|extract:${part}}}`), expected('a', { part }));
    }
  });

  it('has each date format for an expiry', () => {
    for (const date of FORMATS) {
      assert.deepEqual(
        only(`{{a:detokenize|extract:expiration|date:${date}}}`),
        expected('a', { part: 'expiration', date }),
      );
    }
    assert.deepEqual(only('{{a:detokenize|extract:expiration}}'), expected('a', { part: 'expiration' }));
  });

  it('may end with the filter encrypt', () => {
    assert.deepEqual(only('{{a:detokenize|encrypt}}'), expected('a', { encrypt: true }));
    assert.deepEqual(only('{{a:detokenize|extract:name|encrypt}}'), expected('a', { part: 'name', encrypt: true }));
    assert.deepEqual(
      only('{{a:detokenize|extract:expiration|date:YY|encrypt}}'),
      expected('a', { part: 'expiration', date: 'YY', encrypt: true }),
    );
  });

  it('allows each kind of blank around each word and symbol', () => {
    const placeholder = expected('a1', { source: 'transaction', part: 'expiration', date: 'MM/YYYY', encrypt: true });
    const symbols = symbolsOf(placeholder, true);
    for (const blank of BLANKS) {
      for (let at = 1; at < symbols.length; at++) {
        const text = symbols.slice(0, at).join('') + blank + symbols.slice(at).join('');
        assert.deepEqual(only(text), placeholder, JSON.stringify(text));
      }
    }
  });

  it('allows no other blanks', () => {
    for (const blank of ['\u00a0', '\v', '\f', '\u2003', '\ufeff', '\u0085']) {
      assert.equal(fault(`{{${blank}a:detokenize}}`).at, 2);
      assert.equal(fault(`{{a:detokenize${blank}}}`).at, 14);
    }
  });

  it('is parsed to what it was built from, with any blanks', () => {
    const blanks = fc.array(fc.stringMatching(/^[ \t\r\n]{0,3}$/), { minLength: 17, maxLength: 17 });
    fc.assert(
      fc.property(placeholders, fc.boolean(), blanks, (placeholder, names, gaps) => {
        const symbols = symbolsOf(placeholder, names);
        const text = symbols.map((symbol, index) => (index === 0 ? symbol : (gaps[index] ?? '') + symbol)).join('');
        assert.deepEqual(only(text), placeholder);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the placeholders of a text', () => {
  it('are located in order', () => {
    const texts = fc.stringMatching(/^[a-z}|: 😀"\\]{0,8}$/u);
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, placeholders), { maxLength: 6 }), texts, (pieces, end) => {
        let text = '';
        const offsets = pieces.map(([before, placeholder]) => {
          const start = text.length + before.length;
          text += before + symbolsOf(placeholder, false).join('');
          return { placeholder, start, end: text.length };
        });
        assert.deepEqual(findPlaceholders(text + end), offsets);
      }),
    );
  });

  it('may be adjacent', () => {
    const found = findPlaceholders('{{a:detokenize}}{{b:detokenize}}');
    assert.deepEqual(
      found.map(({ start, end }) => [start, end]),
      [
        [0, 16],
        [16, 32],
      ],
    );
  });

  it('are absent where no two braces open', () => {
    for (const text of ['', '{', '}}', '}}}}', '{ {', '{a:detokenize}', 'a}}b', '{}{}', '{\u200b{']) {
      assert.deepEqual(findPlaceholders(text), [], text);
    }
  });

  it('may be next to a single brace, but not after three opening ones', () => {
    assert.deepEqual(
      findPlaceholders('{ {{a:detokenize}}}').map(({ start, end }) => [start, end]),
      [[2, 18]],
    );
    const { at, number } = fault('{{{a:detokenize}}}');
    assert.deepEqual([at, number], [2, 1]);
  });

  it('are limited in number', () => {
    const one = '{{a:detokenize}}';
    assert.equal(findPlaceholders(one.repeat(3), 3).length, 3);
    for (const rest of ['', '{{', 'x']) {
      assert.throws(
        () => findPlaceholders(one.repeat(4) + rest, 3),
        (error) => error instanceof PlaceholderSyntaxError && error.at === 48 && error.number === 4,
      );
    }
  });
});
