import { type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { DAY } from '../kernel/clock.ts';
import { toPublicKey } from './rsa-keys.ts';

/** ECDSA P-256: a handshake takes a quarter less time than with RSA-2048. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const CA_DAYS = 3650;
/** Apple's clients reject server certificates with a longer validity. */
const SERVER_DAYS = 397;
const SERIAL_BYTES = 16;
/** Validity of a certificate that contains a signing key of a merchant. */
const SIGNING = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const SIGNING_DAYS = 1095;

const require = createRequire(import.meta.url);

/** Returns the library, loaded on first use: few processes create a certificate, and loading takes 90 ms and 4 MB. */
function x509(): typeof import('@peculiar/x509') {
  require('reflect-metadata');
  const library = require('@peculiar/x509');
  library.cryptoProvider.set(webcrypto);
  return library;
}

/** Certificate and private key, both PEM. */
export interface CertificateAndKey {
  readonly certificate: string;
  readonly key: string;
}

type Names = readonly { type: 'dns' | 'ip'; value: string }[];

/** Creates a CA, or a certificate of a server that a CA signs. */
export interface CertificateOrder {
  readonly issuer?: { readonly ca: CertificateAndKey; readonly names: Names };
  readonly now: number;
}

/**
 * Creates a certificate on a thread of its own, which then ends and returns its memory: a service that creates its
 * certificates at its first start would keep the library, 7 MB, for as long as it runs.
 */
export async function createOnThread(order: CertificateOrder): Promise<CertificateAndKey> {
  const thread = new Worker(new URL('./certificate-thread.ts', import.meta.url), { workerData: order });
  const [made] = (await once(thread, 'message')) as [CertificateAndKey];
  await thread.terminate();
  return made;
}

/** Creates a certification authority (CA) of this installation, which clients can trust. */
export async function createCa(now: number): Promise<CertificateAndKey> {
  const {
    BasicConstraintsExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectKeyIdentifierExtension,
    X509CertificateGenerator,
  } = x509();
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: 'CN=cardvault local CA',
    ...validity(now, CA_DAYS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

/** Creates a server certificate for these names and addresses, signed by the CA. */
export async function createServerCertificate(
  ca: CertificateAndKey,
  names: Names,
  now: number,
): Promise<CertificateAndKey> {
  const {
    AuthorityKeyIdentifierExtension,
    BasicConstraintsExtension,
    ExtendedKeyUsage,
    ExtendedKeyUsageExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectAlternativeNameExtension,
    SubjectKeyIdentifierExtension,
    X509Certificate: Certificate,
    X509CertificateGenerator,
  } = x509();
  const keys = await generateKeys();
  const issuer = new Certificate(ca.certificate);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: 'CN=cardvault',
    issuer: issuer.subject,
    ...validity(now, SERVER_DAYS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(ca.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([...names]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      // RFC 5280 4.2.1.1; Python from 3.13 on rejects a server certificate without it.
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

/** Creates a certificate that states an RSA key and nothing more; returns its DER. */
export async function createSelfSigned(privateKey: KeyObject, commonName: string, now: number): Promise<Uint8Array> {
  const {
    BasicConstraintsExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectKeyIdentifierExtension,
    X509CertificateGenerator,
  } = x509();
  const { privateKey: signingKey, publicKey } = await importPair(privateKey);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [commonName] }],
    ...validity(now, SIGNING_DAYS),
    signingAlgorithm: SIGNING,
    keys: { privateKey: signingKey, publicKey },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.nonRepudiation, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return new Uint8Array(certificate.rawData);
}

/**
 * Returns the value of the extension that names the key, base64; undefined when the certificate has no such extension.
 */
export function namedKeyIdentifier(der: Uint8Array): string | undefined {
  const { SubjectKeyIdentifierExtension, X509Certificate: Certificate } = x509();
  const extension = new Certificate(der as Uint8Array<ArrayBuffer>).getExtension(SubjectKeyIdentifierExtension);
  return extension === null ? undefined : Buffer.from(extension.keyId, 'hex').toString('base64');
}

/** True when the certificate was signed with the key of the CA. */
export const isSignedBy = (certificate: string, ca: string): boolean =>
  new X509Certificate(certificate).verify(new X509Certificate(ca).publicKey);

/** Returns the milliseconds until the certificate expires; negative when it has expired. */
export const remainingValidityMs = (certificate: string, now: number): number =>
  new X509Certificate(certificate).validToDate.getTime() - now;

// One day earlier, for clients with a slow clock.
const validity = (now: number, days: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(now - DAY),
  notAfter: new Date(now + days * DAY),
});

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

function newSerial(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(SERIAL_BYTES));
  // Positive and without leading zeros, as RFC 5280 4.1.2.2 requires.
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const base64 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END PRIVATE KEY-----\n`;
}

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'), ALGORITHM, false, [
    'sign',
  ]);

async function importPair(
  key: KeyObject,
): Promise<{ privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey }> {
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' });
  const spki = toPublicKey(key).export({ format: 'der', type: 'spki' });
  try {
    return {
      privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, SIGNING, false, ['sign']),
      publicKey: await webcrypto.subtle.importKey('spki', spki, SIGNING, true, ['verify']),
    };
  } finally {
    pkcs8.fill(0);
  }
}
