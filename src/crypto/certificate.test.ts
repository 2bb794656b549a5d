import 'reflect-metadata';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Extension, SubjectKeyIdentifierExtension, X509CertificateGenerator } from '@peculiar/x509';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { DAY, SECOND } from '../kernel/clock.ts';
import {
  createCa,
  createSelfSigned,
  createServerCertificate,
  namedKeyIdentifier,
  remainingValidityMs,
} from './certificate.ts';

const NOW = Date.UTC(2026, 0, 15, 10, 30, 0, 250);
const NAMES = [
  { type: 'dns', value: 'localhost' },
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '::1' },
] as const;

const authority = await createCa(NOW);
const server = await createServerCertificate(authority, NAMES, NOW);
const root = new X509Certificate(authority.certificate);
const leaf = new X509Certificate(server.certificate);

async function rsaPair(key: KeyObject): Promise<[webcrypto.CryptoKey, webcrypto.CryptoKey]> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return [
    await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  ];
}

/** Rounded to the second, as in certificates. */
const seconds = (time: number): number => Math.floor(time / SECOND);

describe('the CA', () => {
  it('is its own issuer and may sign', () => {
    assert.ok(root.ca);
    assert.ok(root.checkIssued(root));
    assert.ok(root.verify(root.publicKey));
    assert.equal(root.subject, 'CN=cardvault local CA');
  });

  it('is valid from yesterday for ten years', () => {
    assert.equal(seconds(root.validFromDate.getTime()), seconds(NOW - DAY));
    assert.equal(seconds(root.validToDate.getTime()), seconds(NOW + 3650 * DAY));
  });

  it('is returned with its key', () => {
    assert.ok(root.checkPrivateKey(createPrivateKey(authority.key)));
    assert.match(authority.key, /^-----BEGIN PRIVATE KEY-----\n([A-Za-z0-9+/=]{1,64}\n)+-----END PRIVATE KEY-----\n$/);
  });
});

