import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Search } from './fixtures/canaries.ts';
import { newCertificate, newKeyPair, privatePem, publicPem } from './fixtures/rsa-key-pairs.ts';

describe('the search for secrets', () => {
  const canary = 'Canary-Of-The-Search é';
  const wordForms = {
    bytes: Buffer.from(canary),
    'UTF-16': Buffer.from(canary, 'utf16le'),
    hex: Buffer.from(Buffer.from(canary).toString('hex')),
    base64: Buffer.from(Buffer.from(`x${canary}`).toString('base64')),
    base64url: Buffer.from(Buffer.from(`xx${canary}`).toString('base64url')),
    'a link': Buffer.from(encodeURIComponent(canary)),
    JSON: Buffer.from(JSON.stringify({ word: canary })),
  };
  for (const [form, bytes] of Object.entries(wordForms))
    test(`finds a text as ${form}`, () => assert.deepEqual(new Search(['other', canary]).found(bytes), [canary]));

  for (const bits of [2048, 3072]) {
    const pair = newKeyPair(bits);
    const { privateKey } = pair;
    const search = new Search(['other'], [newKeyPair().privateKey, privateKey]);
    const der = privateKey.export({ type: 'pkcs8', format: 'der' });
    const jwk = privateKey.export({ format: 'jwk' });
    const forms = {
      PEM: privatePem(pair),
      'some lines of PEM': privatePem(pair).split('\n').slice(-10).join('\n'),
      'PEM of PKCS#1': privateKey.export({ type: 'pkcs1', format: 'pem' }),
      DER: der,
      'DER of PKCS#1': privateKey.export({ type: 'pkcs1', format: 'der' }),
      'base64 of DER': der.toString('base64'),
      'base64url of DER after other bytes': Buffer.concat([Buffer.from('x'), der]).toString('base64url'),
      'hex of DER': der.toString('hex'),
      JWK: JSON.stringify(jwk),
      'one number': JSON.stringify({ q: jwk.q }),
    };
    for (const [form, written] of Object.entries(forms))
      test(`finds a private key of ${bits} bits as ${form}`, () =>
        assert.deepEqual(search.found(Buffer.from(written)), ['private key 1']));

    test(`does not confuse it with the public key of ${bits} bits`, async () => {
      const { raw } = await newCertificate(pair);
      for (const each of [publicPem(pair), raw, raw.toString('base64'), raw.toString('hex')])
        assert.deepEqual(search.found(Buffer.from(each)), []);
    });
  }
});
