import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import fastJson from 'fast-json-stringify';
import { exactNumber, type Json, parseJson } from '../kernel/json.ts';
import { cardNumber, currency, expiry, track2, verificationCode } from './card-fields.ts';
import {
  anyJson,
  anyObject,
  anyString,
  anyText,
  bool,
  exactly,
  type Field,
  FieldMismatch,
  integer,
  list,
  object,
  oneOf,
  optional,
  optionalNotEmpty,
  optionalNotNull,
  output,
  plainText,
  serializable,
} from './fields.ts';

/** JSON text, as in a request. */
const read = <T>(field: Field<T>, text: string): T => field.parse(parseJson(text));

/** `path: expectation`, as the caller sees it. */
function fault(field: Field<unknown>, text: string): string {
  try {
    read(field, text);
  } catch (error) {
    assert.ok(error instanceof FieldMismatch, String(error));
    return `${error.path}: ${error.message}`;
  }
  return assert.fail(`${text} was accepted`);
}

const refuses = (field: Field<unknown>, ...texts: readonly string[]): void => {
  for (const text of texts) fault(field, text);
};

const name = plainText(10, 'Name');
const count = integer({ min: 0, max: 1000 }, 'Count');

describe('paths', () => {
  const body = object({
    chd: list(object({ card: cardNumber, exp: expiry }), { min: 1, max: 5 }),
    deep: optional(object({ rows: list(list(count, { min: 0, max: 3 }), { min: 0, max: 3 }) })),
  });
  const good = '{"card":"4111111111111111","exp":"12/29"}';

  it('address a member in the notation of programs', () => {
    const chd = (...cards: readonly string[]): string => `{"chd":[${cards.join(',')}]}`;
    assert.equal(
      fault(body, chd(good, good, good, '{"card":"4111111111111111","exp":"13/29"}')),
      'chd[3].exp: expected MM/YY',
    );
    assert.equal(fault(body, chd(good, '{"exp":"12/29"}')), 'chd[1].card: required');
    assert.equal(fault(body, chd('7')), 'chd[0]: expected an object');
    assert.equal(fault(body, chd('null')), 'chd[0]: expected an object');
    assert.equal(fault(body, '{"chd":{}}'), 'chd: expected an array');
    assert.equal(fault(body, '{"chd":[]}'), 'chd: expected 1 to 5 entries');
    assert.equal(fault(body, '{}'), 'chd: required');
    assert.equal(fault(body, '[]'), ': expected an object');
    assert.equal(
      fault(body, `{"chd":[${good}],"deep":{"rows":[[1],[2,3,"x"]]}}`),
      'deep.rows[1][2]: expected an integer of 0 to 1000',
    );
  });

  it('report the first invalid member', () => {
    assert.match(fault(body, '{"chd":[{"card":"x","exp":"x"},{"card":"x"}]}'), /^chd\[0\]\.card: /);
  });
});

describe('an object', () => {
  const body = object({ name, count: optional(count), tag: optional(anyString('Tag')) });

  it('has its members and ignores others', () => {
    const text = '{"other":{"name":1},"name":"Ana","count":3,"__proto__":{"tag":"x"},"toString":null}';
    assert.deepEqual(read(body, text), { name: 'Ana', count: 3 });
  });

  it('treats null as absent', () => {
    assert.deepEqual(read(body, '{"name":"Ana","count":null,"tag":null}'), { name: 'Ana' });
    assert.equal(fault(body, '{"name":null}'), 'name: required');
    assert.equal(fault(body, '{"count":1}'), 'name: required');
  });

  it('treats an empty string as absent where the member is optional, whatever the type', () => {
    assert.deepEqual(read(body, '{"name":"Ana","count":"","tag":""}'), { name: 'Ana' });
    assert.match(fault(body, '{"name":""}'), /^name: expected a string/);
    assert.match(fault(body, '{"name":"Ana","count":" "}'), /^count: expected an integer/);
    assert.match(fault(body, '{"name":"Ana","count":[]}'), /^count: expected an integer/);
    assert.match(fault(body, '{"name":"Ana","count":false}'), /^count: expected an integer/);
  });

  it('rejects null, and passes an empty string to the field, where a member is optional and not nullable', () => {
    const shape = object({ name, amount: optionalNotNull(anyString('Amount')), count: optionalNotNull(count) });
    assert.deepEqual(read(shape, '{"name":"Ana"}'), { name: 'Ana' });
    assert.deepEqual(read(shape, '{"name":"Ana","amount":"","count":3}'), { name: 'Ana', amount: '', count: 3 });
    assert.equal(fault(shape, '{"name":"Ana","amount":null}'), 'amount: expected a string');
    for (const value of ['null', '""'])
      assert.match(fault(shape, `{"name":"Ana","count":${value}}`), /^count: expected an integer/);
  });

  it('treats null as absent, and passes an empty string to the field, where a member is optional and not empty', () => {
    const shape = object({ name, tag: optionalNotEmpty(anyString('Tag')), count: optionalNotEmpty(count) });
    assert.deepEqual(read(shape, '{"name":"Ana","tag":"","count":null}'), { name: 'Ana', tag: '' });
    assert.match(fault(shape, '{"name":"Ana","count":""}'), /^count: expected an integer/);
  });

  it('reads no inherited member', () => {
    assert.equal(fault(object({ toString: anyString('x') }), '{}'), 'toString: required');
    assert.equal(fault(object({ constructor: optional(anyString('x')), name }), '{}'), 'name: required');
    assert.deepEqual(read(object({ constructor: optional(anyString('x')) }), '{}'), {});
  });

  it('is not an array, number or null', () => {
    refuses(body, '[]', '1', '1.5', '"x"', 'true', 'null');
  });

  it('describes itself', () => {
    assert.deepEqual(body.schema, {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 10, description: 'Name' },
        count: count.schema,
        tag: { type: 'string', description: 'Tag' },
      },
      required: ['name'],
    });
  });
});

