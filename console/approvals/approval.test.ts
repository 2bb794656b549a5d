import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/kernel/limits.ts';
import { truncateSummary } from './approval.ts';

describe('the lines of a summary in lists', () => {
  const line = (characters: number) => ({ name: 'note', value: 'n'.repeat(characters - 4) });
  const most = LIMITS.summaryCharactersListed;

  test('are all lines of a short one', () => {
    const lines = [line(most - 10), line(10)];
    assert.deepEqual(truncateSummary(lines), lines);
    assert.deepEqual(truncateSummary([]), []);
  });

  test('are the first lines of a long one, complete and in order, up to the first omitted line', () => {
    const lines = [line(10), line(most - 10), line(5), line(10)];
    assert.deepEqual(truncateSummary(lines), lines.slice(0, 2));
    assert.deepEqual(truncateSummary([line(10), line(most), line(5)]), [line(10)]);
  });
});
