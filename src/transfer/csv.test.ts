import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isQuoteOpen, parseCsvRecord } from './csv.ts';

const format = (fields: readonly string[]): string =>
  fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');

describe('a CSV record', () => {
  test('has the fields that were written, whatever they contain', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '1', ' ', ',', '"', '\n', 'ñ', '😀') });
    fc.assert(
      fc.property(fc.array(field, { minLength: 1 }), (fields) => {
        assert.deepEqual(parseCsvRecord(format(fields)), fields);
        assert.equal(isQuoteOpen(format(fields)), false);
      }),
    );
  });

  test('is rejected when a quote is at another place', () => {
    for (const text of ['a"b', '"a"b', '"a" ,b', 'a,"b', '"', '"""', 'a,b"'])
      assert.equal(parseCsvRecord(text), undefined, text);
  });

  test('continues on the next line while a quote is open', () => {
    assert.deepEqual(['"a', 'a,"b""', '"a"', 'a'].map(isQuoteOpen), [true, true, false, false]);
  });
});