describe('a list', () => {
  it('has from min to max entries', () => {
    const items = list(count, { min: 1, max: 3 });
    assert.deepEqual(read(items, '[1]'), [1]);
    assert.deepEqual(read(items, '[1,"2",3]'), [1, 2, 3]);
    assert.equal(fault(items, '[]'), ': expected 1 to 3 entries');
    assert.equal(fault(items, '[1,2,3,4]'), ': expected 1 to 3 entries');
    assert.equal(fault(items, '[1,null]'), '[1]: expected an integer of 0 to 1000');
    assert.equal(fault(items, '{"0":1,"length":1}'), ': expected an array');
  });
});

describe('an integer', () => {
  const amount = integer({ min: 0, max: Number.MAX_SAFE_INTEGER }, 'Amount');

  it('is a JSON number or a numeric string', () => {
    for (const text of ['0', '1', '12500', '9007199254740991']) {
      assert.equal(read(amount, text), Number(text));
      assert.equal(read(amount, `"${text}"`), Number(text));
    }
  });

  it('has no fraction, exponent, sign, leading zero or blank', () => {
    for (const text of ['10.0', '1e3', '1E3', '-0', '-1', '0.5', '1e-2', '1e400', '12500.00']) {
      refuses(amount, text, `"${text}"`);
    }
    refuses(
      amount,
      '"01"',
      '"007"',
      '"00"',
      '"+1"',
      '" 1"',
      '"1 "',
      '"1\\n"',
      '"0x10"',
      '"1_000"',
      '"1,000"',
      '"Infinity"',
      '"NaN"',
      '"１"',
    );
    refuses(amount, 'true', 'null', '[]', '[1]', '{}', '""', '{"rawJSON":"1"}');
  });

  it('is exact: beyond 2^53-1 it is rejected, not rounded', () => {
    for (const text of ['9007199254740992', '9007199254740993', '99999999999999999999', '18446744073709551616']) {
      refuses(amount, text, `"${text}"`);
    }
  });

  it('is within its limits', () => {
    const ttl = integer({ min: 1, max: 10_080 }, 'Minutes');
    for (const good of ['1', '"1"', '10080', '"10080"']) assert.equal(typeof read(ttl, good), 'number');
    for (const bad of ['0', '"0"', '10081', '"10081"', '-1'])
      assert.equal(fault(ttl, bad), ': expected an integer of 1 to 10080');
  });

  it('is preserved as it was written, as a number or a string', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.boolean(), (number, quoted) => {
        assert.equal(read(amount, quoted ? `"${number}"` : `${number}`), number);
      }),
    );
  });
});

describe('texts', () => {
  it('are counted in code points', () => {
    for (const field of [plainText(3, 'x'), anyText(3, 'x')]) {
      assert.equal(read(field, '"abc"'), 'abc');
      assert.equal(read(field, '"😀😀😀"'), '😀😀😀');
      refuses(field, '""', '"abcd"', '"😀😀😀😀"', '"😀😀😀a"', '1', 'null', '["a"]', 'true');
    }
  });

  it('contain control characters only where any text is allowed', () => {
    for (const control of ['\\u0000', '\\n', '\\t', '\\u001f', '\\u007f', '\\u0085']) {
      refuses(name, `"a${control}b"`);
      assert.equal(read(anyText(10, 'x'), `"a${control}b"`).length, 3);
    }
    assert.equal(read(name, '"José Ñ. 李"'), 'José Ñ. 李');
  });

  it('that any string is accepted for are strings only', () => {
    assert.equal(read(anyString('x'), '""'), '');
    assert.equal(fault(anyString('x'), '4111111111111111'), ': expected a string');
  });
});

