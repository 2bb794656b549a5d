import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTurns } from '../../test/fixtures/count-turns.ts';
import { LIMITS } from '../kernel/limits.ts';
import { inTurns } from './turns.ts';

describe('inTurns', () => {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

  it('returns the results in the order of the items', async () => {
    for (const count of [0, 1, LIMITS.cardsPerTurn, LIMITS.cardsPerTurn + 1, 10 * LIMITS.cardsPerTurn]) {
      const items = numbers(count);
      assert.deepEqual(
        await inTurns(items, async (number) => 2 * number),
        items.map((number) => 2 * number),
      );
    }
  });

  it('lets other work have its turn between many items, and between few of them none', async () => {
    const work = (count: number) => () => inTurns(numbers(count), async (number) => number);
    assert.ok((await countTurns(work(10 * LIMITS.cardsPerTurn))).turns >= 9);
    assert.ok((await countTurns(work(LIMITS.cardsPerTurn))).turns <= 1);
  });

  it('rejects with the error of an item', () =>
    assert.rejects(
      inTurns(numbers(3 * LIMITS.cardsPerTurn), async (number) => {
        if (number === 2 * LIMITS.cardsPerTurn) throw new Error('no');
      }),
      /^Error: no$/,
    ));
});
