import assert from 'node:assert/strict';
import { createDecipheriv } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../crypto/random.ts';
import {
  CONTENT_ENCRYPTION,
  EXCLUSIVE_C14N,
  KEY_TRANSPORT,
  NS,
  newContentKey,
  passwordTypeUri,
  SIGNATURES,
} from './algorithms.ts';

const XENC = 'http://www.w3.org/2001/04/xmlenc#';
const XENC11 = 'http://www.w3.org/2009/xmlenc11#';
const OASIS = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss';
const random = systemRandom();

describe('names of algorithms', () => {
  it('are those of the standards', () => {
    assert.equal(EXCLUSIVE_C14N, 'http://www.w3.org/2001/10/xml-exc-c14n#');
    assert.deepEqual(
      [NS.soapenv, NS.ds, NS.xenc, NS.xenc11],
      ['http://schemas.xmlsoap.org/soap/envelope/', 'http://www.w3.org/2000/09/xmldsig#', XENC, XENC11],
    );
    assert.equal(NS.wsse, `${OASIS}-wssecurity-secext-1.0.xsd`);
    assert.equal(NS.wsu, `${OASIS}-wssecurity-utility-1.0.xsd`);
    assert.equal(NS.wsse11, 'http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd');
    assert.equal(passwordTypeUri('PasswordText'), `${OASIS}-username-token-profile-1.0#PasswordText`);
  });

  it('name the operation that is performed', () => {
    const more = 'http://www.w3.org/2001/04/xmldsig-more#';
    const [small, large] = [SIGNATURES['RSA-SHA256'], SIGNATURES['RSA-SHA512']];
    assert.deepEqual(small, {
      algorithm: 'RS256',
      uri: `${more}rsa-sha256`,
      digest: 'sha256',
      digestUri: `${XENC}sha256`,
    });
    assert.deepEqual(large, {
      algorithm: 'RS512',
      uri: `${more}rsa-sha512`,
      digest: 'sha512',
      digestUri: `${XENC}sha512`,
    });
    assert.deepEqual(KEY_TRANSPORT, {
      'RSA-OAEP': { padding: 'oaep-sha1', uri: `${XENC}rsa-oaep-mgf1p` },
      'RSA-OAEP-SHA256': {
        padding: 'oaep-sha256',
        uri: `${XENC11}rsa-oaep`,
        digestUri: `${XENC}sha256`,
        maskUri: `${XENC11}mgf1sha256`,
      },
      'RSA-1_5': { padding: 'pkcs1', uri: `${XENC}rsa-1_5` },
    });
    assert.equal(CONTENT_ENCRYPTION['AES-256-GCM'].uri, `${XENC11}aes256-gcm`);
    assert.equal(CONTENT_ENCRYPTION['AES-256-CBC'].uri, `${XENC}aes256-cbc`);
  });
});

describe('content encryption', () => {
  it('by GCM is vector, ciphertext and tag', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plaintext) => {
        const key = newContentKey(random);
        const sealed = CONTENT_ENCRYPTION['AES-256-GCM'].encrypt(key, plaintext, random);
        assert.equal(sealed.length, 12 + Buffer.byteLength(plaintext) + 16);
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
        decipher.setAuthTag(sealed.subarray(-16));
        assert.equal(decipher.update(sealed.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8'), plaintext);
      }),
    );
  });

  it('by CBC is vector and ciphertext, whose last byte is the length of the padding', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plaintext) => {
        const key = newContentKey(random);
        const sealed = CONTENT_ENCRYPTION['AES-256-CBC'].encrypt(key, plaintext, random);
        const decipher = createDecipheriv('aes-256-cbc', key, sealed.subarray(0, 16)).setAutoPadding(false);
        const padded = Buffer.concat([decipher.update(sealed.subarray(16)), decipher.final()]);
        const padding = padded.at(-1) ?? 0;
        assert.ok(padding >= 1 && padding <= 16);
        assert.equal(padded.subarray(0, -padding).toString('utf8'), plaintext);
      }),
    );
  });

  it('uses a new vector each time', () => {
    const key = newContentKey(random);
    for (const { encrypt } of Object.values(CONTENT_ENCRYPTION)) {
      const [one, other] = [encrypt(key, 'x', random), encrypt(key, 'x', random)];
      assert.notDeepEqual(one.subarray(0, 12), other.subarray(0, 12));
    }
    assert.equal(key.length, 32);
    assert.notDeepEqual(newContentKey(random), key);
  });
});
