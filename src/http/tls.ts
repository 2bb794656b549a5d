import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { type CertificateAndKey, createOnThread, isSignedBy, remainingValidityMs } from '../crypto/certificate.ts';
import { createIfAbsent, replaceAtomically } from '../crypto/secret-file.ts';
import { type Clock, DAY } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';

/** A self-signed server certificate is replaced when its remaining validity is less than this. */
const RENEWAL_MARGIN_MS = 30 * DAY;
/** The certificate of the CA is no secret. */
const WORLD_READABLE = 0o644;

const LOCAL_NAMES = [
  { type: 'dns', value: 'localhost' },
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '::1' },
] as const;

/** AEAD with ECDHE only; the first three are TLS 1.3. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_AES_128_GCM_SHA256',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

class TlsError extends OperatorError {
  override readonly name = 'TlsError';
}

export interface TlsFiles {
  /** PEM, with the chain. */
  readonly certificate: string;
  readonly key: string;
}

/** The operator's certificate and key; throws `TlsError` when they cannot be read or do not belong together. */
export function loadIdentity(files: TlsFiles): CertificateAndKey {
  try {
    const identity = { certificate: readFileSync(files.certificate, 'utf8'), key: readFileSync(files.key, 'utf8') };
    createSecureContext({ cert: identity.certificate, key: identity.key });
    return identity;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new TlsError(
      `the certificate ${files.certificate} and the key ${files.key} cannot be used together: ${code}`,
    );
  }
}

/**
 * Expiry of the listeners' certificate: the operator's, or the one created in the folder. Undefined when it cannot be
 * read.
 */
export function findCertificateExpiry(from: TlsFiles | string): number | undefined {
  return findExpiry(typeof from === 'string' ? serverFilePath(from) : from.certificate);
}

/** Returns when the first certificate of a PEM file expires, Unix time in milliseconds; undefined when it cannot be read. */
export function findExpiry(file: string): number | undefined {
  try {
    return new X509Certificate(readFileSync(file)).validToDate.getTime();
  } catch {
    // The listeners continue with the certificate they have read; this shows the present files to Health.
    return undefined;
  }
}

/** The folder of the certificates that cardvault creates. */
export const tlsFolderOf = (dataDirectory: string): string => join(dataDirectory, 'tls');

const serverFilePath = (folder: string): string => join(folder, 'server.pem');

/** The certificate of the CA created here, which clients have to trust. */
export const caFilePath = (folder: string): string => join(folder, 'ca.pem');

/** The content of that file, PEM; undefined when it cannot be read. */
export function readCaCertificate(folder: string): string | undefined {
  try {
    return readFileSync(caFilePath(folder), 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Returns a certificate for this machine, signed by a CA created here; both are stored in `folder` and created once.
 */
export async function loadOrCreateLocalIdentity(folder: string, clock: Clock): Promise<CertificateAndKey> {
  const ca = await loadOrCreateIdentity({
    file: join(folder, 'ca-key.pem'),
    isUsable: ({ certificate }) => remainingValidityMs(certificate, clock()) > RENEWAL_MARGIN_MS,
    create: () => createOnThread({ now: clock() }),
  });
  const server = await loadOrCreateIdentity({
    file: serverFilePath(folder),
    isUsable: ({ certificate }) =>
      remainingValidityMs(certificate, clock()) > RENEWAL_MARGIN_MS && isSignedBy(certificate, ca.certificate),
    create: () => createOnThread({ issuer: { ca, names: LOCAL_NAMES }, now: clock() }),
  });
  const caFile = caFilePath(folder);
  if (!existsSync(caFile) || readText(caFile) !== ca.certificate) {
    replaceAtomically(caFile, ca.certificate, WORLD_READABLE);
  }
  return server;
}

interface IdentityFile {
  /** Key and certificate in one file, so that a crash or a concurrent start never leaves a mismatched pair. */
  readonly file: string;
  isUsable(identity: CertificateAndKey): boolean;
  create(): Promise<CertificateAndKey>;
}

async function loadOrCreateIdentity({ file, isUsable, create: make }: IdentityFile): Promise<CertificateAndKey> {
  if (existsSync(file)) {
    const kept = readIdentityFile(file);
    if (isUsable(kept)) return kept;
    const renewed = await make();
    replaceAtomically(file, renewed.key + renewed.certificate);
    return renewed;
  }
  const made = await make();
  createIfAbsent(file, made.key + made.certificate);
  // Two concurrent first starts both use the files of the earlier one.
  return readIdentityFile(file);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TlsError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

/** Returns certificate and key of the listeners as the files have them; throws `TlsError` when they cannot be read. */
export function readIdentity(from: TlsFiles | string): CertificateAndKey {
  if (typeof from === 'string') return readIdentityFile(serverFilePath(from));
  return { certificate: readText(from.certificate), key: readText(from.key) };
}

function readIdentityFile(file: string): CertificateAndKey {
  const text = readText(file);
  const block = (name: string): string =>
    new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----\\n?`).exec(text)?.[0] ?? '';
  const identity = { certificate: block('CERTIFICATE'), key: block('PRIVATE KEY') };
  if (identity.certificate === '' || identity.key === '') {
    throw new TlsError(`${file} is damaged; remove it, and a new one is made`);
  }
  return identity;
}

export const tlsOptions = (identity: CertificateAndKey, maxVersion: SecureVersion) => ({
  cert: identity.certificate,
  key: identity.key,
  minVersion: 'TLSv1.2' as const,
  maxVersion,
  ciphers: CIPHERS,
  honorCipherOrder: true,
});

export type TlsOptions = ReturnType<typeof tlsOptions>;
