import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { userInfo } from 'node:os';
import type { ConnectionOptions } from 'node:tls';
import { StorageError } from '../database.ts';

/** Protection of the connection to the database, in the terms of libpq. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

type SslMode = (typeof SSL_MODES)[number];

/** The address of a PostgreSQL database. Several hosts are one cluster, of which the primary is used. */
export interface PostgresAddress {
  /** A host that starts with a slash is the folder of a Unix socket. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly database: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly sslMode: SslMode;
  /** PEM files: the trusted CA, and the client's certificate and key. */
  readonly sslRootCert: string | undefined;
  readonly sslCert: string | undefined;
  readonly sslKey: string | undefined;
}

const DEFAULT_PORT = 5432;
const MAX_PORT = 65_535;
const SHAPE = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/;
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];

/**
 * Parses `postgres://user:password@host:port,host:port/database?sslmode=…`. Throws an Error that states the expected
 * format and contains nothing of the address, because the address can contain a password.
 */
export function parseAddress(text: string): PostgresAddress {
  const found = SHAPE.exec(text);
  if (found === null) throw new Error('expected postgres://USER:PASSWORD@HOST:PORT/DATABASE');
  const [, login = '', authority = '', database = '', query = ''] = found;
  const colon = login.indexOf(':');
  // The defaults of PostgreSQL: the user of the process, and a database of that name.
  const user = decodePart(colon < 0 ? login : login.slice(0, colon)) || userInfo().username;
  const parameters = parseParameters(query);
  const hosts = parseHosts(authority, parameters.get('host'));
  const trust = { sslRootCert: parameters.get('sslrootcert') };
  const identity = { sslCert: parameters.get('sslcert'), sslKey: parameters.get('sslkey') };
  if ((identity.sslCert === undefined) !== (identity.sslKey === undefined))
    throw new Error('expected both sslcert and sslkey, or neither');
  return {
    hosts,
    database: decodePart(database) || user,
    user,
    password: colon < 0 ? undefined : decodePart(login.slice(colon + 1)),
    sslMode: parseSslMode(parameters.get('sslmode'), hosts.every(isThisMachine)),
    ...trust,
    ...identity,
  };
}

/** Formats the address for operators, without user, password and parameters. */
export const describeAddress = ({ hosts, database }: PostgresAddress): string =>
  `postgres://${hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')}/${database}`;

function parseParameters(query: string): Map<string, string> {
  const parameters = new Map(new URLSearchParams(query));
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name)) throw new Error(`expected no other parameters than ${PARAMETERS.join(', ')}`);
  return parameters;
}

function parseHosts(authority: string, socketFolder: string | undefined): PostgresAddress['hosts'] {
  if (socketFolder !== undefined) {
    if (!socketFolder.startsWith('/')) throw new Error('expected the folder of a socket as parameter host');
    return [{ host: socketFolder, port: parsePort(authority.replace(/^:/, '')) }];
  }
  const hosts = authority.split(',').map((part) => {
    const [, bracketed, plain, port = ''] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::([0-9]+))?$/.exec(part) ?? [];
    const host = bracketed ?? decodePart(plain ?? '');
    if (host === '') throw new Error('expected hosts as HOST:PORT, separated by commas');
    return { host, port: parsePort(port) };
  });
  return hosts;
}

function parsePort(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text);
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) throw new Error(`expected a port of 1 to ${MAX_PORT}`);
  return port;
}

/**
 * A connection to another machine is encrypted and the server's certificate verified, unless the address says
 * otherwise.
 */
function parseSslMode(text: string | undefined, stays: boolean): SslMode {
  if (text === undefined) return stays ? 'disable' : 'verify-full';
  const mode = SSL_MODES.find((name) => name === text);
  if (mode === undefined) throw new Error(`expected sslmode to be one of ${SSL_MODES.join(', ')}`);
  return mode;
}

const isThisMachine = ({ host }: { host: string }): boolean =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('expected user, password and names with special characters as %XX');
  }
}

/** True when connections to the database stay on this machine. */
export const isLocalAddress = ({ hosts }: PostgresAddress): boolean => hosts.every(isThisMachine);

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
