import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { X509CertificateGenerator } from '@peculiar/x509';
import { systemRandom } from '../../src/crypto/random.ts';
import { CYBERSOURCE_SETTINGS, encryptBody, parseRecipient } from '../../src/payments/processors/cybersource/client.ts';
import { newKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { approvedId, card, history, money, openCyberSourceFixture, order, subject } from './cybersource-fixture.ts';

const SIGNING = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

/** Returns base64 of the DER of a certificate with this subject. */
async function certificateOf(subject: string, bits = 2048): Promise<{ certificate: string; privatePem: string }> {
  const { privateKey, publicKey } = newKeyPair(bits);
  const { subtle } = webcrypto;
  const keys = {
    privateKey: await subtle.importKey('pkcs8', privateKey.export({ format: 'der', type: 'pkcs8' }), SIGNING, false, [
      'sign',
    ]),
    publicKey: await subtle.importKey('spki', publicKey.export({ format: 'der', type: 'spki' }), SIGNING, true, [
      'verify',
    ]),
  };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: subject,
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2036-01-01T00:00:00Z'),
    signingAlgorithm: SIGNING,
    keys,
  });
  const privatePem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  return { certificate: Buffer.from(certificate.rawData).toString('base64'), privatePem };
}

const NUMBER = '1720000000000012345678';
const { certificate, privatePem } = await certificateOf(`CN=CyberSource_SJC_US, 2.5.4.5=${NUMBER}`);
const key = createPrivateKey(privatePem);

describe('message-level encryption', async () => {
  const desk = await openCyberSourceFixture({ encryption: { key, kid: NUMBER } });
  const { cybersource, fake } = desk;
  const settings = { 'mle-certificate': certificate };
  after(() => desk.stop());

  test('covers authorizations, sales and captures, and the digest is of the encrypted body', async () => {
    const first = desk.call({ settings });
    const id = approvedId(await cybersource.authorize(first, order(), card()));
    const past = history(subject('authorization', first.operationId, id));
    const capturing = desk.call({ settings });
    const captureId = approvedId(await cybersource.capture(capturing, past, money('10.50')));
    const later = history(...past.operations, subject('capture', capturing.operationId, captureId));
    approvedId(await cybersource.refund(desk.call({ settings }), later, money('10.50')));
    approvedId(await cybersource.authorize(desk.call({ settings }), order({ capture: true }), card()));
    approvedId(
      await cybersource.inquire(desk.call({ settings }), history(), subject('authorization', first.operationId)),
    );
    assert.deepEqual(fake.violations, []);
  });

  test('is never omitted: when it fails, nothing is sent', async () => {
    const before = fake.requests.length;
    for (const more of [{ auth: 'http-signature' }, { 'mle-certificate': 'AAAA' }]) {
      const outcome = await cybersource.authorize(desk.call({ settings: { ...settings, ...more } }), order(), card());
      assert.deepEqual(outcome, { kind: 'not-sent' });
    }
    assert.equal(fake.requests.length, before);
  });

  test('uses a new key and vector each time, and contains no plaintext', () => {
    const recipient = parseRecipient(certificate);
    assert.ok(recipient);
    const random = systemRandom();
    const make = (): string => encryptBody('{"number":"4111111111111111"}', recipient, () => 0, random);
    const [one = [], other = []] = [make(), make()].map((text) => JSON.parse(text).encryptedRequest.split('.'));
    assert.equal(one.length, 5);
    assert.equal(one[0], other[0]);
    for (const part of [1, 2, 3, 4]) assert.notEqual(one[part], other[part]);
    assert.equal(make().includes('4111'), false);
  });
});

describe('the setting mle-certificate', () => {
  const { accepts } = CYBERSOURCE_SETTINGS['mle-certificate'];
  test('accepts a certificate that names its key', () => assert.equal(accepts(certificate), true));

  test('accepts no other value', async () => {
    const nameless = await certificateOf('CN=CyberSource_SJC_US');
    const weak = await certificateOf(`CN=x, 2.5.4.5=${NUMBER}`, 1024);
    for (const value of ['', 'AAAA', 'no base64', nameless.certificate, weak.certificate, privatePem])
      assert.equal(accepts(value), false, value.slice(0, 20));
  });
});
