import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { StorageError } from '../database.ts';
import type { PostgresAddress } from './address.ts';

/** The file is read at each call. */
export function readPassword(address: PostgresAddress, passwordFile: string | undefined): string | undefined {
  if (passwordFile === undefined) return address.password;
  return readText(passwordFile, 'password file').replace(/\r?\n$/, '');
}

/** `false`: unencrypted. */
export function buildTlsOptions(address: PostgresAddress): ConnectionOptions | false {
  const { sslMode, sslRootCert, sslCert, sslKey } = address;
  if (sslMode === 'disable') return false;
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: sslMode !== 'require',
    ...(sslRootCert !== undefined && { ca: readText(sslRootCert, 'sslrootcert') }),
    ...(sslCert !== undefined && { cert: readText(sslCert, 'sslcert') }),
    ...(sslKey !== undefined && { key: readText(sslKey, 'sslkey') }),
    // The certificate is verified, except that it need not name this host.
    ...(sslMode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new StorageError(`the ${what} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}
