import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { blockFunction } from './aes.ts';

describe('a block function', () => {
  const key = createSecretKey(Buffer.from(Array.from({ length: 32 }, (_, index) => index)));
  const block = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

  it('is AES-256 (FIPS 197, appendix C.3)', () => {
    assert.equal(blockFunction(key)(block).toString('hex'), '8ea2b7ca516745bfeafc49904b496089');
  });

  it('returns equal results for equal blocks, independent of other blocks', () => {
    const value = blockFunction(key);
    const first = value(block).toString('hex');
    for (let round = 0; round < 1000; round++) assert.equal(value(Buffer.alloc(16, round % 256)).length, 16);
    assert.equal(value(block).toString('hex'), first);
  });
});
