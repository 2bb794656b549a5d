import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../kernel/limits.ts';
import { toSummaryLines } from './change-control.ts';

describe('a summary', () => {
  test('leaves out what has no value', () => {
    assert.deepEqual(
      toSummaryLines([
        ['name', 'till'],
        ['description', undefined],
      ]),
      [{ name: 'name', value: 'till' }],
    );
  });

  test('is limited in lines and characters', () => {
    const { summaryLines, summaryCharacters } = LIMITS;
    const long = toSummaryLines([['note', '😀'.repeat(summaryCharacters + 1)]]);
    assert.equal([...(long[0]?.value ?? '')].length, summaryCharacters);
    assert.ok(long[0]?.value.endsWith('😀…'));
    assert.equal(
      toSummaryLines(Array.from({ length: summaryLines + 1 }, () => ['a', 'b'] as const)).length,
      summaryLines,
    );
  });
});
