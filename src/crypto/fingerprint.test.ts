import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fingerprint, isSameDigest, keyedDigest } from './fingerprint.ts';

interface Case {
  readonly case: number;
  readonly key: string;
  readonly data: string;
  readonly mac: string;
}
const { cases } = JSON.parse(
  readFileSync(new URL('../../test/vectors/hmac-sha-256.json', import.meta.url), 'utf8'),
) as { cases: readonly Case[] };

const key = createSecretKey(Buffer.alloc(32, 1));
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('RFC 4231', () => {
  it('equals the digests and fingerprints of this service', () => {
    assert.equal(cases.length, 7);
    for (const { key, data, mac, ...rest } of cases) {
      const secret = createSecretKey(key, 'hex');
      const digest = toHex(keyedDigest(secret, Buffer.from(data, 'hex')));
      assert.equal(digest.slice(0, mac.length), mac, `case ${rest.case}`);
      assert.equal(digest.length, 64);
      const text = Buffer.from(data, 'hex').toString('latin1');
      if (/^[\x20-\x7e]*$/.test(text)) assert.equal(toHex(fingerprint(secret, text)), mac.slice(0, 32));
    }
  });
});

describe('fingerprint', () => {
  it('is the first 128 bits of the digest of the text in UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const digest = keyedDigest(key, Buffer.from(text, 'utf8'));
        assert.deepEqual(fingerprint(key, text), digest.subarray(0, 16));
        assert.deepEqual(keyedDigest(key, text), digest);
      }),
    );
  });

  it('depends on the key', () => {
    const other = createSecretKey(Buffer.alloc(32, 2));
    assert.notDeepEqual(fingerprint(key, '4111111111111111'), fingerprint(other, '4111111111111111'));
  });
});

describe('isSameDigest', () => {
  it('is true for equal bytes, of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4, max: 2 }), fc.uint8Array({ maxLength: 4, max: 2 }), (one, other) => {
        assert.equal(isSameDigest(one, other), Buffer.compare(one, other) === 0);
        assert.equal(isSameDigest(one, one.slice()), true);
      }),
      { numRuns: 1000 },
    );
  });
});
