import assert from 'node:assert/strict';
import { createHash, createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DigestKeys } from '../crypto/digest-keys.ts';
import type { JournalEntry } from './database.ts';
import {
  appendRecord,
  type ChainedRecord,
  emptyHead,
  extendChains,
  type Head,
  hashRecord,
  isAnnouncement,
  isHeadSealValid,
  type KnownHead,
  parseAnnouncement,
  type SealedHead,
  sealHead,
  toKnownHead,
} from './journal.ts';

const entry = { account: 'acct_1', environment: 'sandbox', at: 1_700_000_000_000, record: '{"action":"x"}' };
const key = DigestKeys.of(createSecretKey(Buffer.alloc(32, 7)));

describe('a record of the journal', () => {
  test('has the SHA-256 of six lines and the record, as sha256sum computes it', () => {
    const zeros = '0'.repeat(64);
    const text = `${zeros}\n1\n1\nacct_1\nsandbox\n1700000000000\n{"action":"x"}`;
    assert.equal(hashRecord(zeros, 1, 1, entry), createHash('sha256').update(text).digest('hex'));
    // A fixed value, so that a change of the format is detected: exported journals must remain verifiable.
    assert.equal(hashRecord(zeros, 1, 1, entry), '0debded3d096b01d6e3de34bcec298b16188e206a448b1e1488c0b42ee0192bd');
  });

  test('follows the one before it', () => {
    const first = appendRecord(emptyHead('acct_1', 3), entry);
    assert.deepEqual(first, { ...entry, lane: 3, sequence: 1, hash: hashRecord('0'.repeat(64), 3, 1, entry) });
    const second = appendRecord(first, { ...entry, record: '{}' });
    assert.equal(second.sequence, 2);
    assert.equal(second.hash, hashRecord(first.hash, 3, 2, { ...entry, record: '{}' }));
  });

  test('has another hash for any other part', () => {
    const previous = 'a'.repeat(64);
    const hashes = [
      hashRecord(previous, 1, 1, entry),
      hashRecord('b'.repeat(64), 1, 1, entry),
      hashRecord(previous, 2, 1, entry),
      hashRecord(previous, 1, 2, entry),
      hashRecord(previous, 1, 1, { ...entry, account: 'acct_2' }),
      hashRecord(previous, 1, 1, { ...entry, account: '' }),
      hashRecord(previous, 1, 1, { ...entry, environment: 'production' }),
      hashRecord(previous, 1, 1, { ...entry, at: entry.at + 1 }),
      hashRecord(previous, 1, 1, { ...entry, record: '{"action": "x"}' }),
      // A part cannot contain the separator, so the end of one part cannot become the start of the next.
      hashRecord(previous, 1, 12, entry),
      hashRecord(previous, 11, 2, entry),
      hashRecord(previous, 1, 1, { ...entry, account: 'acct_1sandbox', environment: '' }),
    ];
    assert.equal(new Set(hashes).size, hashes.length);
  });
});

describe('the seal of a head', () => {
  const head: Head = { account: 'acct_1', lane: 2, sequence: 5, hash: 'c'.repeat(64) };
  const hmac = (text: string): Buffer => createHmac('sha256', Buffer.alloc(32, 7)).update(text).digest();

  test('is the version of the key, and HMAC-SHA-256 over account, lane, sequence and hash', () => {
    assert.deepEqual(Buffer.from(sealHead(key, head)).subarray(1), hmac(`acct_1\n2\n5\n${head.hash}`));
    assert.deepEqual(Buffer.from(sealHead(key, { ...head, account: '' })).subarray(1), hmac(`\n2\n5\n${head.hash}`));
    assert.equal(sealHead(key, head)[0], 1);
    assert.equal(isHeadSealValid(key, head, sealHead(key, head)), true);
  });

  test('is valid for no other head', () => {
    const seal = sealHead(key, head);
    const others: Head[] = [
      { ...head, account: 'acct_2' },
      { ...head, account: '' },
      { ...head, lane: 1 },
      { ...head, lane: 3 },
      { ...head, sequence: 4 },
      { ...head, sequence: 6 },
      { ...head, hash: 'd'.repeat(64) },
    ];
    for (const other of others) assert.equal(isHeadSealValid(key, other, seal), false);
  });

  test('can be computed only with the key', () => {
    assert.equal(isHeadSealValid(DigestKeys.of(createSecretKey(randomBytes(32))), head, sealHead(key, head)), false);
    for (const at of [0, 1, 32]) {
      const changed = sealHead(key, head);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.equal(isHeadSealValid(key, head, changed), false);
    }
  });

  test('of another length is rejected without an error', () => {
    for (const seal of [new Uint8Array(), sealHead(key, head).slice(0, 31), new Uint8Array(33)]) {
      assert.equal(isHeadSealValid(key, head, seal), false);
    }
  });
});

