import assert from 'node:assert/strict';
import { createDecipheriv } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CBC_IV_BYTES, encryptCbc, encryptGcm, GCM_IV_BYTES } from './aes.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');

describe('AES-GCM', () => {
  interface Case {
    readonly case: number;
    readonly key: string;
    readonly nonce: string;
    readonly plaintext: string;
    readonly additional: string;
    readonly ciphertext: string;
    readonly tag: string;
  }
  const PLAINTEXT = `
    d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255`;
  const key = 'feffe9928665731c6d6a8f9467308308';
  const nonce = 'cafebabefacedbaddecaf888';
  const CIPHERTEXT = `
    42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
    21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985`;
  const zero = { key: '00'.repeat(16), nonce: '00'.repeat(12), additional: '' };
  /** McGrew and Viega, The Galois/Counter Mode of Operation, appendix B; the cases with 256 bits are in a file. */
  const cases: readonly Case[] = [
    { ...zero, case: 1, plaintext: '', ciphertext: '', tag: '58e2fccefa7e3061367f1d57a4e7455a' },
    {
      ...zero,
      case: 2,
      plaintext: '00'.repeat(16),
      ciphertext: '0388dace60b6a392f328c2b971b2fe78',
      tag: 'ab6e47d42cec13bdf53a67b21257bddf',
    },
    {
      case: 3,
      key,
      nonce,
      plaintext: PLAINTEXT,
      additional: '',
      ciphertext: CIPHERTEXT,
      tag: '4d5c2af327cd64a62cf35abd2ba6fab4',
    },
    {
      case: 4,
      key,
      nonce,
      plaintext: PLAINTEXT.slice(0, -8),
      additional: 'feedfacedeadbeeffeedfacedeadbeefabaddad2',
      ciphertext: CIPHERTEXT.slice(0, -8),
      tag: '5bc94fbc3221a5db94fae95ae7121a47',
    },
    ...JSON.parse(readFileSync(new URL('../../test/vectors/aes-256-gcm.json', import.meta.url), 'utf8')).cases,
  ];

  it('passes the test vectors of its authors, with keys of 128 and 256 bits', () => {
    assert.deepEqual(
      cases.map((each) => each.case),
      [1, 2, 3, 4, 13, 14, 15, 16],
    );
    for (const { key, nonce, plaintext, additional, ciphertext, tag, ...rest } of cases) {
      assert.equal(hex(nonce).length, GCM_IV_BYTES);
      const expected = { ciphertext: hex(ciphertext), tag: hex(tag) };
      assert.deepEqual(
        encryptGcm(hex(key), hex(nonce), hex(plaintext), hex(additional)),
        expected,
        `case ${rest.case}`,
      );
      if (additional === '') assert.deepEqual(encryptGcm(hex(key), hex(nonce), hex(plaintext)), expected);
    }
  });
});

describe('AES-CBC', () => {
  /** NIST SP 800-38A, F.2.1 and F.2.5. */
  const plaintext = hex(`
    6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710`);
  const iv = hex('000102030405060708090a0b0c0d0e0f');
  const vectors = {
    '2b7e151628aed2a6abf7158809cf4f3c': `
      7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
      73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7`,
    '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4': `
      f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
      39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b`,
  };
  for (const [key, blocks] of Object.entries(vectors)) {
    it(`passes the NIST test vectors with a key of ${key.length * 4} bits, and one block of padding`, () => {
      const ciphertext = encryptCbc(hex(key), iv, plaintext);
      assert.deepEqual(ciphertext.subarray(0, -16), hex(blocks));
      assert.equal(ciphertext.length, 80);
    });
  }

  it('pads to full blocks as PKCS #7 specifies', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(16, 32), (text, keyBytes) => {
        const key = Buffer.alloc(keyBytes, 7);
        const ciphertext = encryptCbc(key, iv, text);
        assert.equal(iv.length, CBC_IV_BYTES);
        const decipher = createDecipheriv(`aes-${keyBytes * 8}-cbc`, key, iv).setAutoPadding(false);
        const padded = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
        const padding = 16 - (text.length % 16);
        assert.deepEqual(padded, Buffer.concat([text, Buffer.alloc(padding, padding)]));
      }),
    );
  });
});

it('AES accepts keys and vectors of no other size', () => {
  for (const size of [0, 15, 17, 24, 31, 33, 64]) {
    assert.throws(() => encryptGcm(Buffer.alloc(size), Buffer.alloc(GCM_IV_BYTES), Buffer.alloc(1)), RangeError);
    assert.throws(() => encryptCbc(Buffer.alloc(size), Buffer.alloc(CBC_IV_BYTES), Buffer.alloc(1)), RangeError);
  }
  for (const size of [0, 8, 15, 17]) {
    assert.throws(() => encryptCbc(Buffer.alloc(16), Buffer.alloc(size), Buffer.alloc(1)), /initialization vector/i);
  }
});
