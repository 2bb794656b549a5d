import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SubjectKeyIdentifierExtension, X509CertificateGenerator } from '@peculiar/x509';
import { newKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { onPath } from './install.ts';

/** An RSA key pair with a certificate that names it, all PEM. */
export interface Identity {
  readonly privateKey: string;
  readonly publicKey: string;
  readonly certificate: string;
}

const DAYS = 36_500;
const CONFIGURATION = `[req]
distinguished_name = none
x509_extensions = extensions
prompt = no
[none]
[extensions]
subjectKeyIdentifier = hash
`;

export async function newIdentity(name: string, since?: Date): Promise<Identity> {
  const { privateKey } = newKeyPair();
  return identityOf(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), name, since);
}

/**
 * Creates a certificate for an existing key; a processor who published only a public key gets such a certificate, too.
 */
export async function identityOf(privateKey: string, name: string, since?: Date): Promise<Identity> {
  return { privateKey, publicKey: publicOf(privateKey), certificate: await selfSigned(privateKey, name, since) };
}

/** Returns the SubjectPublicKeyInfo of a private key, of a certificate, or of a public key. */
export const publicOf = (pem: string): string =>
  createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString();

/** A certificate with a SubjectKeyIdentifier of RFC 5280's first method, valid since now or since another time. */
export async function selfSigned(privateKey: string, name: string, since?: Date): Promise<string> {
  // OpenSSL before 3.4 knows now alone.
  if (since === undefined && onPath('openssl')) return byOpenssl(privateKey, name);
  return byLibrary(privateKey, name, since ?? new Date(Date.now() - 60_000));
}

/** SHA-1 of the PKCS#1 form of an RSA key. */
export const keyIdentifierOf = (pem: string): Buffer =>
  createHash('sha1')
    .update(createPublicKey(pem).export({ type: 'pkcs1', format: 'der' }))
    .digest();

function byOpenssl(privateKey: string, name: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  try {
    const [key, configuration] = [join(directory, 'key.pem'), join(directory, 'configuration')];
    writeFileSync(key, privateKey, { mode: 0o600 });
    writeFileSync(configuration, CONFIGURATION);
    const args = ['req', '-x509', '-new', '-sha256', '-key', key, '-config', configuration, '-days', String(DAYS)];
    return execFileSync('openssl', [...args, '-subj', `/CN=${name}`], { encoding: 'utf8', stdio: 'pipe' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function byLibrary(privateKey: string, name: string, notBefore: Date): Promise<string> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const { subtle } = webcrypto;
  const pkcs8 = createPrivateKey(privateKey).export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const keys = {
    privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    notBefore,
    notAfter: new Date(notBefore.getTime() + DAYS * 86_400_000),
    signingAlgorithm: algorithm,
    keys,
    extensions: [await SubjectKeyIdentifierExtension.create(keys.publicKey)],
  });
  return certificate.toString('pem');
}
