import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Value } from '../database.ts';
import { type ElementType, encodeArray, typeOf } from './encode-array.ts';

/** Parses the binary format that PostgreSQL documents for arrays. */
function decoded(bytes: Buffer): { oid: number; nulls: boolean; elements: (Buffer | null)[] } {
  const [dimensions, nulls, oid, length, lower] = [0, 4, 8, 12, 16].map((at) => bytes.readInt32BE(at));
  assert.deepEqual([dimensions, lower], [1, 1]);
  const elements: (Buffer | null)[] = [];
  let at = 20;
  for (let index = 0; index < Number(length); index++) {
    const size = bytes.readInt32BE(at);
    at += 4;
    elements.push(size < 0 ? null : bytes.subarray(at, at + size));
    at += Math.max(size, 0);
  }
  assert.equal(at, bytes.length);
  return { oid: Number(oid), nulls: nulls === 1, elements };
}

const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });

const types: readonly [ElementType, number, fc.Arbitrary<Value>, (bytes: Buffer) => Value][] = [
  ['text', 25, fc.string({ unit: 'binary' }), (bytes) => bytes.toString('utf8')],
  ['bigint', 20, fc.maxSafeInteger(), (bytes) => Number(bytes.readBigInt64BE())],
  ['bytea', 17, fc.uint8Array(), (bytes) => new Uint8Array(bytes)],
];

for (const [type, oid, value, read] of types) {
  test(`a column of ${type} is decoded to the same values`, () => {
    fc.assert(
      fc.property(fc.array(orNull(value), { minLength: 1 }), (values) => {
        const found = decoded(encodeArray(type, values));
        assert.equal(found.oid, oid);
        assert.equal(found.nulls, values.includes(null));
        assert.deepEqual(
          found.elements.map((element) => (element === null ? null : read(element))),
          values,
        );
      }),
    );
  });
}

test('the type of a value, and views of bytes', () => {
  assert.deepEqual(
    [typeOf(''), typeOf(0), typeOf(new Uint8Array()), typeOf(Buffer.of(1))],
    ['text', 'bigint', 'bytea', 'bytea'],
  );
  const view = Buffer.from('0123456789').subarray(3, 5);
  assert.deepEqual(decoded(encodeArray('bytea', [view])).elements, [Buffer.from('34')]);
  const ends = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, -0];
  assert.deepEqual(
    decoded(encodeArray('bigint', ends)).elements.map((bytes) => bytes?.readBigInt64BE()),
    [9_007_199_254_740_991n, -9_007_199_254_740_991n, 0n],
  );
});
