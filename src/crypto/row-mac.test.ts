import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { DigestKeys } from './digest-keys.ts';
import { computeRowMac, isRowMacValid } from './row-mac.ts';

const key = DigestKeys.of(createSecretKey(Buffer.alloc(32, 1)));
const other = DigestKeys.of(createSecretKey(Buffer.alloc(32, 2)));

describe('the MAC of a row', () => {
  const columns = ['acct_1', 7, null, new Uint8Array([1, 2])];
  const mac = computeRowMac(key, 'accounts', columns);

  it('is valid for the row it was computed for', () => {
    assert.equal(mac.length, 33);
    assert.equal(isRowMacValid(key, 'accounts', columns, mac), true);
  });

  it('is invalid under another key, for another table and for any other column', () => {
    assert.equal(isRowMacValid(other, 'accounts', columns, mac), false);
    assert.equal(isRowMacValid(key, 'api_keys', columns, mac), false);
    for (const changed of [
      ['acct_2', 7, null, new Uint8Array([1, 2])],
      ['acct_1', 8, null, new Uint8Array([1, 2])],
      ['acct_1', '7', null, new Uint8Array([1, 2])],
      ['acct_1', 7, 0, new Uint8Array([1, 2])],
      ['acct_1', 7, 'null', new Uint8Array([1, 2])],
      ['acct_1', 7, null, new Uint8Array([1, 3])],
      ['acct_1', 7, null, '0102'],
      ['acct_1', 7, null],
      [7, 'acct_1', null, new Uint8Array([1, 2])],
    ])
      assert.equal(isRowMacValid(key, 'accounts', changed, mac), false, JSON.stringify(changed));
  });

  it('is invalid when it is missing, too short or not of bytes', () => {
    for (const wrong of [null, undefined, '', 0, new Uint8Array(), mac.subarray(1), Buffer.from(mac).toString('hex')])
      assert.equal(isRowMacValid(key, 'accounts', columns, wrong), false);
  });
});
