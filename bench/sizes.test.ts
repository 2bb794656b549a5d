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
  assert.match(sizeSection(measured, conditionsNow(new Date(0))), /\| scheme 7, 1 tag +\| \d{3} +\| ≤ 418: met +\|/);
});

test('the section says which aims are met', () => {
  const kinds = [
    { name: 'scheme 7, no tag', sqlite: { tokens: 372 }, postgres: { tokens: 500 } },
    { name: 'scheme 7, 1 tag', sqlite: { tokens: 419 }, postgres: { tokens: 639 } },
  ];
  const section = sizeSection({ cards: 100, kinds, postgres: '15' }, conditionsNow(new Date(0)));
  const aims = [...section.matchAll(/^\| scheme 7, .*? \| \d+ +\| (.*?) +\|/gm)].map(([, aim]) => aim);
  assert.deepEqual(aims, ['≤ 372: met', '≤ 418: **missed**', '-', '≤ 639: met']);
});
