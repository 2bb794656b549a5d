import assert from 'node:assert/strict';
import { createCipheriv, createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type EncryptionContext,
  encryptionContext,
  extendContext,
  KEY_ID_BYTES,
  NONCE_BYTES,
  parseKeyId,
  seal,
  UnsealError,
  unseal,
} from './seal.ts';

/**
 * The published vectors fix the additional data, which our header fixes too, so that no sealed value can be one of
 * them. The test takes two steps: a tag computed here from the text of the standard agrees with the vectors; and a
 * sealed value has the vectors' ciphertext, with the tag that this computation gives for our header.
 */
interface Case {
  readonly case: number;
  readonly key: string;
  readonly nonce: string;
  readonly plaintext: string;
  readonly additional: string;
  readonly ciphertext: string;
  readonly tag: string;
}
const { cases } = JSON.parse(readFileSync(new URL('../../test/vectors/aes-256-gcm.json', import.meta.url), 'utf8')) as {
  cases: readonly Case[];
};

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const number = (bytes: Uint8Array): bigint => BigInt(`0x${toHex(bytes)}`);

const aesBlock = (key: Uint8Array, block: Uint8Array): Buffer => {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]);
};

/** Multiplication of NIST SP 800-38D 6.3. */
function multiply(x: bigint, y: bigint): bigint {
  let product = 0n;
  let factor = y;
  for (let bit = 127n; bit >= 0n; bit--) {
    if ((x >> bit) & 1n) product ^= factor;
    factor = factor & 1n ? (factor >> 1n) ^ (0xe1n << 120n) : factor >> 1n;
  }
  return product;
}

/** Computes the tag of NIST SP 800-38D 7.1 for a nonce of 96 bits. */
function standardTag(key: Uint8Array, nonce: Uint8Array, additional: Uint8Array, ciphertext: Uint8Array): string {
  const padded = (bytes: Uint8Array): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 15)]);
  const lengths = Buffer.alloc(16);
  lengths.writeBigUInt64BE(BigInt(additional.length) * 8n, 0);
  lengths.writeBigUInt64BE(BigInt(ciphertext.length) * 8n, 8);
  const data = Buffer.concat([padded(additional), padded(ciphertext), lengths]);
  const subkey = number(aesBlock(key, Buffer.alloc(16)));
  let hash = 0n;
  for (let at = 0; at < data.length; at += 16) hash = multiply(hash ^ number(data.subarray(at, at + 16)), subkey);
  const mask = number(aesBlock(key, Buffer.concat([nonce, Uint8Array.of(0, 0, 0, 1)])));
  return (hash ^ mask).toString(16).padStart(32, '0');
}

const HEADER = 1 + KEY_ID_BYTES + NONCE_BYTES;
const TAG = 16;
const ID = hex('0102030405060708');
const CONTEXT = encryptionContext('sandbox', 'acc_1', 'tokens', 'x', 'record');
const keyOf = (bytes: Uint8Array) => createSecretKey(bytes);
const key = keyOf(Buffer.alloc(32, 7));
const NONCE = Buffer.alloc(NONCE_BYTES, 9);

const bytes = (size: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: size, maxLength: size });

describe('AES-256-GCM', () => {
  it('the tag that the test computes by the standard equals that of the vectors', () => {
    assert.equal(cases.length, 4);
    for (const { key, nonce, additional, ciphertext, tag } of cases) {
      assert.equal(standardTag(hex(key), hex(nonce), hex(additional), hex(ciphertext)), tag);
    }
  });

  it('a sealed value contains the ciphertext of the vectors', () => {
    for (const { key, nonce, plaintext, ciphertext } of cases) {
      const sealed = seal({ id: ID, key: keyOf(hex(key)) }, hex(nonce), CONTEXT, hex(plaintext));
      assert.equal(toHex(sealed.subarray(HEADER, -TAG)), ciphertext);
      assert.equal(toHex(unseal(keyOf(hex(key)), CONTEXT, sealed)), plaintext);
    }
  });

  it('a sealed value is version, key id, nonce, ciphertext and the standard tag over version, key id and context', () => {
    const arguments_ = [bytes(32), bytes(8), bytes(12), fc.string({ unit: 'grapheme' }), fc.uint8Array()] as const;
    fc.assert(
      fc.property(...arguments_, (material, id, nonce, context, plaintext) => {
        const sealed = seal({ id, key: keyOf(material) }, nonce, context as EncryptionContext, plaintext);
        assert.equal(sealed.length, HEADER + plaintext.length + TAG);
        assert.equal(toHex(sealed.subarray(0, HEADER)), `01${toHex(id)}${toHex(nonce)}`);
        assert.equal(parseKeyId(sealed), toHex(id));
        const additional = Buffer.concat([Uint8Array.of(1), id, Buffer.from(context, 'utf8')]);
        const tag = standardTag(material, nonce, additional, sealed.subarray(HEADER, -TAG));
        assert.equal(toHex(sealed.subarray(-TAG)), tag);
      }),
      { numRuns: 50 },
    );
  });

  it('a value that was assembled byte by byte is unsealed', () => {
    const [, , , vector] = cases;
    assert.ok(vector);
    const additional = Buffer.concat([Uint8Array.of(1), ID, Buffer.from(CONTEXT)]);
    const tag = standardTag(hex(vector.key), hex(vector.nonce), additional, hex(vector.ciphertext));
    const value = hex(`01${toHex(ID)}${vector.nonce}${vector.ciphertext}${tag}`);
    assert.equal(toHex(unseal(keyOf(hex(vector.key)), CONTEXT, value)), vector.plaintext);
  });
});

