import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { base64, GARBAGE, jwk, keyError, pem, pkcs1, pkcs8, spki } from '../../test/fixtures/key-encodings.ts';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { createSelfSigned } from './certificate.ts';
import { keyFingerprint, parsePrivateKey, subjectKeyIdentifier, thumbprint } from './rsa-keys.ts';

const NOW = Date.UTC(2026, 0, 15);
const { publicKey, privateKey } = newKeyPair();
const SHORT = newKeyPair(1024);
const PSS = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
const CURVE = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const CERTIFICATE = Buffer.from(await createSelfSigned(privateKey, 'test', NOW));

const certificatePem = pem('CERTIFICATE', CERTIFICATE);

describe('a private key', () => {
  const locked = (type: 'pkcs8' | 'pkcs1', format: 'pem' | 'der' = 'pem'): Buffer =>
    Buffer.from(privateKey.export({ type, format, cipher: 'aes-256-cbc', passphrase: 'correct horse' } as never));

  it('is read from each encoding', () => {
    for (const [form, bytes] of Object.entries({
      'PKCS#8, PEM': pkcs8(privateKey, 'pem'),
      'PKCS#8, DER': pkcs8(privateKey, 'der'),
      'PKCS#8, base64': base64(pkcs8(privateKey, 'der')),
      'PKCS#1, PEM': pkcs1(privateKey, 'pem'),
      'PKCS#1, DER': pkcs1(privateKey, 'der'),
      JWK: jwk(privateKey),
    })) {
      for (const passphrase of [undefined, 'not needed']) {
        const key = parsePrivateKey(bytes, passphrase);
        assert.equal(key.type, 'private', form);
        assert.ok(key.equals(privateKey), form);
        for (const name of [thumbprint, keyFingerprint, subjectKeyIdentifier]) {
          assert.equal(name(key), name(privateKey), form);
        }
      }
    }
  });

  it('that is encrypted is read with its passphrase', () => {
    assert.match(locked('pkcs8').toString(), /BEGIN ENCRYPTED PRIVATE KEY/);
    assert.match(locked('pkcs1').toString(), /BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED/);
    for (const bytes of [locked('pkcs8'), locked('pkcs1'), locked('pkcs8', 'der'), base64(locked('pkcs8', 'der'))]) {
      assert.ok(parsePrivateKey(bytes, 'correct horse').equals(privateKey));
    }
  });

  it('that is encrypted is rejected with another passphrase', () => {
    for (const bytes of [locked('pkcs8'), locked('pkcs1'), locked('pkcs8', 'der')]) {
      for (const passphrase of ['', 'correct', 'correct horse ']) {
        const message = keyError(() => parsePrivateKey(bytes, passphrase));
        assert.equal(
          message,
          'the private key cannot be read, the passphrase is incorrect, or the key takes too much work to open',
        );
      }
    }
  });

  it('that is encrypted needs a passphrase', () => {
    for (const bytes of [locked('pkcs8'), locked('pkcs1'), Buffer.from(`\n${locked('pkcs1').toString()}`)]) {
      const message = keyError(() => parsePrivateKey(bytes, undefined));
      assert.equal(message, 'the private key is encrypted: its passphrase is needed');
    }
    assert.match(
      keyError(() => parsePrivateKey(locked('pkcs8', 'der'), undefined)),
      /^expected an RSA private key/,
    );
  });

  it('is rejected when it is a public one or a certificate', () => {
    for (const bytes of [
      spki(publicKey, 'pem'),
      pkcs1(publicKey, 'der'),
      jwk(publicKey),
      Buffer.from(certificatePem),
    ]) {
      assert.equal(
        keyError(() => parsePrivateKey(bytes, undefined)),
        'expected an RSA private key: PEM, DER or JWK',
      );
    }
  });

  it('is rejected when it is of another type or size', () => {
    const kind = 'expected an RSA key (rsaEncryption)';
    assert.equal(
      keyError(() => parsePrivateKey(pkcs8(PSS.privateKey, 'pem'), undefined)),
      kind,
    );
    assert.equal(
      keyError(() => parsePrivateKey(pkcs8(CURVE.privateKey, 'der'), undefined)),
      kind,
    );
    assert.equal(
      keyError(() => parsePrivateKey(jwk(CURVE.privateKey), undefined)),
      kind,
    );
    assert.match(
      keyError(() => parsePrivateKey(pkcs1(SHORT.privateKey, 'pem'), undefined)),
      /this one has 1024$/,
    );
  });

  it('is rejected when it is garbage or too large, and the error contains no part of it', () => {
    for (const bytes of [...GARBAGE, pkcs8(privateKey, 'der').subarray(0, 900)]) {
      const [without, withOne] = [undefined, 'x'].map((passphrase) =>
        keyError(() => parsePrivateKey(bytes, passphrase)),
      );
      assert.equal(without, 'expected an RSA private key: PEM, DER or JWK');
      assert.equal(
        withOne,
        'the private key cannot be read, the passphrase is incorrect, or the key takes too much work to open',
      );
    }
    assert.equal(
      keyError(() => parsePrivateKey(Buffer.alloc(65_537), undefined)),
      'a key has at most 65536 bytes',
    );
  });
});
