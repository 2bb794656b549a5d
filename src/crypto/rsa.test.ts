import assert from 'node:assert/strict';
import { constants, privateDecrypt, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { type EncryptionPadding, encryptRsa, plaintextLimit, type SignatureAlgorithm, signRsa } from './rsa.ts';

const { publicKey, privateKey } = newKeyPair();
const odd = newKeyPair(2052);
const DATA = Buffer.from('what is signed: 0.00 é');

describe('a signature', () => {
  const algorithms: readonly (readonly [SignatureAlgorithm, hash: string, saltBytes: number | undefined])[] = [
    ['RS256', 'sha256', undefined],
    ['RS384', 'sha384', undefined],
    ['RS512', 'sha512', undefined],
    ['PS256', 'sha256', 32],
    ['PS384', 'sha384', 48],
    ['PS512', 'sha512', 64],
  ];

  for (const [algorithm, hash, saltLength] of algorithms) {
    it(`by ${algorithm} verifies with its own digest, padding and salt, and no other`, async () => {
      const signature = await signRsa(algorithm, privateKey, DATA);
      const isGood = (digest: string, salt: number | undefined, data = DATA): boolean => {
        const key =
          salt === undefined
            ? { key: publicKey, padding: constants.RSA_PKCS1_PADDING }
            : { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: salt };
        return verify(digest, data, key, signature);
      };
      assert.equal(signature.length, 256);
      for (const [, otherHash, otherSalt] of algorithms) {
        assert.equal(isGood(otherHash, otherSalt), otherHash === hash && otherSalt === saltLength);
      }
      assert.equal(isGood(hash, saltLength, Buffer.from('other')), false);
    });
  }

  it('is always the same by RS256 and never by PS256', async () => {
    const twice = async (algorithm: SignatureAlgorithm): Promise<boolean> =>
      (await signRsa(algorithm, privateKey, DATA)).equals(await signRsa(algorithm, privateKey, DATA));
    assert.deepEqual([await twice('RS256'), await twice('PS256')], [true, false]);
  });

  it('cannot be made with a public key', async () => {
    await assert.rejects(async () => signRsa('RS256', publicKey, DATA));
  });
});

describe('stack traces', () => {
  it('are as long as before in errors of the caller, after success and after failure', async () => {
    const limit = Error.stackTraceLimit;
    await signRsa('PS256', privateKey, DATA);
    assert.equal(Error.stackTraceLimit, limit);
    encryptRsa('oaep-sha256', publicKey, DATA);
    assert.equal(Error.stackTraceLimit, limit);
    assert.throws(() => encryptRsa('oaep-sha256', publicKey, Buffer.alloc(1000)));
    assert.equal(Error.stackTraceLimit, limit);
  });
});

describe('encryption', () => {
  const PADDINGS: readonly EncryptionPadding[] = ['oaep-sha256', 'oaep-sha1', 'pkcs1'];
  const decrypt = (padding: EncryptionPadding, key: typeof privateKey, data: Buffer): Buffer =>
    padding === 'pkcs1'
      ? privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, data)
      : privateDecrypt({ key, oaepHash: padding === 'oaep-sha1' ? 'sha1' : 'sha256' }, data);

  it('is decrypted with the private key and the same padding, and differs each time', () => {
    for (const padding of PADDINGS) {
      const encrypted = encryptRsa(padding, publicKey, DATA);
      assert.equal(encrypted.length, 256);
      assert.deepEqual(decrypt(padding, privateKey, encrypted), DATA);
      assert.notDeepEqual(encryptRsa(padding, publicKey, DATA), encrypted);
    }
    assert.throws(() => decrypt('oaep-sha1', privateKey, encryptRsa('oaep-sha256', publicKey, DATA)));
    assert.throws(() => decrypt('oaep-sha256', privateKey, encryptRsa('oaep-sha1', publicKey, DATA)));
  });

  it('accepts as many bytes as the limit says, and no more', () => {
    assert.deepEqual(
      PADDINGS.map((padding) => plaintextLimit(padding, 2048)),
      [190, 214, 245],
    );
    for (const [bits, pair] of [
      [2048, { publicKey, privateKey }],
      [2052, odd],
    ] as const) {
      for (const padding of PADDINGS) {
        const longest = Buffer.alloc(plaintextLimit(padding, bits), 0xff);
        assert.deepEqual(decrypt(padding, pair.privateKey, encryptRsa(padding, pair.publicKey, longest)), longest);
        assert.throws(() => encryptRsa(padding, pair.publicKey, Buffer.concat([longest, Buffer.alloc(1)])));
      }
    }
  });
});
