import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../kernel/limits.ts';
import { toSummaryLines, truncateSummary } from './approval-summary.ts';

describe('a summary', () => {
  test('tells nothing of what has no value', () => {
    assert.deepEqual(
      toSummaryLines([
        ['name', 'till'],
        ['description', undefined],
      ]),
      [{ name: 'name', value: 'till' }],
    );
  });

  test('is bounded in lines and characters', () => {
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

describe('the lines of it that lists show', () => {
  const line = (characters: number) => ({ name: 'note', value: 'n'.repeat(characters - 4) });
  const most = LIMITS.summaryCharactersListed;

  test('are all of a short one', () => {
    const lines = [line(most - 10), line(10)];
    assert.deepEqual(truncateSummary(lines), lines);
    assert.deepEqual(truncateSummary([]), []);
  });

  test('are the first of a long one, whole and in order, and none behind one that is left out', () => {
    const lines = [line(10), line(most - 10), line(5), line(10)];
    assert.deepEqual(truncateSummary(lines), lines.slice(0, 2));
    assert.deepEqual(truncateSummary([line(10), line(most), line(5)]), [line(10)]);
  });
});
