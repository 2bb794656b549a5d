import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseCsvRecord, scanCsvLine } from './csv.ts';

const format = (fields: readonly string[]): string =>
  fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');

describe('a CSV record', () => {
  test('has the fields that were written, whatever they contain', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '1', ' ', ',', '"', '\n', 'ñ', '😀') });
    fc.assert(
      fc.property(fc.array(field, { minLength: 1 }), (fields) => {
        const record = format(fields);
        assert.deepEqual(parseCsvRecord(record), fields);
        const lines = record.split('\n');
        const states = lines.map((line, index) => scanCsvLine(line, index > 0));
        assert.deepEqual(states, [...lines.slice(1).map(() => 'open'), 'complete']);
      }),
    );
  });

  test('is rejected when a quote is at another place', () => {
    for (const text of ['a"b', '"a"b', '"a" ,b', 'a,"b', '"', '"""', 'a,b"'])
      assert.equal(parseCsvRecord(text), undefined, text);
  });

  test('continues on the next line while a quoted field is open', () => {
    for (const [line, begins, continues] of [
      ['"a', 'open', 'malformed'],
      ['a,"b""', 'open', 'malformed'],
      ['a', 'complete', 'open'],
      ['a"b', 'malformed', 'malformed'],
      ['a"', 'malformed', 'complete'],
      ['"",a', 'complete', 'open'],
      ['a,"', 'open', 'complete'],
      ['","', 'complete', 'open'],
    ] as const)
      assert.deepEqual([scanCsvLine(line, false), scanCsvLine(line, true)], [begins, continues], line);
  });
});
