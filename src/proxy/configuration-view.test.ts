import assert from 'node:assert/strict';
import { createHash, createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { Search } from '../../test/fixtures/canaries.ts';
import { newCertificate, newKeyPair, publicPem } from '../../test/fixtures/rsa-key-pairs.ts';
import { keyFingerprint, subjectKeyIdentifier, thumbprint } from '../crypto/rsa-keys.ts';
import { DAY, formatIso8601 } from '../kernel/clock.ts';
import { toConfigurationView } from './configuration-view.ts';
import { EMPTY, type ProxyConfiguration, toMerchantKey, toProcessorKey } from './proxy-configuration.ts';
import { redactedSettings } from './settings.ts';

const NOW = Date.UTC(2026, 0, 15);
const [{ privateKey: one }, { privateKey: other }] = [newKeyPair(), newKeyPair()];
const certificate = await newCertificate({ privateKey: one }, NOW);
const otherCertificate = await newCertificate({ privateKey: other }, NOW);
const PASSWORD = 'correct horse';
const configuration: ProxyConfiguration = {
  processor: {
    current: toProcessorKey(createPublicKey(one), undefined),
    next: { value: toProcessorKey(otherCertificate.publicKey, otherCertificate), from: NOW + 60_000 },
  },
  merchant: {
    current: toMerchantKey(one, certificate),
    next: { value: toMerchantKey(other, otherCertificate), from: NOW + 60_000 },
  },
  settings: { 'wssec.username': 'shop', 'wssec.password': PASSWORD },
};

const shownKey = (key: KeyObject) => ({
  kid: thumbprint(key),
  fingerprint: keyFingerprint(key),
  bits: 2048,
  public_key: publicPem({ publicKey: createPublicKey(key) }),
});
const shownCertificate = (shown: X509Certificate) => ({
  fingerprint: createHash('sha256').update(shown.raw).digest('hex'),
  subject: 'CN=A Merchant',
  issuer: 'CN=A Merchant',
  serial_number: shown.serialNumber,
  not_before: formatIso8601(NOW - DAY),
  expires_at: formatIso8601(NOW + 1095 * DAY),
  self_signed: true,
  pem: shown.toString(),
});

describe('a configuration view', () => {
  it('of an empty configuration has the settings alone', () => {
    assert.deepEqual(toConfigurationView(EMPTY, NOW), {
      processor_public_key: null,
      merchant_private_key: null,
      merchant_certificate: null,
      settings: redactedSettings({}),
    });
  });

  it('shows active and pending values', () => {
    const from = formatIso8601(NOW + 60_000);
    const shown = toConfigurationView(configuration, NOW + 59_999);
    assert.deepEqual(shown.processor_public_key, {
      ...shownKey(one),
      subject_key_identifier: subjectKeyIdentifier(one),
      expires_at: null,
      next: {
        ...shownKey(other),
        subject_key_identifier: subjectKeyIdentifier(other),
        expires_at: formatIso8601(NOW + 1095 * DAY),
        from,
      },
    });
    assert.deepEqual(shown.merchant_private_key, { ...shownKey(one), next: { ...shownKey(other), from } });
    assert.deepEqual(shown.merchant_certificate, {
      ...shownCertificate(certificate),
      next: { ...shownCertificate(otherCertificate), from },
    });
  });

  it('shows a pending value as active from its time on', () => {
    const shown = toConfigurationView(configuration, NOW + 60_000);
    assert.equal(shown.processor_public_key?.kid, thumbprint(other));
    assert.deepEqual(shown.merchant_private_key, { ...shownKey(other), next: null });
    assert.deepEqual(shown.merchant_certificate, { ...shownCertificate(otherCertificate), next: null });
  });

  it('contains no secret', () => {
    const text = JSON.stringify(toConfigurationView(configuration, NOW));
    assert.deepEqual(new Search([PASSWORD, 'PRIVATE KEY'], [one, other]).found(Buffer.from(text)), []);
  });

  it('has subject and issuer on one line each', async () => {
    const issued = Object.defineProperties(await newCertificate({ privateKey: one }, NOW), {
      subject: { value: 'C=DE\nO=Shop\nCN=x' },
      issuer: { value: 'C=DE\nCN=y' },
    });
    const merchant = { current: toMerchantKey(one, issued) };
    const { merchant_certificate: shown } = toConfigurationView({ ...EMPTY, merchant }, NOW);
    assert.deepEqual([shown?.subject, shown?.issuer], ['C=DE, O=Shop, CN=x', 'C=DE, CN=y']);
  });
});
