import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { Failure } from '../kernel/failure.ts';
import { escapeForJson, locateInJson } from './in-json.ts';
import { substitute } from './located-placeholder.ts';

const ONE = '{{a:detokenize}}';
const NONE: ReadonlySet<string> = new Set();

const replaced = (text: string, ...values: readonly string[]): string =>
  substitute(text, withValues(locateInJson(text, NONE), values));

function failure(text: string, known: ReadonlySet<string> = NONE): Failure {
  try {
    locateInJson(text, known);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  return assert.fail(`accepted ${text}`);
}

/** JSON as it is written, with the strings in which placeholders stand as lists of texts and placeholders. */
type Written = null | boolean | { number: string } | { text: readonly string[] } | Written[] | { members: Member[] };
type Member = readonly [key: string, value: Written];

/** Odd positions of a text are placeholders. */
const isPlaceholder = (index: number): boolean => index % 2 === 1;

const free = fc.string({ unit: 'binary', maxLength: 6 }).map((text) => text.replaceAll('{', '['));
const texts = fc
  .array(free, { minLength: 1, maxLength: 4 })
  .map((parts) => parts.flatMap((part, index) => (index === 0 ? [part] : [ONE, part])));
const numbers = fc.constantFrom('0', '-0', '0.00', '1e2', '1E+02', '-12.50', '9007199254740993', '1e400');
const keys = fc.oneof(free, fc.constantFrom(ONE, '{{', '__proto__', 'a'));

const { document } = fc.letrec<{ document: Written }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    texts.map((text) => ({ text })),
    fc.constantFrom(null, true, false),
    numbers.map((number) => ({ number })),
    fc.array(tie('document'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(keys, tie('document')), { maxLength: 4, selector: ([key]) => key })
      .map((members) => ({ members: members as Member[] })),
  ),
}));

/** Spellings of JSON: one choice after the other from a list that begins again when it ends. */
class Spelling {
  readonly #choices: readonly number[];
  #at = 0;
  constructor(choices: readonly number[]) {
    this.#choices = choices;
  }

  #choose(count: number): number {
    return (this.#choices[this.#at++ % this.#choices.length] ?? 0) % count;
  }

  blanks(): string {
    return ['', '', ' ', '\n', '\t\r\n'][this.#choose(5)] ?? '';
  }

  /** Without quotes: each code unit bare, short or as `\u`, upper or lower case. */
  string(text: string): string {
    return text.replace(/[\s\S]/g, (unit) => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
      const short = unit === '/' ? '\\/' : JSON.stringify(unit).slice(1, -1);
      const bare = short.length === 1 || short === '\\/' ? unit : short;
      return [bare, bare, bare, short, `\\u${hex}`, `\\u${hex.toUpperCase()}`][this.#choose(6)] ?? '';
    });
  }

  value(value: Written, textOf: (parts: readonly string[]) => string): string {
    const b = (): string => this.blanks();
    const nested = (each: Written): string => b() + this.value(each, textOf) + b();
    if (value === null || typeof value === 'boolean') return String(value);
    if (Array.isArray(value)) return `[${value.length === 0 ? b() : value.map(nested).join(',')}]`;
    if ('number' in value) return value.number;
    if ('text' in value) return `"${textOf(value.text)}"`;
    const members = value.members.map(([key, each]) => `${b()}"${this.string(key)}"${b()}:${nested(each)}`);
    return `{${members.length === 0 ? b() : members.join(',')}}`;
  }
}

describe('placeholders in JSON', () => {
  it('are replaced in any document, and every other byte is unchanged', () => {
    let marked = 0;
    const choices = fc.array(fc.nat(59), { minLength: 1, maxLength: 40 });
    const values = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(document, choices, values, (written, spelled, inserted) => {
        const used: string[] = [];
        const write = (put: (spelledPart: string, index: number) => string): string => {
          const spelling = new Spelling(spelled);
          return spelling.value(written, (parts) =>
            parts.map((part, index) => put(spelling.string(part), index)).join(''),
          );
        };
        const text = write((part) => part);
        const expected = write((part, index) => {
          if (!isPlaceholder(index)) return part;
          const value = inserted[used.length % inserted.length] ?? '';
          used.push(value);
          return JSON.stringify(value).slice(1, -1);
        });
        const result = replaced(text, ...used);
        assert.equal(result, expected);
        assert.doesNotThrow(() => JSON.parse(result));
        marked += used.length;
      }),
      { numRuns: 500 },
    );
    assert.ok(marked > 250, 'the property was not put to the test');
  });

  it('are replaced so that the document parses to the same structure with the values', () => {
    const values = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
        free,
        values,
        free,
        (other, before, value, after) => {
          fc.pre(!JSON.stringify(other).includes('{{'));
          const text = JSON.stringify({ other, list: [before + ONE + after, 1.5] }, null, 1);
          const native = JSON.parse(JSON.stringify(other));
          assert.deepEqual(JSON.parse(replaced(text, value)), { other: native, list: [before + value + after, 1.5] });
        },
      ),
    );
  });

  it('are ignored in keys', () => {
    const text = `{"${ONE}":{"{{":1,"\\u007b{b:x":"${ONE}"}}`;
    assert.equal(replaced(text, '4'), `{"${ONE}":{"{{":1,"\\u007b{b:x":"4"}}`);
  });

  it('do not change numbers', () => {
    const text = `{"a":0.00,"b":1e2,"c":-0,"d":"${ONE}","e":12345678901234567890}`;
    assert.equal(replaced(text, '1'), '{"a":0.00,"b":1e2,"c":-0,"d":"1","e":12345678901234567890}');
  });

  it('may contain escapes', () => {
    const escaped = ONE.replace(/./g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const written of [
      escaped,
      '\\u007b{a:detokenize}}',
      '{\\u007Ba:detokenize}\\u007d',
      '{{\\ta\\n:\\u0064etokenize\\r}}',
    ]) {
      assert.equal(
        replaced(`["\\ud83d\\ude00😀\\u0022${written}\\\\/\\/"]`, '1"'),
        '["\\ud83d\\ude00😀\\u00221\\"\\\\/\\/"]',
      );
    }
    const date = '{{a:detokenize|extract:expiration|date:MM\\/YY}}';
    assert.equal(replaced(`"${date}"`, '01/29'), '"01/29"');
  });

  it('may be adjacent to lone surrogates', () => {
    assert.equal(replaced(`"\\ud83d${ONE}\\ude00"`, 'x'), '"\\ud83dx\\ude00"');
    assert.equal(replaced(`"\ud83d\\ude00${ONE}"`, '\ud800'), '"\ud83d\\ude00\\ud800"');
  });

  it('may be the entire document, or absent', () => {
    assert.equal(replaced(` "${ONE}" `, 'x'), ' "x" ');
    assert.deepEqual(locateInJson('{"a":[1,"}}","{","\\u007b \\u007b",null]}', NONE), []);
  });

  it('are numbered in the order of the document', () => {
    const text = `{"b":"${ONE}${ONE}","a":["${ONE}"]}`;
    assert.deepEqual(
      locateInJson(text, new Set(['a', 'b'])).map(({ number, location }) => [number, location()]),
      [
        [1, '/b'],
        [2, '/b'],
        [3, '/a/0'],
      ],
    );
  });
});

