import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { type CertificateAndKey, createCa, createServerCertificate } from '../crypto/certificate.ts';
import { DAY } from '../kernel/clock.ts';
import { type CertificateFacts, checkCertificate } from './certificate.ts';

describe('rules about the certificate', () => {
  const now = Date.UTC(2026, 10, 1);
  let ca: CertificateAndKey;
  let other: CertificateAndKey;
  let server: CertificateAndKey;
  before(async () => {
    [ca, other] = await Promise.all([createCa(now), createCa(now)]);
    server = await createServerCertificate(
      ca,
      [
        { type: 'dns', value: 'vault.example.com' },
        { type: 'ip', value: '192.0.2.7' },
      ],
      now,
    );
  });

  const check = (facts: Partial<CertificateFacts>, at = now): readonly string[] => {
    const all = { ...server, hosts: [], isOwn: false, authorities: [ca.certificate], ...facts };
    return checkCertificate(all, at).map(({ state, message }) => `${state}: ${message}`);
  };

  test('a certificate of a trusted authority, with its names, is fine', () => {
    const found = check({ hosts: ['vault.example.com', '192.0.2.7'] });
    assert.deepEqual(found, ['ok: the certificate is valid until 2027-12-03T00:00:00.000Z']);
    assert.match(check({ certificate: server.certificate + ca.certificate, authorities: [] }).join(), /^ok/);
  });

  test('the end is pointed out 30 days before, and the beginning', () => {
    assert.match(check({}, now + 380 * DAY).join(), /^warning: the certificate ends /);
    assert.match(check({}, now + 398 * DAY).join(), /^problem: the certificate ended /);
    assert.match(check({}, now - 2 * DAY).join(), /^problem: the certificate is not valid yet/);
  });

  test('names of the settings have to be in it', () => {
    assert.deepEqual(check({ hosts: ['console.example.com', '192.0.2.8', 'vault.example.com'] }).length, 2);
    assert.match(check({ hosts: ['console.example.com'] }).join(), /^problem: .* does not name console\.example\.com/);
  });

  test('the key belongs to it', () => {
    assert.match(check({ key: other.key }).join(), /^problem: key and certificate do not belong together/);
    assert.match(check({ key: 'none' }).join(), /^problem: the key of the certificate cannot be read/);
    const { privateKey } = generateKeyPairSync('ed25519');
    assert.match(check({ key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }).join(), /^problem/);
    assert.match(check({ certificate: 'none' }).join(), /^problem: the file contains no certificate/);
  });

  test('the chain is complete and in order', () => {
    assert.match(check({ authorities: [] }).join(), /^warning: .* none of the authorities/);
    assert.match(check({ authorities: [other.certificate] }).join(), /^warning: /);
    assert.match(check({ certificate: server.certificate + other.certificate }).join(), /^problem: certificate 2 /);
    assert.match(check({ isOwn: true, authorities: [] }).join(), /^ok/);
  });
});
