import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatCsvRecord } from './csv.ts';

/** Reads one record of RFC 4180, apart from the code under test. */
function parse(text: string): string[] {
  const cells: string[] = [];
  for (let rest = text; rest !== '\r\n'; ) {
    const [match, quoted = ''] = /^,?"((?:[^"]|"")*)"/.exec(rest) ?? [];
    if (match === undefined) throw new Error(rest);
    cells.push(quoted.replaceAll('""', '"'));
    rest = rest.slice(match.length);
  }
  return cells;
}

describe('a record of a CSV file', () => {
  it('contains what was written', () => {
    for (const cell of ['', 'a', 'a,b', 'say "x"', 'two\nlines', 'ñandú 你好', "it's", '10.50', 'a-b+c=d@e', 'a; b'])
      assert.deepEqual(parse(formatCsvRecord(['1', cell, '2'])), ['1', cell, '2']);
  });

  it('has no cell that a spreadsheet takes for a formula', () => {
    const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '"=1', '==1', '=cmd|"/c calc"!A0'];
    for (const cell of [...cells, 'a;=1', 'a\t=1', 'a\n=1', 'a\r\n=1', ';;=1', 'a;"=1', 'a\t""=1']) {
      const record = formatCsvRecord([cell]);
      for (const part of record.slice(1, -3).split(/[;\t\r\n]/)) assert.doesNotMatch(part, /^"*[=+\-@＝＋－＠]/, cell);
      assert.equal((parse(record)[0] ?? '').replaceAll("'", ''), cell.replaceAll("'", ''), cell);
    }
  });

  it('is parsed into as many cells as were written, whatever they contain', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 10 }), (cells) => {
        assert.equal(parse(formatCsvRecord(cells)).length, cells.length);
      }),
    );
  });
});