describe('the location of a placeholder', () => {
  it('contains the line and the column of the payload', () => {
    const [, mark] = locateInJson(`{"a": "${ONE}",\r\n "b": "\\n ${ONE}"}`, NONE);
    assert.deepEqual(mark?.position(), { line: 2, column: 11 });
  });

  const locationIn = (text: string, ...known: readonly string[]): string | undefined =>
    locateInJson(text, new Set(known))[0]?.location();

  it('contains a JSON pointer with known keys and a star for each other key, and the character', () => {
    const text = `{"cardData":{"4111111111111111":[0,{"pan":"${ONE}"}]}}`;
    const at = text.indexOf(`"${ONE}"`) + 1;
    assert.equal(locationIn(text, 'cardData', 'pan'), `/cardData/*/1/pan (character ${at} of the body)`);
    assert.equal(locationIn(text), `/*/*/1/* (character ${at} of the body)`);
    assert.equal(locationIn(text, 'cardData', 'pan', '4111111111111111'), '/cardData/4111111111111111/1/pan');
    assert.equal(locationIn(`[[],["",["${ONE}"]]]`), '/1/1/0');
  });

  it('in the outermost string is the root', () => {
    assert.equal(locationIn(`"${ONE}"`), '/');
  });

  it('treats digits as an index in arrays only', () => {
    assert.equal(locationIn(`{"0":["${ONE}"]}`), '/*/0 (character 7 of the body)');
    assert.equal(locationIn(`{"0":["${ONE}"]}`, '0'), '/0/0');
  });
});

describe('rejections', () => {
  it('of malformed placeholders, by number, pointer and character', () => {
    const { code, field, message } = failure(`{"a":"${ONE}","b":{"c":["\\u0020{{4111111111111111"]}}`, new Set(['b']));
    assert.equal(code, 'invalid_placeholder');
    const location = '/b/*/0 (character 35 of the body)';
    assert.equal(field, location);
    assert.equal(message, `${location}: placeholder 2: character 20 of the value: expected :`);
  });

  it('of a `{{` that starts no placeholder, also when it is escaped', () => {
    for (const text of ['"{{"', '["\\u007b\\u007b"]', '{"a":"x {{ y"}', '"{{{a:detokenize}}}"']) {
      assert.equal(failure(text).code, 'invalid_placeholder', text);
    }
  });

  it('of JSON that is malformed, has duplicate keys or is nested too deep', () => {
    for (const text of ['{{', ONE, `{"a":"${ONE}"`, `{"a":"${ONE}","a":1}`, `["${ONE}"] x`, `["${ONE}\\q"]`]) {
      assert.equal(failure(text).code, 'malformed_json', text);
    }
    assert.equal(failure(`${'['.repeat(33)}"${ONE}"${']'.repeat(33)}`).code, 'malformed_json');
  });

  it('do not occur for a text without two braces, plain or escaped, which is not parsed as JSON', () => {
    for (const text of ['', '{', '{"a":', '{"a":1,"a":2}', '{ {', '\\u007b \\u007b']) {
      assert.deepEqual(locateInJson(text, NONE), [], text);
    }
    for (const braces of ['{{', '\\u007b{', '{\\u007B', '\\u007b\\u007B']) {
      assert.equal(replaced(`"${braces}a:detokenize}}"`, 'x'), '"x"');
    }
  });
});

describe('escapeForJson', () => {
  it('escapes any value so that it parses as itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        assert.equal(JSON.parse(`"${escapeForJson(value)}"`), value);
      }),
    );
    assert.equal(escapeForJson('a"\\/\n\ud800é😀'), 'a\\"\\\\/\\n\\ud800é😀');
  });
});
