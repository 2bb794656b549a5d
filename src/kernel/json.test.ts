import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Failure } from './failure.ts';
import { isExactNumber, isJsonObject, type Json, locateMembers, parseJson } from './json.ts';
import { LIMITS } from './limits.ts';

const read = (text: string): Json => parseJson(text);

/** Returns the message of the rejection. */
function refusal(text: string): string {
  try {
    parseJson(text);
  } catch (error) {
    assert.ok(error instanceof Failure, `threw ${String(error)}`);
    assert.equal(error.code, 'malformed_json');
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(text)}`);
}

/** Returns what `JSON.parse` would have made of the value. */
function asNative(value: Json): unknown {
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(asNative);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asNative(member)]));
}

type Cases = Readonly<Record<string, string>>;
const vectors = JSON.parse(readFileSync(new URL('../../test/vectors/json.json', import.meta.url), 'utf8')) as Readonly<
  Record<'accepted' | 'refused' | 'refused here on purpose', Cases>
>;

describe('JSON Parsing Test Suite', () => {
  it('parses every case to accept, as JSON.parse does', () => {
    assert.ok(Object.keys(vectors.accepted).length > 60);
    for (const [name, text] of Object.entries(vectors.accepted)) {
      assert.deepEqual(asNative(read(text)), JSON.parse(text), name);
    }
  });

  it('rejects every case to reject', () => {
    assert.ok(Object.keys(vectors.refused).length > 150);
    for (const text of Object.values(vectors.refused)) {
      assert.throws(() => JSON.parse(text), SyntaxError);
      refusal(text);
    }
  });

  it('rejects duplicate keys and deep nesting, which the suite accepts', () => {
    for (const text of Object.values(vectors['refused here on purpose'])) {
      assert.doesNotThrow(() => JSON.parse(text));
      refusal(text);
    }
  });
});

describe('against JSON.parse', () => {
  // V8 13.6 itself parses the key "x\n" as "x\\" after it parsed an object with that key in the same position.
  const isJudged = (value: unknown): boolean => !JSON.stringify(value).includes('\\\\');
  const documents = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }).filter(isJudged);
  const small = fc.jsonValue({ maxDepth: 2 }).filter(isJudged);

  it('parses what JSON.stringify writes', () => {
    fc.assert(
      fc.property(documents, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        assert.deepEqual(asNative(read(text)), JSON.parse(text));
      }),
    );
  });

  it('serializes what it parsed: numbers, strings and keys are unchanged', () => {
    fc.assert(
      fc.property(documents, (value) => {
        const text = JSON.stringify(value);
        // JavaScript engines put keys that look like indexes first, when they parse as when they write.
        assert.equal(JSON.stringify(read(text)), JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('accepts and rejects the same texts when one character is changed', () => {
    const characters = fc.constantFrom(...'{}[]",:0123456789.eE+-\\u tfn\t\n\u0000\u00a0'.split(''), '');
    let refused = 0;
    fc.assert(
      fc.property(small, fc.nat(), characters, (value, position, character) => {
        const text = JSON.stringify(value);
        const at = position % text.length;
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        let native: unknown;
        try {
          native = JSON.parse(changed);
        } catch {
          refused++;
          refusal(changed);
          return;
        }
        try {
          assert.deepEqual(asNative(read(changed)), native);
        } catch (error) {
          // The one difference: the change made two keys equal.
          if (!(error instanceof Failure && error.message.endsWith('duplicate key'))) throw error;
        }
      }),
      { numRuns: 1000 },
    );
    assert.ok(refused > 100, 'the property was not put to the test');
  });
});

describe('numbers', () => {
  const digits = fc.stringMatching(/^[0-9]{1,30}$/);
  const literals = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,30}$/)),
      fc.option(digits, { nil: undefined }),
      fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits), { nil: undefined }),
    )
    .map(
      ([sign, integer, fraction, exponent]) =>
        `${sign}${integer}${fraction === undefined ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`,
    );

  it('are preserved as they were written', () => {
    fc.assert(fc.property(literals, (literal) => assert.equal(JSON.stringify(read(literal)), literal)));
    fc.assert(
      fc.property(fc.array(literals), (list) => {
        const text = `{"amounts":[${list.join(',')}]}`;
        assert.equal(JSON.stringify(read(text)), text);
      }),
    );
  });

  it('are JavaScript numbers exactly when nothing is lost', () => {
    for (const literal of ['0', '1', '-1', '9007199254740991', '-9007199254740991']) {
      assert.equal(read(literal), Number(literal));
    }
    for (const literal of [
      '-0',
      '1.0',
      '0.1',
      '1e3',
      '9007199254740992',
      '9007199254740993',
      '4111111111111111110',
      '1e400',
    ]) {
      const value = read(literal);
      assert.ok(isExactNumber(value), literal);
      assert.equal(value.rawJSON, literal);
    }
  });

  it('preserved as written are not objects', () => {
    assert.equal(isJsonObject(read('1.5')), false);
    assert.equal(isJsonObject(read('{"rawJSON":"1.5"}')), true);
    assert.equal(isExactNumber(read('{"rawJSON":"1.5"}')), false);
  });
});

describe('objects', () => {
  it('reject a key that they already have, however it is spelled', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":{"a":1,"b":2,"a":3}}', '[{"":1,"":2}]']) {
      assert.match(refusal(text), /duplicate key$/);
    }
    assert.match(refusal('{"__proto__":1,"__proto__":2}'), /duplicate key$/);
    assert.deepEqual(read('{"a":{"a":1},"A":2}'), { a: { a: 1 }, A: 2 });
  });

  it('reject one spelling of a key beside another, for any key', () => {
    const escaped = (text: string): string =>
      text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (key, swapped) => {
        const spellings = [JSON.stringify(key), `"${escaped(key)}"`];
        const [first, second] = swapped ? spellings.reverse() : spellings;
        assert.match(refusal(`{${first}:1,"${escaped(key)}x":2,${second}:3}`), /duplicate key$/);
      }),
    );
  });

  it('accept the names of inherited members as plain keys', () => {
    const value = read('{"__proto__":{"admin":true},"constructor":1,"toString":2,"hasOwnProperty":3}');
    assert.ok(isJsonObject(value));
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor', 'toString', 'hasOwnProperty']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(value['admin'], undefined);
    assert.equal(({} as Record<string, unknown>)['admin'], undefined);
    assert.deepEqual(Object.getOwnPropertyDescriptor(value, '__proto__')?.value, { admin: true });
    assert.equal(JSON.stringify(value), '{"__proto__":{"admin":true},"constructor":1,"toString":2,"hasOwnProperty":3}');
  });
});

describe('nesting', () => {
  it(`goes to ${LIMITS.jsonDepth} levels`, () => {
    const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    assert.equal(LIMITS.jsonDepth, 32);
    for (const nested of [arrays, objects]) {
      assert.equal(JSON.stringify(read(nested(32))), nested(32));
      assert.match(refusal(nested(33)), /nested deeper than 32 levels$/);
    }
  });

  it('is counted in depth, not in total', () => {
    const wide = `[${Array.from({ length: 100 }, () => '[{}]').join(',')}]`;
    assert.equal(JSON.stringify(read(wide)), wide);
  });

  it('of a hostile document does not exhaust the stack', () => {
    assert.match(refusal('['.repeat(500_000)), /nested deeper/);
    assert.match(refusal('{"a":'.repeat(200_000)), /nested deeper/);
  });
});

describe('strings', () => {
  it('preserve lone surrogates', () => {
    assert.equal(read('"\\ud800"'), '\ud800');
    assert.equal(read('"\\udc00\\ud800"'), '\udc00\ud800');
    assert.equal(read('"a\ud800b"'), 'a\ud800b');
    assert.equal(JSON.stringify(read('"\\ud800"')), '"\\ud800"');
    assert.equal(read('"\\ud83d\\ude00"'), '😀');
  });

  it('contain control characters only when they are escaped', () => {
    for (let code = 0; code < 0x20; code++) {
      assert.match(refusal(`"${String.fromCharCode(code)}"`), /control character in a string$/);
    }
    assert.equal(read('"\u0020\u007f\u0080"'), ' \u007f\u0080');
  });

  it('of any characters are parsed, escaped or not', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff)), fc.array(fc.boolean()), (units, choices) => {
        const text = String.fromCharCode(...units);
        const written = units.map((unit, index) =>
          unit > 0x1f && unit !== 0x22 && unit !== 0x5c && choices[index] === true
            ? String.fromCharCode(unit)
            : `\\u${unit.toString(16).padStart(4, '0')}`,
        );
        assert.equal(read(`"${written.join('')}"`), text);
      }),
    );
  });
});

describe('spans', () => {
  const slices = (text: string): Record<string, string> =>
    Object.fromEntries([...locateMembers(text)].map(([key, [start, end]]) => [key, text.slice(start, end)]));

  it('are those of the values of the outermost object', () => {
    const text = ' { "a" :\t[1, {"inner": 2}] , "b":"x\\"}" ,"c" : 1.50 ,"\\u0064":{"e": {} }\n} ';
    assert.deepEqual(slices(text), { a: '[1, {"inner": 2}]', b: '"x\\"}"', c: '1.50', d: '{"e": {} }' });
  });

  it('do not exist where the outermost value is not an object', () => {
    assert.deepEqual(slices('[{"a":1}]'), {});
    assert.deepEqual(slices('{}'), {});
  });

  it('select the text that parses as the member', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const native = JSON.parse(text) as Record<string, unknown>;
        const spans = locateMembers(text);
        assert.deepEqual([...spans.keys()].sort(), Object.keys(native).sort());
        for (const [key, [start, end]] of spans) {
          assert.deepEqual(JSON.parse(text.slice(start, end)), Object.getOwnPropertyDescriptor(native, key)?.value);
          assert.equal(text.slice(start, end).trim(), text.slice(start, end));
        }
      }),
    );
  });
});

describe('text values', () => {
  interface Found {
    readonly value: string;
    readonly raw: string;
    readonly path: readonly (string | number)[];
  }
  const found = (text: string): Found[] => {
    const all: Found[] = [];
    parseJson(text, ({ value, start, end, path }) => all.push({ value, raw: text.slice(start, end), path: [...path] }));
    return all;
  };

  it('are reported in their order, with the keys and indices that lead to them', () => {
    assert.deepEqual(found('{"a":"x","b":[1,"y",{"c":["z"]}],"\\u0064":null,"e":"\\u0065\\n"}'), [
      { value: 'x', raw: '"x"', path: ['a'] },
      { value: 'y', raw: '"y"', path: ['b', 1] },
      { value: 'z', raw: '"z"', path: ['b', 2, 'c', 0] },
      { value: 'e\n', raw: '"\\u0065\\n"', path: ['e'] },
    ]);
    assert.deepEqual(found(' "x" '), [{ value: 'x', raw: '"x"', path: [] }]);
    assert.deepEqual(found('{"key":1,"":[true,{}]}'), []);
  });

  it('are all strings of a document except keys, each with its position', () => {
    const stringsIn = (value: unknown, path: (string | number)[] = []): [unknown, unknown][] => {
      if (typeof value === 'string') return [[value, path]];
      if (typeof value !== 'object' || value === null) return [];
      const list = Array.isArray(value);
      return Object.entries(value).flatMap(([key, each]) => stringsIn(each, [...path, list ? Number(key) : key]));
    };
    const documents = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
    fc.assert(
      fc.property(documents, fc.constantFrom(undefined, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const all = found(text);
        for (const { value: own, raw } of all) assert.equal(JSON.parse(raw), own);
        assert.deepEqual(
          all.map(({ value: own, path }) => [own, path]),
          stringsIn(JSON.parse(text)),
        );
      }),
    );
  });

  it('are reported before an error that follows them', () => {
    const seen: string[] = [];
    assert.throws(() => parseJson('["a","b",]', ({ value }) => seen.push(value)), Failure);
    assert.deepEqual(seen, ['a', 'b']);
  });

  it('change nothing of the parsed value', () => {
    const text = '{"a":["x",0.50],"b":{}}';
    assert.deepEqual(
      parseJson(text, () => undefined),
      parseJson(text),
    );
  });
});

describe('the number of values', () => {
  const most = LIMITS.jsonValues;
  const message = / more than 50000 values$/;
  // Each document has as many values as requested, including the document itself.
  const documents: Readonly<Record<string, (values: number) => string>> = {
    'a list of numbers': (values) => `[${Array(values - 1).fill('1')}]`,
    'a list of empty lists': (values) => `[${Array(values - 1).fill('[]')}]`,
    'a list of empty objects': (values) => `[${Array(values - 1).fill('{}')}]`,
    'an object': (values) => `{${Array.from({ length: values - 1 }, (_, index) => `"${index}":null`)}}`,
    'lists in a list': (values) => `[${Array((values - 2) / 2).fill('["x"]')},true]`,
  };

  for (const [what, document] of Object.entries(documents)) {
    it(`may be ${most} in ${what}, and not one more`, () => {
      assert.equal(most, 50_000);
      const text = document(most);
      assert.deepEqual(asNative(read(text)), JSON.parse(text));
      const more = text.replace(/.$/, (end) => (end === '}' ? ',"one more":1}' : ',1]'));
      JSON.parse(more);
      assert.match(refusal(more), message);
    });
  }

  it('over the limit is rejected at the first value beyond it, whatever follows', () => {
    const text = `[${'1,'.repeat(most - 1)}`;
    assert.equal(refusal(`${text}1]`), `malformed JSON at character ${text.length + 1}: more than ${most} values`);
    assert.equal(refusal(`${text}x`), `malformed JSON at character ${text.length + 1}: more than ${most} values`);
  });

  it('does not count keys', () => {
    const members = Array.from({ length: most / 2 }, (_, index) => `"${index}":1`).join();
    assert.ok(isJsonObject(read(`{${members}}`)));
  });
});

describe('a rejection', () => {
  it('names the position, counted from 1', () => {
    assert.equal(refusal('{"a":}'), 'malformed JSON at character 6: expected a value');
    assert.equal(refusal('{"a":1 "b":2}'), 'malformed JSON at character 8: expected a comma or }');
    assert.equal(refusal('[1 2]'), 'malformed JSON at character 4: expected a comma or ]');
    assert.equal(refusal('{"a":1,"a":2}'), 'malformed JSON at character 8: duplicate key');
    assert.equal(refusal('{"a" 1}'), 'malformed JSON at character 6: expected a colon');
    assert.equal(refusal('{a}'), 'malformed JSON at character 2: expected a key');
    assert.equal(refusal('{} x'), 'malformed JSON at character 4: expected the end of the body');
    assert.equal(refusal('"abc'), 'malformed JSON at character 5: unterminated string');
    assert.equal(refusal('"a\nb"'), 'malformed JSON at character 3: control character in a string');
  });

  it('contains no part of the text', () => {
    const card = '4111111111111111';
    for (const text of [
      `{"${card}"}`,
      `{"${card}":1,"${card}":2}`,
      `"${card}`,
      `[${card} ${card}]`,
      `${card}x`,
      `"\\u41111${card}\\q"`,
    ]) {
      assert.ok(!refusal(text).includes('4111'), text);
    }
  });
});
