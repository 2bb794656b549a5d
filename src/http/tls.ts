import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { type Identity, makeAuthority, makeServerIdentity, validFor } from '../crypto/certificate.ts';
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

/** A certificate for this machine, signed by an authority made here; both are kept in `folder` and made once. */
export async function localIdentity(folder: string, clock: Clock): Promise<Identity & { authorityFile: string }> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = await keptIdentity(folder, 'ca', clock, 0, () => makeAuthority(clock()));
  const server = await keptIdentity(folder, 'server', clock, RENEWED_BEFORE_MS, () =>
    makeServerIdentity(authority, NAMES, clock()),
  );
  return { ...server, authorityFile: join(folder, 'ca.pem') };
}

async function keptIdentity(
  folder: string,
  name: string,
  clock: Clock,
  margin: number,
  make: () => Promise<Identity>,
): Promise<Identity> {
  const files = { certificate: join(folder, `${name}.pem`), key: join(folder, `${name}-key.pem`) };
  if (existsSync(files.certificate) && existsSync(files.key)) {
    const kept = readIdentity(files);
    if (validFor(kept.certificate, clock()) > margin) return kept;
  }
  const made = await make();
  // The key first: a certificate without its key would be taken for a whole identity.
  replaceFile(files.key, made.key, 0o600);
  replaceFile(files.certificate, made.certificate, 0o644);
  return made;
}

function replaceFile(path: string, content: string, mode: number): void {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, content, { mode, flush: true });
  renameSync(draft, path);
}

export const tlsOptions = (identity: Identity, maxVersion: SecureVersion) => ({
  cert: identity.certificate,
  key: identity.key,
  minVersion: 'TLSv1.2' as const,
  maxVersion,
  ciphers: CIPHERS,
  honorCipherOrder: true,
});
