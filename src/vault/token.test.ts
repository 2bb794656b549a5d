import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../kernel/limits.ts';
import type { Pan } from '../kernel/pan.ts';
import { type Card, fromTokenRecord, mergeTags, mergeToken, type Token, toTokenRecord } from './token.ts';

const text = fc.string({ unit: 'binary' });
const names = fc.option(text, { nil: undefined });
const expiries = fc.option(fc.constantFrom({ month: '01', year: '29' }, { month: '12', year: '00' }), {
  nil: undefined,
});
const cards = fc.record({
  pan: fc.stringMatching(/^[0-9]{12,19}$/) as fc.Arbitrary<Pan>,
  name: names,
  expiry: expiries,
}) as fc.Arbitrary<Card>;
const tokens = fc.record({
  token: text,
  scheme: fc.constantFrom(1 as const, 3 as const, 7 as const, 8 as const),
  card: cards,
  tags: fc.array(text, { maxLength: 5 }),
  createdBy: fc.record({ id: text, name: text }, { noNullPrototype: true }),
  createdAt: fc.nat(),
}) as fc.Arbitrary<Token>;

const plain = (value: unknown): unknown => structuredClone(value);

describe('a token record', () => {
  it('is decoded to the token, together with its columns', () => {
    fc.assert(
      fc.property(tokens, (stored) => {
        const { token, scheme, createdAt } = stored;
        assert.deepEqual(plain(fromTokenRecord(toTokenRecord(stored), { token, scheme, createdAt })), plain(stored));
      }),
    );
  });

  it('contains the card and neither the token nor its time', () => {
    const card: Card = { pan: '4111111111111111' as Pan, name: undefined, expiry: { month: '12', year: '29' } };
    const createdBy = { id: 'key_1', name: 'till' };
    const token: Token = { token: '4111117349251111', scheme: 1, card, tags: ['web'], createdBy, createdAt: 77 };
    assert.deepEqual(JSON.parse(toTokenRecord(token)), {
      pan: '4111111111111111',
      month: '12',
      year: '29',
      tags: ['web'],
      by: createdBy,
    });
  });
});

describe('a card sent again', () => {
  it('updates name and expiry where it has them, and nothing else', () => {
    fc.assert(
      fc.property(tokens, cards, fc.array(text, { maxLength: 5 }), (old, card, tags) => {
        const merged = mergeToken(old, card, tags);
        assert.equal(merged.card.name, card.name === undefined ? old.card.name : card.name);
        assert.equal(merged.card.expiry, card.expiry === undefined ? old.card.expiry : card.expiry);
        assert.equal(merged.card.pan, old.card.pan);
        assert.equal(merged.token, old.token);
        assert.equal(merged.scheme, old.scheme);
        assert.equal(merged.createdBy, old.createdBy);
        assert.equal(merged.createdAt, old.createdAt);
        assert.deepEqual(merged.tags, mergeTags(old.tags, tags));
      }),
    );
  });
});

describe('merged tags', () => {
  it('are the old ones, followed by the new ones', () => {
    assert.deepEqual(mergeTags(['a', 'b'], ['c', 'a', 'd']), ['a', 'b', 'c', 'd']);
    assert.deepEqual(mergeTags([], ['a', 'a']), ['a']);
    assert.deepEqual(mergeTags(['a'], []), ['a']);
  });

  it('are unchanged when nothing is new', () => {
    const old = ['a', 'a', 'b'];
    assert.equal(mergeTags(old, ['b', 'a']), old);
  });

  it(`are the first ${LIMITS.tags}`, () => {
    const old = Array.from({ length: 48 }, (_, index) => `old ${index}`);
    const merged = mergeTags(old, ['x', 'old 3', 'y', 'z']);
    assert.deepEqual(merged, [...old, 'x', 'y']);
    assert.equal(merged.length, 50);
    assert.deepEqual(mergeTags(merged, ['w']), merged);
  });

  it('are unchanged when the same tags are sent again', () => {
    const tags = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,2}$/), { maxLength: 50 });
    fc.assert(
      fc.property(tags, tags, (old, added) => {
        const once = mergeTags(old, added);
        assert.deepEqual(once.slice(0, old.length), old);
        assert.deepEqual(mergeTags(once, added), once);
        if (old.length + added.length <= 50) assert.ok(added.every((tag) => once.includes(tag)));
      }),
    );
  });
});
