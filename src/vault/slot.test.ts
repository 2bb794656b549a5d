import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SCHEMES } from './scheme.ts';
import { fromSlot, rangeOfSpace, rangesOfBin, toSlot } from './slot.ts';

const characters = SCHEMES[3].alphabet;
const tokens = fc.string({ unit: fc.constantFrom(...characters), minLength: 12, maxLength: 19 });
const uuids = fc.uuid({ version: 4 });

function slotOf(token: string): Uint8Array {
  const slot = toSlot(token);
  assert.ok(slot !== undefined, token);
  return slot;
}

const textOf = (token: string): string => Buffer.from(slotOf(token)).toString('latin1');

describe('a slot', () => {
  it('is length, first six, last four, and the rest, or the bytes of a UUID', () => {
    assert.equal(textOf('4111112345671111'), '164111111111234567');
    assert.equal(textOf('411111aZ1111'), '124111111111aZ');
    const uuid = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';
    assert.equal(Buffer.from(slotOf(uuid)).toString('hex'), uuid.replaceAll('-', ''));
  });

  it('is decoded to its token', () => {
    fc.assert(
      fc.property(fc.oneof(tokens, uuids), (token) => {
        assert.equal(fromSlot(slotOf(token)), token);
      }),
    );
  });

  it('exists only for texts that can be tokens', () => {
    for (const length of [0, 1, 11, 20, 99, 8192]) assert.equal(toSlot('x'.repeat(length)), undefined);
    for (const text of [
      '0F4E2C9A-5D1B-4B7E-9C3A-8A1D2E3F4B5C',
      '0f4e2c9a5d1b4b7e9c3a8a1d2e3f4b5c',
      '0f4e2c9a-5d1b-1b7e-9c3a-8a1d2e3f4b5c',
      '411111 234567 1111',
      '41111123456é1111',
      '411111234567\u00001111',
      '411111234567-1111',
      '4111112345671111\n',
    ])
      assert.equal(toSlot(text), undefined, text);
  });

  it('of a UUID is outside the ranges of other tokens', () => {
    // The bytes of the slot 14 411111 1111 2345, with the bits of a UUID of version 4.
    const token = '31343431-3131-4131-b131-313132333435';
    const slot = slotOf(token);
    assert.equal(fromSlot(slot), token);
    for (const [from, to] of [rangeOfSpace('41111123451111', 6), ...rangesOfBin('411111')])
      assert.ok(Buffer.compare(slot, from) < 0 || Buffer.compare(slot, to) >= 0);
  });

  it('sorts as tokens of one length, first six and last four do by their middles', () => {
    const middles = fc.string({ unit: fc.constantFrom(...characters), minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(middles, middles, (one, other) => {
        const [left, right] = [one, other].map((middle) => slotOf(`411111${middle}1111`));
        assert.ok(left !== undefined && right !== undefined);
        assert.equal(Buffer.compare(left, right), Buffer.compare(Buffer.from(one), Buffer.from(other)));
      }),
    );
  });
});

describe('the slots of one length, first characters and last four', () => {
  /** Few heads and tails, so that most tokens have neighbors. */
  const crowded = fc
    .tuple(
      fc.constantFrom('411111', '411112', '555555'),
      fc.string({ unit: fc.constantFrom('0', '1', '9', 'A', 'z'), minLength: 2, maxLength: 4 }),
      fc.constantFrom('1111', '1112', '0000'),
    )
    .map((parts) => parts.join(''));
  const kind = (token: string, head = 6): string => `${token.length}${token.slice(0, head)}${token.slice(-4)}`;

  it('are adjacent', () => {
    fc.assert(
      fc.property(fc.uniqueArray(crowded, { maxLength: 60 }), (all) => {
        const kinds = all
          .map(slotOf)
          .sort(Buffer.compare)
          .map((slot) => kind(fromSlot(slot)));
        const blocks = kinds.filter((name, index) => name !== kinds[index - 1]);
        assert.equal(blocks.length, new Set(kinds).size);
      }),
    );
  });

  it('are those between the two ends', () => {
    fc.assert(
      fc.property(crowded, crowded, fc.constantFrom(6, 8), (number, token, head) => {
        const [from, to] = rangeOfSpace(number, head);
        const slot = slotOf(token);
        const isBetween = Buffer.compare(from, slot) <= 0 && Buffer.compare(slot, to) < 0;
        assert.equal(isBetween, kind(number, head) === kind(token, head));
      }),
      { numRuns: 500 },
    );
  });

  it('of a BIN are in the range of their length', () => {
    fc.assert(
      fc.property(crowded, fc.constantFrom('411111', '411112', '555555'), (token, bin) => {
        const slot = slotOf(token);
        const lengths = rangesOfBin(bin).flatMap(([from, to], index) =>
          Buffer.compare(from, slot) < 0 && Buffer.compare(slot, to) < 0 ? [12 + index] : [],
        );
        assert.deepEqual(lengths, token.startsWith(bin) ? [token.length] : []);
      }),
    );
  });
});
