import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SCHEMES } from './scheme.ts';
import { fromSlot, slotRangeOf, toSlot } from './slot.ts';

const signs = SCHEMES[3].alphabet;
const tokens = fc.string({ unit: fc.constantFrom(...signs), minLength: 12, maxLength: 19 });
const uuids = fc.uuid({ version: 4 });
const inOrder = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

describe('a slot', () => {
  it('is length, first six, last four, and the rest', () => {
    assert.equal(toSlot('4111112345671111'), '164111111111234567');
    assert.equal(toSlot('0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c'), '360f4e2c4b5c9a-5d1b-4b7e-9c3a-8a1d2e3f');
    assert.equal(toSlot('1234567890'), '101234567890');
  });

  it('turns back into its token', () => {
    fc.assert(
      fc.property(fc.oneof(tokens, uuids, fc.string({ minLength: 10, maxLength: 99 })), (token) => {
        const slot = toSlot(token);
        assert.ok(slot !== undefined);
        assert.equal(slot.length, token.length + 2);
        assert.equal(fromSlot(slot), token);
      }),
    );
  });

  it('is there for texts of 10 to 99 signs only', () => {
    for (const length of [0, 1, 9, 100, 8192]) assert.equal(toSlot('x'.repeat(length)), undefined);
    for (const length of [10, 36, 99]) assert.equal(toSlot('x'.repeat(length))?.slice(0, 2), String(length));
  });

  it('sorts as tokens of one length, first six and last four do by their middles', () => {
    const middles = fc.string({ unit: fc.constantFrom(...signs), minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(middles, middles, (one, other) => {
        const slots = [one, other].map((middle) => toSlot(`411111${middle}1111`) ?? '');
        assert.equal(inOrder(slots[0] ?? '', slots[1] ?? ''), inOrder(one, other));
      }),
    );
  });
});

describe('the slots of one length, first six and last four', () => {
  /** Few heads and tails, so that most tokens have neighbours. */
  const crowded = fc
    .tuple(
      fc.constantFrom('411111', '411112', '555555'),
      fc.string({ unit: fc.constantFrom('0', '1', '9', 'A', 'z'), minLength: 2, maxLength: 4 }),
      fc.constantFrom('1111', '1112', '0000'),
    )
    .map((parts) => parts.join(''));
  const kind = (token: string): string => `${token.length}${token.slice(0, 6)}${token.slice(-4)}`;

  it('stand together', () => {
    fc.assert(
      fc.property(fc.uniqueArray(crowded, { maxLength: 60 }), (all) => {
        const kinds = all
          .map((token) => toSlot(token) ?? '')
          .sort(inOrder)
          .map((slot) => kind(fromSlot(slot)));
        const blocks = kinds.filter((name, index) => name !== kinds[index - 1]);
        assert.equal(blocks.length, new Set(kinds).size);
      }),
    );
  });

  it('are those between the two ends', () => {
    fc.assert(
      fc.property(crowded, crowded, (number, token) => {
        const [from, to] = slotRangeOf(number);
        const slot = toSlot(token) ?? '';
        assert.equal(inOrder(from, slot) <= 0 && inOrder(slot, to) < 0, kind(number) === kind(token));
      }),
      { numRuns: 500 },
    );
  });
});
