import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Random } from './clock.ts';
import { isUuid, MonotonicIds, minIdAt, newId, newUuid, parseIdTime } from './ids.ts';

/** Returns a Random that returns these numbers in turn. */
function dealing(numbers: readonly number[]): Random {
  let at = 0;
  const next = (): number => numbers[at++ % numbers.length] ?? 0;
  return {
    bytes: (size) => Uint8Array.from({ length: size }, () => next() & 0xff),
    below: (bound) => next() % bound,
  };
}

const numbers = fc.array(fc.nat(2 ** 31 - 1), { minLength: 16, maxLength: 64 });

describe('newUuid', () => {
  it('is a UUID version 4 with the bytes that it was given', () => {
    const bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88];
    assert.equal(newUuid(dealing(bytes)), '01234567-89ab-4def-bfee-ddccbbaa9988');
    assert.equal(newUuid(dealing([0])), '00000000-0000-4000-8000-000000000000');
    assert.equal(newUuid(dealing([255])), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
  });

  it('fixes version and variant and keeps the 122 other bits', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const id = newUuid(dealing([...bytes]));
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        const read = Uint8Array.from(id.replaceAll('-', '').match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
        const free = (from: Uint8Array): number[] =>
          [...from].map((byte, index) => byte & (index === 6 ? 0x0f : index === 8 ? 0x3f : 0xff));
        assert.deepEqual(free(read), free(bytes));
      }),
    );
  });
});

describe('isUuid', () => {
  it('is true for what this service creates', () => {
    fc.assert(fc.property(numbers, (dealt) => assert.ok(isUuid(newUuid(dealing(dealt))))));
  });

  it('is true for no other version, variant, case or format', () => {
    const good = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';
    assert.equal(isUuid(good), true);
    for (const text of [
      good.toUpperCase(),
      good.replace('-4b7e', '-1b7e'),
      good.replace('-9c3a', '-7c3a'),
      good.replace('-9c3a', '-cc3a'),
      good.replaceAll('-', ''),
      `{${good}}`,
      `${good}\n`,
      ` ${good}`,
      good.slice(1),
      good.replace('0f', '0g'),
      '',
    ]) {
      assert.equal(isUuid(text), false, JSON.stringify(text));
    }
  });
});

describe('newId', () => {
  it('is the prefix and a number of letters that are clear when read aloud', () => {
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 40 }), (dealt, length) => {
        const id = newId('key', length, dealing(dealt));
        assert.match(id, /^key_[0-9a-km-np-z]+$/);
        assert.equal(id.length, 4 + length);
      }),
    );
  });

  it('can contain each letter when its number is drawn', () => {
    const drawn = newId('x', 34, dealing(Array.from({ length: 34 }, (_, index) => index))).slice(2);
    assert.equal(drawn, '0123456789abcdefghijkmnpqrstuvwxyz');
  });
});

describe('ascending ids', () => {
  const NOW = Date.UTC(2026, 10, 21);
  /** Returns ids for these times, with the highest random part, then with the lowest. */
  function idsAt(times: readonly number[]): string[] {
    let at = 0;
    const ids = new MonotonicIds(() => times[at++] ?? 0, dealing([25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25, 0]));
    return times.map(() => ids.next());
  }

  const ascends = (ids: readonly string[]): void => {
    for (const [index, id] of ids.entries()) {
      const before = ids[index - 1] ?? '';
      assert.ok(id > before, `${before} before ${id}`);
    }
  };

  it('are 25 lower-case letters: ten of the time, three of a count, twelve random', () => {
    const [first = '', second = '', later = ''] = idsAt([NOW, NOW, NOW + 1]);
    for (const id of [first, second, later]) assert.match(id, /^[a-z]{25}$/);
    assert.equal(first.slice(0, 10), second.slice(0, 10));
    assert.equal(first.slice(10, 13), 'aaa');
    assert.equal(second.slice(10, 13), 'aab');
    assert.equal(first.slice(13), 'z'.repeat(12));
    assert.equal(second.slice(13), `a${'z'.repeat(11)}`);
    assert.equal(later.slice(10, 13), 'aaa');
    const worth = (letters: string): number =>
      [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 97, 0);
    assert.equal(worth(first.slice(0, 10)), NOW);
    assert.equal(worth(later.slice(0, 10)), NOW + 1);
  });

  it('contain the time of their creation, and sort after all ids of earlier times', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 46 }), fc.integer({ min: 1, max: 2 ** 46 }), (createdAt, time) => {
        const [id = ''] = idsAt([createdAt]);
        assert.equal(parseIdTime(id), createdAt);
        assert.equal(id >= minIdAt(time), createdAt >= time);
      }),
    );
    assert.ok(minIdAt(Number.MAX_SAFE_INTEGER) > (idsAt([2 ** 46])[0] ?? ''));
  });

  it('ascend strictly, also while the clock stops or goes backwards', () => {
    ascends(idsAt([NOW, NOW, NOW, NOW - 1000, NOW - 5, NOW, NOW + 1, NOW + 1, 0, NOW + 2]));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: NOW - 3, max: NOW + 3 }), { maxLength: 40 }), (times) =>
        ascends(idsAt(times)),
      ),
    );
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 44 }), { maxLength: 40 }), (times) => ascends(idsAt(times))),
    );
  });

  it('use the next millisecond when one has more ids than the counter allows', () => {
    const many = 26 ** 3;
    const ids = idsAt([...Array.from({ length: 2 * many + 2 }, () => NOW), NOW + 1, NOW + 2, NOW + 3]);
    ascends(ids);
    const [atNow, borrowed] = [ids[0], ids[many]].map((id) => id?.slice(0, 10));
    assert.ok(ids.slice(0, many).every((id) => id.startsWith(atNow ?? '-')));
    assert.equal(ids[many - 1]?.slice(10, 13), 'zzz');
    assert.notEqual(borrowed, atNow);
    assert.equal(ids[many]?.slice(10, 13), 'aaa');
    // The ids that are borrowed twice reach the time of NOW + 2; NOW + 3 has times of its own again.
    assert.deepEqual(
      ids.slice(-4).map((id) => id.slice(10, 13)),
      ['aab', 'aac', 'aad', 'aaa'],
    );
    assert.equal(new Set(ids).size, ids.length);
  });
});
