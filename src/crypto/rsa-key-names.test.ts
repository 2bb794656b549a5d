import assert from 'node:assert/strict';
import { createHash, createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { base64, GARBAGE, keyError, pem, pkcs8, spki } from '../../test/fixtures/key-encodings.ts';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { createCa, createSelfSigned } from './certificate.ts';
import {
  keyFingerprint,
  parseCertificate,
  parsePublicKey,
  subjectKeyIdentifier,
  thumbprint,
  toPublicKey,
} from './rsa-keys.ts';

const NOW = Date.UTC(2026, 0, 15);
const { publicKey, privateKey } = newKeyPair();
const SHORT = newKeyPair(1024);
const OTHER = newKeyPair();
const CERTIFICATE = Buffer.from(await createSelfSigned(privateKey, 'test', NOW));

const certificatePem = pem('CERTIFICATE', CERTIFICATE);

describe('a certificate', () => {
  it('is read from PEM, DER and base64; of several, the first', async () => {
    const other = pem('CERTIFICATE', Buffer.from(await createSelfSigned(privateKey, 'other', NOW)));
    for (const bytes of [
      CERTIFICATE,
      base64(CERTIFICATE),
      Buffer.from(certificatePem),
      Buffer.from(certificatePem + other),
    ]) {
      const certificate = parseCertificate(bytes);
      assert.deepEqual(certificate.raw, CERTIFICATE);
      assert.ok(certificate.publicKey.equals(publicKey));
    }
  });

  it('is rejected with a key that is rejected', async () => {
    const short = await createSelfSigned(SHORT.privateKey, 'test', NOW);
    assert.match(
      keyError(() => parseCertificate(short)),
      /this one has 1024$/,
    );
    const { certificate } = await createCa(NOW);
    assert.equal(
      keyError(() => parseCertificate(Buffer.from(certificate))),
      'expected an RSA key (rsaEncryption)',
    );
  });

  it('is rejected when it is a key or garbage', () => {
    for (const bytes of [...GARBAGE, spki(publicKey, 'pem'), spki(publicKey, 'der'), pkcs8(privateKey, 'pem')]) {
      assert.equal(
        keyError(() => parseCertificate(bytes)),
        'expected an X.509 certificate: PEM or DER',
      );
    }
  });
});

describe('the names of a key', () => {
  it('contain the thumbprint of the example in RFC 7638, 3.1', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj' +
      'hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQ' +
      'vRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK' +
      'nqDKgw';
    const key = parsePublicKey(
      Buffer.from(JSON.stringify({ kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' })),
    );
    assert.equal(thumbprint(key), 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs');
  });

  it('contain a subject key identifier that is SHA-1 over modulus and exponent in DER', () => {
    const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
    const sized = (tag: number, content: Buffer): Buffer => {
      const { length } = content;
      const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
      return Buffer.concat([Buffer.from([tag, ...size]), content]);
    };
    const integer = (text: string): Buffer => {
      const bytes = Buffer.from(text, 'base64url');
      return sized(2, (bytes[0] ?? 0) < 128 ? bytes : Buffer.concat([Buffer.alloc(1), bytes]));
    };
    const der = sized(0x30, Buffer.concat([integer(n), integer(e)]));
    assert.equal(subjectKeyIdentifier(publicKey), createHash('sha1').update(der).digest('base64'));
  });

  it('contain a fingerprint that is SHA-256 over the SubjectPublicKeyInfo', () => {
    assert.equal(keyFingerprint(publicKey), createHash('sha256').update(spki(publicKey, 'der')).digest('hex'));
  });

  it('are equal for both halves of a pair, and different for another pair', () => {
    for (const name of [thumbprint, subjectKeyIdentifier, keyFingerprint]) {
      assert.equal(name(privateKey), name(publicKey));
      assert.notEqual(name(OTHER.publicKey), name(publicKey));
    }
    assert.equal(toPublicKey(publicKey), publicKey);
    assert.ok(toPublicKey(privateKey).equals(createPublicKey(privateKey)));
  });
});
