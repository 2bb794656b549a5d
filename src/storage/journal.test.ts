import assert from 'node:assert/strict';
import { createHash, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { emptyHead, type Head, hashOf, headIsSealed, linkAfter, sealHead } from './journal.ts';

const entry = { account: 'acct_1', environment: 'sandbox', at: 1_700_000_000_000, record: '{"action":"x"}' };
const key = createSecretKey(Buffer.alloc(32, 7));

describe('a link of the journal', () => {
  test('is the SHA-256 of five lines and the record, as sha256sum makes it', () => {
    const zeros = '0'.repeat(64);
    const text = `${zeros}\n1\n1\nacct_1\nsandbox\n1700000000000\n{"action":"x"}`;
    assert.equal(hashOf(zeros, 1, 1, entry), createHash('sha256').update(text).digest('hex'));
    // A value of its own, so that a change of the form is seen: exported journals must stay verifiable.
    assert.equal(hashOf(zeros, 1, 1, entry), '0debded3d096b01d6e3de34bcec298b16188e206a448b1e1488c0b42ee0192bd');
  });

  test('follows the one before it', () => {
    const first = linkAfter(emptyHead(3), entry);
    assert.deepEqual(first, { ...entry, lane: 3, sequence: 1, hash: hashOf('0'.repeat(64), 3, 1, entry) });
    const second = linkAfter(first, { ...entry, record: '{}' });
    assert.equal(second.sequence, 2);
    assert.equal(second.hash, hashOf(first.hash, 3, 2, { ...entry, record: '{}' }));
  });

  test('is another for any other part', () => {
    const previous = 'a'.repeat(64);
    const hashes = [
      hashOf(previous, 1, 1, entry),
      hashOf('b'.repeat(64), 1, 1, entry),
      hashOf(previous, 2, 1, entry),
      hashOf(previous, 1, 2, entry),
      hashOf(previous, 1, 1, { ...entry, account: 'acct_2' }),
      hashOf(previous, 1, 1, { ...entry, account: '' }),
      hashOf(previous, 1, 1, { ...entry, environment: 'production' }),
      hashOf(previous, 1, 1, { ...entry, at: entry.at + 1 }),
      hashOf(previous, 1, 1, { ...entry, record: '{"action": "x"}' }),
      // What ends one part cannot begin the next.
      hashOf(previous, 1, 12, entry),
      hashOf(previous, 11, 2, entry),
      hashOf(previous, 1, 1, { ...entry, account: 'acct_1sandbox', environment: '' }),
    ];
    assert.equal(new Set(hashes).size, hashes.length);
  });
});

describe('the seal of a head', () => {
  const head: Head = { lane: 1, sequence: 5, hash: 'c'.repeat(64) };

  test('is HMAC-SHA-256 over lane, sequence and hash', () => {
    const expected = createHmac('sha256', Buffer.alloc(32, 7))
      .update(`1\n5\n${'c'.repeat(64)}`)
      .digest();
    assert.deepEqual(Buffer.from(sealHead(key, head)), expected);
    assert.equal(headIsSealed(key, head, sealHead(key, head)), true);
  });

  test('fits no other head', () => {
    const seal = sealHead(key, head);
    const others: Head[] = [
      { ...head, lane: 2 },
      { ...head, sequence: 4 },
      { ...head, sequence: 6 },
      { ...head, hash: 'd'.repeat(64) },
    ];
    for (const other of others) assert.equal(headIsSealed(key, other, seal), false);
  });

  test('is made by the holder of the key alone', () => {
    assert.equal(headIsSealed(createSecretKey(randomBytes(32)), head, sealHead(key, head)), false);
    const changed = sealHead(key, head);
    changed[0] = (changed[0] ?? 0) ^ 1;
    assert.equal(headIsSealed(key, head, changed), false);
  });

  test('of another length is refused without a throw', () => {
    for (const seal of [new Uint8Array(), sealHead(key, head).slice(0, 31), new Uint8Array(33)]) {
      assert.equal(headIsSealed(key, head, seal), false);
    }
  });
});
