import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { base64, GARBAGE, jwk, keyError, pem, pkcs1, pkcs8, spki } from '../../test/fixtures/key-encodings.ts';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { LIMITS } from '../kernel/limits.ts';
import { createCa, createSelfSigned } from './certificate.ts';
import {
  InvalidKeyError,
  keyBits,
  keyFingerprint,
  parsePublicKey,
  subjectKeyIdentifier,
  thumbprint,
} from './rsa-keys.ts';

const NOW = Date.UTC(2026, 0, 15);
const { publicKey, privateKey } = newKeyPair();
const SHORT = newKeyPair(1024);
const PSS = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
const CURVE = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const CERTIFICATE = Buffer.from(await createSelfSigned(privateKey, 'test', NOW));

const certificatePem = pem('CERTIFICATE', CERTIFICATE);

describe('a public key', () => {
  it('is read from each encoding', () => {
    const forms = {
      'SPKI, PEM': spki(publicKey, 'pem'),
      'SPKI, DER': spki(publicKey, 'der'),
      'SPKI, base64': base64(spki(publicKey, 'der')),
      'SPKI, base64 in lines': Buffer.from(
        spki(publicKey, 'der')
          .toString('base64')
          .replace(/(.{64})/g, '$1\r\n'),
      ),
      'PKCS#1, PEM': pkcs1(publicKey, 'pem'),
      'PKCS#1, DER': pkcs1(publicKey, 'der'),
      'PKCS#1, base64': base64(pkcs1(publicKey, 'der')),
      JWK: jwk(publicKey),
      'JWK with blanks and a name': Buffer.from(`\n ${jwk(publicKey, { kid: 'x', use: 'enc' }).toString()}\n`),
      'certificate, PEM': Buffer.from(certificatePem),
      'certificates, the first of which counts': Buffer.from(certificatePem + certificatePem),
      'certificate, DER': CERTIFICATE,
      'certificate, base64': base64(CERTIFICATE),
    };
    for (const [form, bytes] of Object.entries(forms)) {
      const key = parsePublicKey(bytes);
      assert.equal(key.type, 'public', form);
      assert.ok(key.equals(publicKey), form);
      // Keys that were read in some encodings cannot be written in others.
      for (const name of [thumbprint, keyFingerprint, subjectKeyIdentifier]) {
        assert.equal(name(key), name(publicKey), form);
      }
    }
  });

  it('is rejected when it is a private one, in each encoding', () => {
    const forms = {
      'PKCS#8, PEM': pkcs8(privateKey, 'pem'),
      'PKCS#1, PEM': pkcs1(privateKey, 'pem'),
      'encrypted, PEM': Buffer.from(
        privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
      ),
      JWK: jwk(privateKey),
      'PKCS#8, DER': pkcs8(privateKey, 'der'),
      'PKCS#1, DER': pkcs1(privateKey, 'der'),
      'PKCS#8, base64': base64(pkcs8(privateKey, 'der')),
      'PKCS#1, base64': base64(pkcs1(privateKey, 'der')),
    };
    for (const [form, bytes] of Object.entries(forms)) {
      assert.throws(() => parsePublicKey(bytes), InvalidKeyError, form);
    }
    assert.equal(
      keyError(() => parsePublicKey(forms.JWK)),
      'this is a private key; expected a public one',
    );
    assert.equal(
      keyError(() => parsePublicKey(forms['PKCS#8, PEM'])),
      'this is a private key; expected a public one',
    );
  });

  it('is rejected when it is of another type', async () => {
    const expectation = 'expected an RSA key (rsaEncryption)';
    for (const other of [PSS.publicKey, CURVE.publicKey]) {
      assert.equal(
        keyError(() => parsePublicKey(spki(other, 'pem'))),
        expectation,
      );
      assert.equal(
        keyError(() => parsePublicKey(base64(spki(other, 'der')))),
        expectation,
      );
    }
    assert.equal(
      keyError(() => parsePublicKey(jwk(CURVE.publicKey))),
      expectation,
    );
    const { certificate } = await createCa(NOW);
    assert.equal(
      keyError(() => parsePublicKey(Buffer.from(certificate))),
      expectation,
    );
  });

  it('has 2048 to 8192 bits', () => {
    assert.deepEqual(LIMITS.rsaBits, { min: 2048, max: 8192 });
    for (const bytes of [spki(SHORT.publicKey, 'pem'), jwk(SHORT.publicKey), pkcs1(SHORT.publicKey, 'der')]) {
      assert.equal(
        keyError(() => parsePublicKey(bytes)),
        'expected an RSA key of 2048 to 8192 bits, this one has 1024',
      );
    }
    const n = (bytes: number): string => Buffer.alloc(bytes, 0xff).toString('base64url');
    assert.equal(keyBits(parsePublicKey(jwk(publicKey, { n: n(1024) }))), 8192);
    assert.match(
      keyError(() => parsePublicKey(jwk(publicKey, { n: n(1025) }))),
      /this one has 8200$/,
    );
    assert.equal(keyBits(parsePublicKey(spki(publicKey, 'pem'))), 2048);
  });

  it('has an odd exponent from 3 to 2^32', () => {
    for (const e of ['AQ', 'Ag', 'BA', 'AQAAAAE']) {
      assert.equal(
        keyError(() => parsePublicKey(jwk(publicKey, { e }))),
        'the public exponent of the RSA key must be odd, from 3 to 2^32',
      );
    }
    for (const [e, exponent] of [
      ['Aw', 3n],
      ['_____w', 2n ** 32n - 1n],
    ] as const)
      assert.equal(parsePublicKey(jwk(publicKey, { e })).asymmetricKeyDetails?.publicExponent, exponent);
  });

  it('is rejected when it is garbage or too large, and the error contains no part of it', () => {
    for (const bytes of [...GARBAGE, spki(publicKey, 'der').subarray(0, -1), Buffer.alloc(100, 0x30)]) {
      assert.equal(
        keyError(() => parsePublicKey(bytes)),
        'expected an RSA public key: PEM, DER, JWK or certificate',
      );
    }
    assert.equal(
      keyError(() => parsePublicKey(Buffer.alloc(65_537))),
      'a key has at most 65536 bytes',
    );
    const padded = Buffer.concat([spki(publicKey, 'pem'), Buffer.alloc(60_000, '\n')]);
    assert.ok(parsePublicKey(padded).equals(publicKey));
  });
});