describe('the server certificate', () => {
  it('is signed by the CA, and by no other of the same name', async () => {
    assert.ok(leaf.checkIssued(root));
    assert.ok(leaf.verify(root.publicKey));
    const other = new X509Certificate((await createCa(NOW)).certificate);
    assert.equal(other.subject, root.subject);
    assert.equal(leaf.verify(other.publicKey), false);
  });

  it('is valid for its names and addresses only', () => {
    assert.equal(leaf.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1');
    assert.equal(leaf.checkHost('localhost'), 'localhost');
    assert.equal(leaf.checkIP('127.0.0.1'), '127.0.0.1');
    assert.equal(leaf.checkIP('::1'), '::1');
    assert.equal(leaf.checkHost('example.com'), undefined);
    assert.equal(leaf.checkHost('a.localhost'), undefined);
    assert.equal(leaf.checkIP('127.0.0.2'), undefined);
  });

  it('serves TLS and signs nothing', () => {
    assert.equal(leaf.ca, false);
    assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });

  it('is valid from yesterday for 397 days', () => {
    assert.equal(seconds(leaf.validFromDate.getTime()), seconds(NOW - DAY));
    assert.equal(seconds(leaf.validToDate.getTime()), seconds(NOW + 397 * DAY));
  });

  it('has a key and a positive serial number of its own', async () => {
    assert.ok(leaf.checkPrivateKey(createPrivateKey(server.key)));
    assert.equal(leaf.checkPrivateKey(createPrivateKey(authority.key)), false);
    const again = new X509Certificate((await createServerCertificate(authority, NAMES, NOW)).certificate);
    assert.notEqual(again.serialNumber, leaf.serialNumber);
    for (const serial of [leaf.serialNumber, again.serialNumber, root.serialNumber]) {
      assert.match(serial, /^[4-7][0-9A-F]{31}$/);
    }
  });
});

describe('validFor', () => {
  it('is the time until the certificate expires', () => {
    const ends = leaf.validToDate.getTime();
    assert.equal(remainingValidityMs(server.certificate, NOW), ends - NOW);
    assert.equal(remainingValidityMs(server.certificate, ends + 1), -1);
  });
});

describe('the certificate of a signing key', () => {
  const { privateKey } = newKeyPair();
  const publicKey = createPublicKey(privateKey);
  const selfSigned = createSelfSigned(privateKey, 'acc_1', NOW);

  it('contains the key and is signed with it', async () => {
    const certificate = new X509Certificate(await selfSigned);
    assert.ok(certificate.publicKey.equals(publicKey));
    assert.ok(certificate.verify(publicKey));
    assert.deepEqual([certificate.subject, certificate.issuer], ['CN=acc_1', 'CN=acc_1']);
    assert.equal(certificate.ca, false);
    assert.match(certificate.serialNumber, /^[4-7][0-9A-F]{31}$/);
  });

  it('is valid from yesterday for three years', async () => {
    const certificate = new X509Certificate(await selfSigned);
    assert.equal(seconds(certificate.validFromDate.getTime()), seconds(NOW - DAY));
    assert.equal(seconds(certificate.validToDate.getTime()), seconds(NOW + 1095 * DAY));
  });

  it('accepts any common name as one name', async () => {
    for (const name of ['a, O=b', 'a+b="c"', 'ä\\#1']) {
      const { subject } = new X509Certificate(await createSelfSigned(privateKey, name, NOW));
      assert.match(subject, /^CN=[^\n]+$/);
    }
  });

  it('names the key by SHA-1 over its PKCS#1 encoding', async () => {
    const expected = createHash('sha1')
      .update(publicKey.export({ type: 'pkcs1', format: 'der' }))
      .digest('base64');
    assert.equal(namedKeyIdentifier(await selfSigned), expected);
  });
});

describe('namedKeyIdentifier', () => {
  it('is that of the extension, and undefined without one', async () => {
    const { privateKey } = newKeyPair();
    const [key, publicKey] = await rsaPair(privateKey);
    const make = async (extensions: Extension[]): Promise<Uint8Array> =>
      new Uint8Array(
        (await X509CertificateGenerator.createSelfSigned({ keys: { privateKey: key, publicKey }, extensions })).rawData,
      );
    assert.equal(namedKeyIdentifier(await make([])), undefined);
    const own = new SubjectKeyIdentifierExtension('0102ff');
    assert.equal(namedKeyIdentifier(await make([own])), Buffer.from([1, 2, 255]).toString('base64'));
  });
});

describe('openssl', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-certificate-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const present = spawnSync('openssl', ['version']).status === 0;
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  /** With the rules of RFC 5280 that clients such as Python's apply. */
  const verify = (trusted: string, certificate: string, ...options: readonly string[]) =>
    spawnSync(
      'openssl',
      ['verify', '-x509_strict', '-attime', String(seconds(NOW)), ...options, '-CAfile', trusted, certificate],
      { encoding: 'utf8' },
    );

  it('accepts the chain by the strict rules', { skip: !present && 'openssl is not installed' }, async () => {
    const [trusted, certificate] = [file('ca.pem', authority.certificate), file('server.pem', server.certificate)];
    for (const options of [
      ['-verify_hostname', 'localhost'],
      ['-verify_ip', '::1'],
      ['-purpose', 'sslserver'],
    ]) {
      const { status, stdout, stderr } = verify(trusted, certificate, ...options);
      assert.equal(status, 0, stdout + stderr);
    }
    assert.notEqual(verify(trusted, certificate, '-verify_hostname', 'example.com').status, 0);
    assert.notEqual(verify(trusted, certificate, '-purpose', 'sslclient').status, 0);
    const other = file('other.pem', (await createCa(NOW)).certificate);
    assert.notEqual(verify(other, certificate).status, 0);
  });
});