describe('choices, booleans and free objects', () => {
  it('are parsed exactly', () => {
    const persistent = exactly('persistent', 'Kind');
    assert.equal(read(persistent, '"persistent"'), 'persistent');
    for (const text of ['"Persistent"', '"persistent "', '""', '1', 'true', '["persistent"]']) {
      assert.equal(fault(persistent, text), ': expected "persistent"');
    }
    assert.equal(read(bool('x'), 'true'), true);
    assert.equal(read(bool('x'), 'false'), false);
    refuses(bool('x'), '"true"', '1', '0', '""', 'null');
  });

  it('of a choice are exactly those', () => {
    const kind = oneOf(['authorization', 'payment'], 'Kind');
    assert.equal(read(kind, '"authorization"'), 'authorization');
    assert.equal(read(kind, '"payment"'), 'payment');
    for (const text of ['"Payment"', '"payment "', '""', '0', 'true', '["payment"]', '{}'])
      assert.equal(fault(kind, text), ': expected one of authorization, payment');
    assert.deepEqual(kind.schema, { type: 'string', enum: ['authorization', 'payment'], description: 'Kind' });
  });

  it('of any type are preserved as they were written', () => {
    for (const text of ['9007199254740993', '"x"', '[1.50,null]', '{"a":""}', 'true'])
      assert.equal(JSON.stringify(read(anyJson('x'), text)), text);
    assert.deepEqual(anyJson('x').schema, { description: 'x' });
  });

  it('preserve a free object as it was written', () => {
    const text = '{"a":null,"b":"","c":[1.50,{"__proto__":1}],"d":9007199254740993}';
    assert.equal(JSON.stringify(read(anyObject('x'), text)), text);
    refuses(anyObject('x'), '[]', '"{}"', '1.5', 'null');
  });
});

describe('a fault', () => {
  it('never contains the value, nor a key of the request', () => {
    const secret = 'Zq7Zq7';
    const fields: readonly Field<unknown>[] = [
      object({ name, count, list: list(cardNumber, { min: 1, max: 2 }) }),
      list(object({ name }), { min: 0, max: 9 }),
      name,
      anyText(5, 'x'),
      anyString('x'),
      exactly('persistent', 'x'),
      bool('x'),
      count,
      cardNumber,
      verificationCode,
      expiry,
      track2,
      currency,
      anyObject('x'),
    ];
    const planted = fc
      .jsonValue({ maxDepth: 2 })
      .chain((value) =>
        fc.constantFrom<unknown>(
          `${secret}0123456789`,
          { [secret]: secret, name: { [secret]: value } },
          { name: secret, count: secret },
          { name: 'a', count: 1, list: [secret] },
          [{ name: [secret] }],
          [secret, value],
          '7197197197197',
          71971971,
          -71971971.5,
        ),
      );
    let refused = 0;
    fc.assert(
      fc.property(fc.constantFrom(...fields), planted, (field, value) => {
        try {
          read(field, JSON.stringify(value));
        } catch (error) {
          refused++;
          assert.ok(error instanceof FieldMismatch);
          assert.doesNotMatch(`${error.path}: ${error.message}`, /Zq7|7197/);
        }
      }),
      { numRuns: 500 },
    );
    assert.ok(refused > 200, 'the property was not put to the test');
  });
});

describe('members of responses', () => {
  it('are described and never parsed', () => {
    for (const field of [
      output.text('x'),
      output.nullableText('x'),
      output.integer('x'),
      output.amount('x'),
      output.bool('x'),
      output.time('x'),
      output.nullableTime('x'),
      output.texts('x'),
      output.oneOf(['a', 'b'], 'x'),
      output.list(output.text('y'), 'x'),
    ] as readonly Field<unknown>[]) {
      assert.equal(field.schema['description'], 'x');
      assert.ok(field.schema['type'] !== undefined);
      assert.throws(() => field.parse('a' as Json), /not read/);
    }
    assert.deepEqual(output.oneOf(['a', 'b'], 'x').schema, { type: 'string', enum: ['a', 'b'], description: 'x' });
    assert.deepEqual(output.nullableText('x').schema['type'], ['string', 'null']);
  });
});

describe('the schema for serialization', () => {
  const schema = object({
    total: output.amount('x'),
    name: output.text('x'),
    inner: object({ amounts: output.amount('x') }),
  }).schema;

  it('allows exact numbers at any depth, and leaves everything else unchanged', () => {
    assert.deepEqual(serializable(schema), {
      type: 'object',
      properties: {
        total: {},
        name: { type: 'string', description: 'x' },
        inner: { type: 'object', properties: { amounts: {} }, required: ['amounts'] },
      },
      required: ['total', 'name', 'inner'],
    });
    const write = fastJson(serializable(schema) as object);
    const exact = exactNumber('999999999999.9999');
    const text = '{"total":999999999999.9999,"name":"a","inner":{"amounts":999999999999.9999}}';
    assert.equal(write({ total: exact, name: 'a', inner: { amounts: exact }, other: 1 }), text);
  });
});
