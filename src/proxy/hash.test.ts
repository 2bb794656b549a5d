import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { computeHash, HASH_TYPES } from './payload-proxy.ts';

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');

describe('hashOf', () => {
  it('is base64 of the digests that FIPS 180 lists for "abc"', () => {
    const digests = {
      SHA256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      SHA384: 'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
      SHA512:
        'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    };
    assert.deepEqual(HASH_TYPES, Object.keys(digests));
    for (const type of HASH_TYPES) assert.equal(computeHash(type, Buffer.from('abc')), base64(digests[type]));
  });

  it('accepts no bytes, and any bytes', () => {
    const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    assert.equal(computeHash('SHA256', new Uint8Array()), base64(empty));
    const million = 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0';
    assert.equal(computeHash('SHA256', Buffer.alloc(1_000_000, 'a')), base64(million));
    assert.notEqual(computeHash('SHA256', Uint8Array.of(0xff)), computeHash('SHA256', Uint8Array.of(0xfe)));
  });
});