describe('unseal', () => {
  it('returns what was sealed, texts as UTF-8', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes(12), (plaintext, nonce) => {
        assert.deepEqual(
          new Uint8Array(unseal(key, CONTEXT, seal({ id: ID, key }, nonce, CONTEXT, plaintext))),
          plaintext,
        );
      }),
    );
    assert.equal(unseal(key, CONTEXT, seal({ id: ID, key }, NONCE, CONTEXT, 'Peña 😀')).toString('utf8'), 'Peña 😀');
  });

  it('accepts a value inside a larger block of memory', () => {
    const sealed = seal({ id: ID, key }, NONCE, CONTEXT, 'inside');
    const block = new Uint8Array(sealed.length + 20).fill(0xaa);
    block.set(sealed, 7);
    const view = block.subarray(7, 7 + sealed.length);
    assert.equal(parseKeyId(view), toHex(ID));
    assert.equal(unseal(key, CONTEXT, view).toString(), 'inside');
  });

  /** An attacker must not be able to distinguish the faults. */
  function refused(read: () => unknown): void {
    assert.throws(read, (error: unknown) => {
      assert.ok(error instanceof UnsealError);
      assert.equal(error.message, 'a sealed value cannot be opened');
      assert.equal(error.name, 'UnsealError');
      assert.equal(error.cause, undefined);
      return true;
    });
  }

  it('rejects a value with any one bit changed', () => {
    const sealed = seal({ id: ID, key }, NONCE, CONTEXT, '4111111111111111');
    for (let at = 0; at < sealed.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = sealed.slice();
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        refused(() => unseal(key, CONTEXT, changed));
      }
    }
    assert.equal(unseal(key, CONTEXT, sealed).toString(), '4111111111111111');
  });

  it('rejects a value that was cut or lengthened at either end', () => {
    const sealed = seal({ id: ID, key }, NONCE, CONTEXT, '4111111111111111');
    for (let length = 0; length < sealed.length; length++) {
      refused(() => unseal(key, CONTEXT, sealed.subarray(0, length)));
      refused(() => unseal(key, CONTEXT, sealed.subarray(sealed.length - length)));
    }
    refused(() => unseal(key, CONTEXT, Buffer.concat([sealed, Buffer.alloc(1)])));
    refused(() => unseal(key, CONTEXT, Buffer.concat([Buffer.alloc(1), sealed])));
  });

  it('rejects another context and another key', () => {
    const sealed = seal({ id: ID, key }, NONCE, CONTEXT, 'x');
    const others = [
      encryptionContext('production', 'acc_1', 'tokens', 'x', 'record'),
      encryptionContext('sandbox', 'acc_2', 'tokens', 'x', 'record'),
      encryptionContext('sandbox', 'acc_1', 'captures', 'x', 'record'),
      encryptionContext('sandbox', 'acc_1', 'tokens', 'y', 'record'),
      encryptionContext('sandbox', 'acc_1', 'tokens', 'x', 'name'),
      encryptionContext('sandbox', 'acc_1', 'tokens', 'x', 'record', ''),
      encryptionContext(''),
    ];
    for (const context of others) refused(() => unseal(key, context, sealed));
    refused(() => unseal(keyOf(Buffer.alloc(32, 8)), CONTEXT, sealed));
  });

  it('rejects any bytes that were not sealed', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (value) => refused(() => unseal(key, CONTEXT, value))));
  });
});

describe('keyIdOf', () => {
  it('rejects a value that is too short or of another version', () => {
    const sealed = seal({ id: ID, key }, NONCE, CONTEXT, '');
    assert.equal(parseKeyId(sealed), '0102030405060708');
    assert.throws(() => parseKeyId(sealed.subarray(0, -1)), UnsealError);
    assert.throws(() => parseKeyId(new Uint8Array()), UnsealError);
    for (const version of [0, 2, 255]) {
      const other = sealed.slice();
      other[0] = version;
      assert.throws(() => parseKeyId(other), UnsealError);
    }
  });
});

describe('encryptionContext', () => {
  it('is never equal for different parts', () => {
    const parts = fc.array(fc.constantFrom('', 'a', 'b', 'ab', '/', 'a/b', '\u001e'), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        assert.equal(
          encryptionContext(...one) === encryptionContext(...other),
          JSON.stringify(one) === JSON.stringify(other),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is the same when it is extended', () => {
    assert.equal(extendContext(encryptionContext('a', 'b'), 'c', ''), encryptionContext('a', 'b', 'c', ''));
  });

  it('rejects a part that contains the separator', () => {
    assert.throws(() => encryptionContext('a', 'b\u001fc'), /separator/);
    assert.throws(() => extendContext(encryptionContext('a'), 'b', '\u001fc'), /separator/);
  });
});