describe('extending the chains of a lane', () => {
  const of = (account: string, record = '{}'): JournalEntry => ({ ...entry, account, record });
  const extended = (heads: readonly KnownHead[], ...entries: JournalEntry[]) =>
    extendChains(key, 2, new Map(heads.map((head) => [head.account, head])), entries);

  test('starts a chain with an announcement in the chain without account', () => {
    const opening = {
      account: '',
      environment: 'sandbox',
      at: entry.at,
      record: '{"action":"journal.opened","outcome":"success","actor":{"type":"service"},"targets":["chain:acct_1/2"]}',
    };
    const announcement = appendRecord(emptyHead('', 2), opening);
    const first = appendRecord(emptyHead('acct_1', 2), entry);
    const { records, heads } = extended([], entry);
    assert.deepEqual(records, [announcement, first]);
    assert.deepEqual(
      heads.map(({ account, sequence, hash, before }) => ({ account, sequence, hash, before })),
      [
        { account: '', sequence: 1, hash: announcement.hash, before: emptyHead('', 2) },
        { account: 'acct_1', sequence: 1, hash: first.hash, before: emptyHead('acct_1', 2) },
      ],
    );
  });

  test('announces each new chain once, except the chain without account', () => {
    const head = { account: 'acct_1', lane: 2, sequence: 7, hash: 'a'.repeat(64) };
    assert.deepEqual(extended([head], entry).records, [appendRecord(head, entry)]);
    assert.deepEqual(
      extended([head], entry).heads.map(({ before }) => before),
      [head],
    );
    assert.equal(extended([], of('x'), of('x'), of('x')).records.filter(isAnnouncement).length, 1);
    assert.deepEqual(extended([], of('')).records, [appendRecord(emptyHead('', 2), of(''))]);
    assert.deepEqual(extended([]), { records: [], heads: [], newLane: undefined });
  });

  test('seals a head that follows one with a valid seal, and keeps an invalid one', () => {
    const head = { account: 'acct_1', lane: 2, sequence: 7, hash: 'a'.repeat(64) };
    const valid = { ...head, seal: sealHead(key, head) };
    const [after] = extended([valid], entry).heads;
    assert.ok(after !== undefined && isHeadSealValid(key, after, after.seal));
    assert.equal(toKnownHead(after).seal, undefined);
    const other = DigestKeys.of(createSecretKey(randomBytes(32)));
    for (const seal of [sealHead(other, head), sealHead(key, { ...head, sequence: 6 }), new Uint8Array(0)]) {
      const [forged] = extended([{ ...head, seal }], entry).heads;
      assert.equal(forged?.seal, seal);
      // The next one of the same writer keeps it, too.
      const known = forged && toKnownHead(forged);
      assert.equal(known && extended([known], entry).heads[0]?.seal, seal);
    }
  });

  test('reports the first record of a lane, once', () => {
    const { records, newLane } = extendChains(key, 5, new Map(), [of('a'), of('')]);
    assert.deepEqual(newLane, { lane: 5, at: entry.at, first: records[0]?.hash });
    assert.ok(records[0] !== undefined && isAnnouncement(records[0]));
    const heads = new Map([['', { account: '', lane: 5, sequence: 1, hash: 'a'.repeat(64) }]]);
    assert.equal(extendChains(key, 5, heads, [of('')]).newLane, undefined);
  });

  test('an account cannot announce, whatever its record contains', () => {
    const [announcement] = extended([], entry).records;
    assert.ok(announcement !== undefined && isAnnouncement(announcement));
    assert.equal(isAnnouncement({ ...announcement, account: 'acct_1' }), false);
    assert.equal(isAnnouncement(of('', '{"action":"token.deleted"}')), false);
  });

  test('writes complete, sealed chains in the order of their entries, in groups of any size', () => {
    const account = fc.constantFrom('', 'a', 'b', 'a/b', '"', 'ü');
    const entries = fc.array(fc.record({ account, record: fc.constantFrom('{}', '{"n":1}'), at: fc.nat() }));
    let announced = 0;
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 6 }), (groups) => {
        const heads = new Map<string, SealedHead>();
        const all: ChainedRecord[] = [];
        for (const group of groups) {
          const events = group.map((each) => ({ ...each, environment: 'sandbox' }));
          const extended = extendChains(key, 9, heads, events);
          const records = extended.records.filter((link) => !isAnnouncement(link));
          assert.deepEqual(
            records.map(({ account, environment, at, record }) => ({ account, environment, at, record })),
            events.map(({ account, environment, at, record }) => ({ account, environment, at, record })),
          );
          for (const head of extended.heads) {
            assert.ok(isHeadSealValid(key, head, head.seal));
            const { account, lane, sequence, hash } = heads.get(head.account) ?? emptyHead(head.account, 9);
            assert.deepEqual(
              [head.before.account, head.before.lane, head.before.sequence, head.before.hash],
              [account, lane, sequence, hash],
            );
            heads.set(head.account, head);
          }
          all.push(...extended.records);
        }
        const chains = Map.groupBy(all, (link) => link.account);
        assert.deepEqual(new Set(chains.keys()), new Set(heads.keys()));
        for (const [name, links] of chains) {
          let last = emptyHead(name, 9);
          for (const link of links) {
            assert.deepEqual(link, appendRecord(last, link));
            last = { ...link, account: name };
          }
          assert.deepEqual([heads.get(name)?.sequence, heads.get(name)?.hash], [last.sequence, last.hash]);
          if (name === '') continue;
          const position = all.findIndex(
            (link) => isAnnouncement(link) && parseAnnouncement(link)[0]?.account === name,
          );
          assert.ok(position >= 0 && position < all.findIndex((link) => link.account === name));
          announced++;
        }
        const names = all.filter(isAnnouncement).flatMap(parseAnnouncement);
        assert.equal(names.length, new Set(names.map((chain) => chain.account)).size);
      }),
    );
    assert.ok(announced > 100, 'the property was not put to the test');
  });
});
