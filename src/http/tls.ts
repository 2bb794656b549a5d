import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { type Identity, isSignedBy, makeAuthority, makeServerIdentity, validFor } from '../crypto/certificate.ts';
import { type Clock, DAY } from '../kernel/clock.ts';

/** A self-made server certificate is replaced when it has less than this left. */
const RENEWED_BEFORE_MS = 30 * DAY;

const NAMES = [
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

export class TlsError extends Error {
  override readonly name = 'TlsError';
}

export interface TlsFiles {
  /** PEM, with the chain. */
  readonly certificate: string;
  readonly key: string;
}

/** The operator's certificate and key; throws `TlsError` when they cannot be read or do not belong together. */
export function readIdentity(files: TlsFiles): Identity {
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

/** The certificate of the authority made here, for clients to trust. */
export const authorityFileIn = (folder: string): string => join(folder, 'ca.pem');

/** A certificate for this machine, signed by an authority made here; both are kept in `folder` and made once. */
export async function localIdentity(folder: string, clock: Clock): Promise<Identity> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = await keptIdentity({
    file: join(folder, 'ca-key.pem'),
    isGood: ({ certificate }) => validFor(certificate, clock()) > RENEWED_BEFORE_MS,
    make: () => makeAuthority(clock()),
  });
  const server = await keptIdentity({
    file: join(folder, 'server.pem'),
    isGood: ({ certificate }) =>
      validFor(certificate, clock()) > RENEWED_BEFORE_MS && isSignedBy(certificate, authority.certificate),
    make: () => makeServerIdentity(authority, NAMES, clock()),
  });
  const authorityFile = authorityFileIn(folder);
  if (!existsSync(authorityFile) || readFileSync(authorityFile, 'utf8') !== authority.certificate) {
    writeWhole(authorityFile, authority.certificate, 0o644, renameSync);
  }
  return server;
}

interface KeptIdentity {
  /** Key and certificate in one file, so that a crash or a second starter never leaves a pair that does not fit. */
  readonly file: string;
  isGood(identity: Identity): boolean;
  make(): Promise<Identity>;
}

async function keptIdentity({ file, isGood, make }: KeptIdentity): Promise<Identity> {
  if (existsSync(file)) {
    const kept = readBoth(file);
    if (isGood(kept)) return kept;
    const renewed = await make();
    writeWhole(file, renewed.key + renewed.certificate, 0o600, renameSync);
    return renewed;
  }
  const made = await make();
  writeWhole(file, made.key + made.certificate, 0o600, linkUnlessThere);
  // Of two first starters the earlier one's is kept by both.
  return readBoth(file);
}

function readBoth(file: string): Identity {
  const text = readFileSync(file, 'utf8');
  const block = (name: string): string =>
    new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----\\n?`).exec(text)?.[0] ?? '';
  const identity = { certificate: block('CERTIFICATE'), key: block('PRIVATE KEY') };
  if (identity.certificate === '' || identity.key === '') {
    throw new TlsError(`${file} is damaged; remove it, and a new one is made`);
  }
  return identity;
}

function writeWhole(file: string, content: string, mode: number, place: (draft: string, file: string) => void): void {
  // A folder of its own, because several starters may be at it.
  const folder = mkdtempSync(`${file}.new-`);
  const draft = join(folder, basename(file));
  try {
    writeFileSync(draft, content, { mode, flush: true });
    place(draft, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function linkUnlessThere(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  }
}

export const tlsOptions = (identity: Identity, maxVersion: SecureVersion) => ({
  cert: identity.certificate,
  key: identity.key,
  minVersion: 'TLSv1.2' as const,
  maxVersion,
  ciphers: CIPHERS,
  honorCipherOrder: true,
});

export type TlsOptions = ReturnType<typeof tlsOptions>;
