import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyLong } from '../test/scope.ts';
import { conditionsNow } from './results.ts';
import { measureSizes, sizeSection } from './sizes.ts';

/** A card with its index entries takes less. */
const MOST_BYTES = 450;

test('the section shows what each kind of card takes by table and index', { skip: onlyLong }, async () => {
  const measured = await measureSizes(1000, () => undefined);
  for (const { name, sqlite } of measured.kinds) {
    const total = Object.values(sqlite).reduce((sum, part) => sum + part, 0);
    assert.ok(total > 300 && total < MOST_BYTES, `${name}: ${total}`);
  }
  assert.match(sizeSection(measured, conditionsNow(new Date(0))), /\| scheme 7, 1 tag +\| \d{3} +\|/);
});
