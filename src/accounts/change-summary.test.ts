import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../kernel/limits.ts';
import { summarizeEndpoint } from '../webhooks/requested-changes.ts';
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

  test('continues a long value in further lines, and leaves out nothing of it', () => {
    const { summaryCharacters } = LIMITS;
    const value = `${'😀'.repeat(2 * summaryCharacters)}end`;
    const lines = toSummaryLines([
      ['note', value],
      ['state', 'active'],
    ]);
    assert.deepEqual(
      lines.map(({ name }) => name),
      ['note', 'note 2', 'note 3', 'state'],
    );
    const parts = lines.slice(0, -1).map((line) => line.value);
    assert.ok(parts.every((part) => [...part].length <= summaryCharacters));
    assert.equal(parts.join(''), value);
  });

  test('shows the complete address of a webhook', () => {
    const url = `https://shop.example/${'a'.repeat(LIMITS.summaryCharacters)}?to=elsewhere`;
    const lines = summarizeEndpoint({ url });
    assert.equal(lines.map(({ value }) => value).join(''), url);
  });

  test('of a value that fits has one line', () => {
    const value = 'x'.repeat(LIMITS.summaryCharacters);
    assert.deepEqual(toSummaryLines([['note', value]]), [{ name: 'note', value }]);
    assert.deepEqual(toSummaryLines([['note', '']]), [{ name: 'note', value: '' }]);
  });
});
