import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseCidr } from './accounts/allow-list.ts';
import type { ReceiverTls, ShippingTarget } from './audit/shipping.ts';
import type { SyslogAddress } from './audit/syslog.ts';
import type { CustodyOptions } from './crypto/custody/choose.ts';
import { DEFAULT_FILES, DEFAULT_SOCKET, type ParsedCustody, parseCustody } from './crypto/custody/parse-custody.ts';
import type { Host } from './http/listeners.ts';
import type { LogLevel } from './http/log.ts';
import { HSTS_SCOPES, type HstsScope } from './http/strict-transport.ts';
import type { TlsFiles } from './http/tls.ts';
import { DAY, HOUR, MINUTE, SECOND } from './kernel/clock.ts';
import { assertUnambiguous } from './kernel/displayable.ts';
import { Failure } from './kernel/failure.ts';
import { LIMITS } from './kernel/limits.ts';
import { OperatorError } from './kernel/operator-error.ts';
import { parseHostEntry } from './payments/processor-hosts.ts';
import type { KeyPeriods } from './rotation/key-ages.ts';
import type { DatabaseOptions } from './storage/open.ts';
import { type PostgresAddress, parseAddress } from './storage/postgres/address.ts';
import { parseSchedule } from './webhooks/schedule.ts';

export interface Config {
  readonly dataDirectory: string;
  readonly database: DatabaseOptions;
  /** True when the database is the one in the data directory. */
  readonly isEmbedded: boolean;
  /** Custody of the root key. */
  readonly rootKey: CustodyOptions;
  /** Nodes that unseal each other; undefined: none. */
  readonly unsealPeers: UnsealPeersSettings | undefined;
  readonly ports: {
    readonly production: number;
    readonly sandbox: number;
    readonly console: number;
    readonly cards: number;
  };
  readonly cardForm: {
    /** The public origin of the card form, when the operator configured it. */
    readonly origin: string | undefined;
    /** True when the port is the default, so that the service starts without it while another process has it. */
    readonly mayBeMissing: boolean;
    /** Submissions, wrong secrets and unknown ids a minute and address; 0 is no limit. */
    readonly perMinute: number;
  };
  /** Address of the console for users, such as `https://console.example.com`, when the operator configured it. */
  readonly consoleUrl: string | undefined;
  /** Which responses make browsers use TLS alone. */
  readonly hsts: HstsScope;
  readonly operatorName: string | undefined;
  /** The file into which the heads of the audit log are written. */
  readonly auditHeadsFile: string | undefined;
  /** Time between two signed checkpoints of the audit log. */
  readonly auditCheckpointMs: number;
  /** How long records of the audit log remain in the database. */
  readonly auditRetentionMs: number;
  readonly auditReceivers: AuditReceivers;
  readonly hosts: readonly Host[];
  readonly trustedProxies: readonly string[];
  readonly rates: { readonly perKey: number; readonly failedAuthentication: number };
  /** Concurrent connections of one address, for each listener and request thread; 0 is no limit. */
  readonly connectionsPerAddress: number;
  readonly metricsAllow: readonly string[];
  /** `host:port` that live cards may be sent to in addition to the documented hosts of processors. */
  readonly processorHosts: readonly string[];
  readonly tlsFiles: TlsFiles | undefined;
  readonly tlsMaxVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly logLevel: LogLevel;
  readonly drainMs: number;
  /** The server that sends mails of the console; undefined: none. */
  readonly smtp: SmtpSettings | undefined;
  /** Public keys that backups are encrypted for; checked by the command that uses them. */
  readonly backupRecipients: readonly string[];
  /** Encrypted backups that are kept in a folder; 0: all. */
  readonly backupKeep: number;
  /** Milliseconds after which a backup, and a drill, are overdue; undefined: never. */
  readonly backupMaxAges: { readonly backup: number | undefined; readonly drill: number | undefined };
  /** Threads that serve the API; 1: the main thread. */
  readonly workers: number;
  /** Rows of the request log; 0: no log. */
  readonly requestLogRows: number;
  readonly webhooks: {
    /** Networks that webhooks may be sent to although they are not public. */
    readonly networks: readonly string[];
    /** Milliseconds after each failed attempt. */
    readonly delays: readonly number[];
  };
  /** Rows that a rotation of keys seals again each second. */
  readonly rotationRate: number;
  /** Traces of requests; undefined: none. */
  readonly traces: TracesSettings | undefined;
  /** Ages of keys from which on alerts remind of a rotation. */
  readonly keyPeriods: KeyPeriods;
}

/** Mutual TLS between nodes that unseal each other; see `src/unseal-peers.ts`. */
export interface UnsealPeersSettings {
  /** The port on which this node gives the root key to its peers. */
  readonly port: number;
  readonly identity: TlsFiles;
  readonly peers: readonly UnsealPeer[];
}

/** Another node. */
export interface UnsealPeer {
  readonly host: string;
  readonly port: number;
  /** SHA-256 of its certificate, 64 hexadecimal digits in lower case. */
  readonly fingerprint: string;
}

/** A collector of traces. */
interface TracesSettings {
  /** A text, because threads cannot pass a URL. */
  readonly url: string;
  readonly headersFile: string | undefined;
  readonly caFile: string | undefined;
  /** The part of the traces that is sent, from 0 to 1. */
  readonly ratio: number;
}

/** Receivers of the audit log; undefined: none of the kind. */
export interface AuditReceivers {
  readonly syslog: SyslogAddress | undefined;
  readonly otlp: { readonly url: URL; readonly headersFile: string | undefined } | undefined;
  readonly tls: ReceiverTls;
}

export const listReceivers = ({ syslog, otlp }: AuditReceivers): readonly ShippingTarget[] => [
  ...(syslog === undefined ? [] : (['syslog'] as const)),
  ...(otlp === undefined ? [] : (['otlp'] as const)),
];

/** Returns the PEM files with which the service is a client of another one, by their use. */
export function listClientCertificates({
  auditReceivers,
  database,
}: Pick<Config, 'auditReceivers' | 'database'>): readonly (readonly [use: string, file: string])[] {
  const receivers = auditReceivers.tls.certificate?.certificateFile;
  const ofDatabase = database.kind === 'postgres' ? database.address.sslCert : undefined;
  return [
    ...(receivers === undefined ? [] : [['audit_receivers', receivers] as const]),
    ...(ofDatabase === undefined ? [] : [['database', ofDatabase] as const]),
  ];
}

/** An SMTP server; see `console/alerts/smtp.ts`. */
interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** False for a server on this machine. */
  readonly requiresTls: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

interface SmtpSettings extends SmtpAddress {
  readonly passwordFile: string | undefined;
  readonly from: string;
}

/** A setting with the parser of its variable. The parser throws an Error that states the expected format. */
interface Setting<T> {
  readonly fallback: string;
  readonly description: string;
  parse(text: string): T;
}

const setting = <T>(fallback: string, description: string, parse: (text: string) => T): Setting<T> => ({
  fallback,
  description,
  parse,
});

const expected = (what: string): never => {
  throw new Error(`expected ${what}`);
};

function parseInteger(text: string, min: number, max: number): number {
  const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : expected(`a whole number of ${min} to ${max}`);
}

const port = (fallback: number, description: string): Setting<number> =>
  setting(String(fallback), description, (text) => parseInteger(text, 0, 65_535));

const period = (description: string): Setting<number> =>
  setting('365', `${description}; 0: never`, (text) => parseInteger(text, 0, LIMITS.keyPeriodDays));

const commaList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const networks = (fallback: string, description: string): Setting<string[]> =>
  setting(fallback, description, (text) =>
    commaList(text).map((part) => parseCidr(part) ?? expected('addresses or CIDR networks, separated by commas')),
  );

const oneOf = <W extends string>(words: readonly W[], description: string, fallback: W): Setting<W> =>
  setting<W>(
    fallback,
    description,
    (text) => words.find((word) => word === text) ?? expected(`one of ${words.join(', ')}`),
  );

/** Returns an origin in the normal form of browsers. */
function parseHttpsOrigin(text: string): string {
  const url = URL.parse(text);
  const isOrigin = url !== null && url.protocol === 'https:' && (text === url.origin || text === `${url.origin}/`);
  return isOrigin ? url.origin : expected('https://HOST or https://HOST:PORT, in lower case, without a path');
}

/** Returns an origin that is written as browsers write it: buyers' browsers compare it literally. */
function parseWrittenOrigin(text: string): string {
  return text === '' || (URL.parse(text)?.origin === text && text.startsWith('https://'))
    ? text
    : expected('https://HOST or https://HOST:PORT as browsers write it');
}

/** Throws for a name that is too long, or that the audit log could not show unchanged. */
function parseOperatorName(text: string): string {
  if ([...text].length > LIMITS.operatorNameCharacters || text.trim() !== text)
    expected(`1 to ${LIMITS.operatorNameCharacters} characters, without spaces around them`);
  assertUnambiguous(text, 'CARDVAULT_OPERATOR');
  return text;
}

const SMTP_FORM = 'smtp://USER:PASSWORD@HOST:PORT, or smtps://…, with special characters percent-encoded';
const SMTP_PORTS = { 'smtp:': 587, 'smtps:': 465 };
const LOOPBACK = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/;

/** The error never contains the address, which may contain a password. */
function parseSmtpAddress(text: string): SmtpAddress | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  const protocol = url?.protocol;
  if (url === null || (protocol !== 'smtp:' && protocol !== 'smtps:') || url.hostname === '')
    return expected(SMTP_FORM);
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') return expected(SMTP_FORM);
  const decode = (part: string): string | undefined => {
    try {
      return part === '' ? undefined : decodeURIComponent(part);
    } catch {
      return expected(SMTP_FORM);
    }
  };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? SMTP_PORTS[protocol] : Number(url.port),
    isTls: protocol === 'smtps:',
    requiresTls: !LOOPBACK.test(url.hostname),
    user: decode(url.username),
    password: decode(url.password),
  };
}

const SYSLOG_FORM = 'tls://HOST:PORT, without user, path and query';
const SYSLOG_PORT = 6514;

function parseSyslogAddress(text: string): SyslogAddress | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'tls:' || url.hostname === '') return expected(SYSLOG_FORM);
  if (
    !['', '/'].includes(url.pathname) ||
    [url.search, url.hash, url.username, url.password].some((part) => part !== '')
  )
    return expected(SYSLOG_FORM);
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? SYSLOG_PORT : Number(url.port) };
}

/** The error never contains the address, which may contain a secret. */
function parseReceiverUrl(text: string): URL | undefined {
  if (text === '') return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && [url.hash, url.username, url.password].every((part) => part === '');
  return isPlain && url.protocol === 'https:' ? url : expected('https://HOST:PORT/PATH, without user and fragment');
}

/** Plain HTTP is for a collector on this machine. The error never contains the address, which may contain a secret. */
function parseCollectorUrl(text: string): string {
  if (text === '') return '';
  const url = URL.parse(text);
  const isPlain = url !== null && [url.hash, url.username, url.password].every((part) => part === '');
  const isProtected = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  return isPlain && isProtected ? url.href : expected('https://HOST:PORT/PATH, without user and fragment');
}

function parseRatio(text: string): number {
  const number = /^[01](\.[0-9]{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  return number <= 1 ? number : expected('a number from 0 to 1, as 0.05');
}

/** A whole number of days. */
function parseDays(text: string, min: number, max: number): number {
  const [, days] = /^([0-9]{1,6})d$/.exec(text) ?? [];
  const number = Number(days ?? Number.NaN);
  return number >= min && number <= max ? number : expected(`${min}d to ${max}d`);
}

/** The systems that distribute the connections to one port among several threads. */
const canSharePorts = process.platform === 'linux' || process.platform === 'freebsd';

function parseWorkers(text: string): number {
  if (text !== '') {
    const workers = parseInteger(text, 1, LIMITS.requestWorkers);
    return workers === 1 || canSharePorts ? workers : expected('1: on this system several threads cannot share a port');
  }
  return canSharePorts ? Math.min(Math.max(1, availableParallelism() - 1), LIMITS.requestWorkers) : 1;
}

const CUSTODY_FORM =
  'file[:PATH], passphrase[:PATH], custodians[:PATH], pkcs11:MODULE?token=LABEL&object=LABEL or awskms:KEY-ARN';
const PEER_FORM = 'HOST:PORT#SHA256 with 64 hexadecimal digits';

/** Returns the address of a service; plain HTTP is for this machine alone. */
function parseEndpoint(text: string): string {
  const url = URL.parse(text);
  const isGood = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  return isGood ? text : expected('https://HOST or https://HOST:PORT');
}

/** Fingerprints may have colons, as `openssl x509 -fingerprint -sha256` prints them. */
function parseUnsealPeer(text: string): UnsealPeer | undefined {
  const [, host = '', port = '', digits = ''] =
    /^(\[[0-9a-fA-F:]+\]|[^\s#:[\]]+):([0-9]{1,5})#([0-9a-fA-F:]+)$/.exec(text) ?? [];
  const fingerprint = digits.replaceAll(':', '').toLowerCase();
  const isGood = Number(port) >= 1 && Number(port) <= 65_535 && /^[0-9a-f]{64}$/.test(fingerprint);
  return isGood ? { host: host.replace(/^\[|\]$/g, ''), port: Number(port), fingerprint } : undefined;
}

/** A number of 32 bits, or a name that `groupadd` accepts. */
const GROUP = /^([0-9]{1,9}|[a-z_][a-z0-9_.-]{0,31})$/i;

const DEFAULT_HOST = '127.0.0.1,::1';
const MAX_RATE = 1_000_000;
const MAX_DRAIN_SECONDS = 600;
const MAX_KEPT_BACKUPS = 100_000;
const MAX_AGE_HOURS = 100_000;
const MAX_AGE_DAYS = 10_000;
const MAX_CONNECTIONS = 64;
const MAX_TIMEOUT_MS = 600_000;
const MAX_CHECKPOINT_MINUTES = 1440;

/** Every setting of the service. `docs/operations.md` documents each, which a test checks. */
export const SETTINGS = {
  CARDVAULT_DATA_DIR: setting('./data', 'Directory of everything that is made here', (text) => resolve(text)),
  CARDVAULT_DATABASE_URL: setting(
    '',
    'Empty: SQLite in the data directory; otherwise sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    (text): string | PostgresAddress => {
      if (/^postgres(ql)?:/.test(text)) return parseAddress(text);
      return text === '' || /^sqlite:./.test(text)
        ? text.slice('sqlite:'.length)
        : expected('sqlite:PATH or postgres://…');
    },
  ),
  CARDVAULT_DATABASE_PASSWORD_FILE: setting(
    '',
    'PostgreSQL: a file with the password, instead of one in the address',
    (text) => text,
  ),
  CARDVAULT_DATABASE_WRITERS: setting('2', 'PostgreSQL: connections that write', (text) =>
    parseInteger(text, 1, MAX_CONNECTIONS),
  ),
  CARDVAULT_DATABASE_READERS: setting('4', 'PostgreSQL: connections that read', (text) =>
    parseInteger(text, 1, MAX_CONNECTIONS),
  ),
  CARDVAULT_DATABASE_CONNECT_TIMEOUT_MS: setting('5000', 'PostgreSQL: how long to wait for a connection', (text) =>
    parseInteger(text, 100, MAX_TIMEOUT_MS),
  ),
  CARDVAULT_DATABASE_STATEMENT_TIMEOUT_MS: setting('10000', 'PostgreSQL: how long a statement may take', (text) =>
    parseInteger(text, 100, MAX_TIMEOUT_MS),
  ),
  CARDVAULT_DATABASE_SHARDED: oneOf(['false', 'true'], 'PostgreSQL: accounts are on different machines', 'false'),
  CARDVAULT_CLOCK: oneOf(['database', 'system'], 'PostgreSQL: whose time counts', 'database'),
  CARDVAULT_ROOT_KEY: setting(
    'file',
    'Custody of the root key: file, passphrase, custodians (each with :PATH), pkcs11:MODULE?token=…&object=…, awskms:KEY-ARN',
    (text) => parseCustody(text) ?? expected(CUSTODY_FORM),
  ),
  CARDVAULT_ROOT_KEY_FILE: setting(
    '',
    'The file with the root key, or with the sealed one; empty: root.key, or root.sealed, in the data directory',
    (text) => text,
  ),
  CARDVAULT_ROOT_KEY_PASSPHRASE_FILE: setting(
    '',
    'A file with the passphrase of the root key, or the PIN of the token; empty: systemd credential, or the terminal',
    (text) => text,
  ),
  CARDVAULT_LIBRARIES: setting(
    '',
    'Folder in which the libraries for PKCS#11 and AWS KMS are installed; empty: that of cardvault',
    (text) => (text === '' ? '' : resolve(text)),
  ),
  CARDVAULT_AWS_KMS_ENDPOINT: setting('', 'AWS KMS: another endpoint than that of the region, https://HOST', (text) =>
    text === '' ? '' : parseEndpoint(text),
  ),
  CARDVAULT_SOCKET: setting(
    '',
    'Socket for commands beside a node that custodians unsealed; empty: run/unseal.sock in the data directory',
    (text) => text,
  ),
  CARDVAULT_UNSEAL_PORT: setting('', 'Port on which nodes unseal each other; empty: off', (text) =>
    text === '' ? undefined : parseInteger(text, 1, 65_535),
  ),
  CARDVAULT_UNSEAL_CERT: setting('', 'Certificate of this node for its peers, PEM', (text) => text),
  CARDVAULT_UNSEAL_KEY: setting('', 'Private key of that certificate, PEM', (text) => text),
  CARDVAULT_UNSEAL_PEERS: setting(
    '',
    'Nodes that unseal each other, HOST:PORT#SHA256 of their certificates, separated by commas',
    (text) =>
      commaList(text).map((part, index) => parseUnsealPeer(part) ?? expected(`${PEER_FORM} as entry ${index + 1}`)),
  ),
  CARDVAULT_ROOT_KEY_GROUP: setting(
    '',
    'Group whose members may read the root key and use the database, by name or number; empty: none',
    (text) => (text === '' || GROUP.test(text) ? text : expected('the name or number of a group')),
  ),
  CARDVAULT_HOST: setting(DEFAULT_HOST, 'Addresses to listen on, separated by commas', (text) => {
    const hosts = commaList(text).map((address) => ({ address, mayBeMissing: text === DEFAULT_HOST }));
    return hosts.length > 0 && hosts.every(({ address }) => !address.includes('/') && parseCidr(address) !== undefined)
      ? hosts
      : expected('IP addresses, separated by commas');
  }),
  CARDVAULT_PRODUCTION_PORT: port(8443, 'Port of production; 0 picks a free one'),
  CARDVAULT_SANDBOX_PORT: port(8444, 'Port of the sandbox; 0 picks a free one'),
  CARDVAULT_CONSOLE_PORT: port(8445, 'Port of the console, with /metrics; 0 picks a free one'),
  CARDVAULT_CAPTURE_PORT: port(8446, 'Port of the card form; 0 picks a free one'),
  CARDVAULT_CAPTURE_ORIGIN: setting(
    '',
    'Where buyers reach the card form, https://HOST or https://HOST:PORT; empty: localhost and its port, for the sandbox alone',
    parseWrittenOrigin,
  ),
  CARDVAULT_RATE_LIMIT_CAPTURE: setting(
    '60',
    'Submissions of the card form, wrong secrets and unknown ids a minute for each address; 0 is no limit',
    (text) => parseInteger(text, 0, MAX_RATE),
  ),
  CARDVAULT_CONSOLE_URL: setting(
    '',
    'Where people reach the console, https://HOST:PORT; empty: localhost and the port of the console',
    (text) => (text === '' ? '' : parseHttpsOrigin(text)),
  ),
  CARDVAULT_HSTS: setting(
    'pages',
    'Which responses make browsers use TLS alone: pages, host (those of the interface too) or subdomains',
    (text) => HSTS_SCOPES.find((scope) => scope === text) ?? expected(HSTS_SCOPES.join(', ')),
  ),
  CARDVAULT_AUDIT_HEADS_FILE: setting('', 'File for the heads of the audit log; empty: none', (text) => text),
  CARDVAULT_AUDIT_CHECKPOINT_MINUTES: setting(
    '60',
    'Time between two signed checkpoints of the audit log, in minutes',
    (text) => parseInteger(text, 1, MAX_CHECKPOINT_MINUTES),
  ),
  CARDVAULT_AUDIT_RETENTION: setting(
    '365d',
    'How long records of the audit log remain in the database at least; audit prune removes older ones',
    (text) => parseDays(text, LIMITS.auditDaysAtHand, LIMITS.auditRetentionDays),
  ),
  CARDVAULT_AUDIT_SYSLOG: setting(
    '',
    'Syslog server that gets the audit log, tls://HOST:PORT; empty: none',
    parseSyslogAddress,
  ),
  CARDVAULT_AUDIT_OTLP: setting(
    '',
    'OpenTelemetry collector that gets the audit log, https://HOST:PORT/v1/logs; empty: none',
    parseReceiverUrl,
  ),
  CARDVAULT_AUDIT_OTLP_HEADERS_FILE: setting(
    '',
    'A file with headers for the collector, lines of NAME: VALUE',
    (text) => text,
  ),
  CARDVAULT_AUDIT_RECEIVER_CA: setting(
    '',
    'Authorities that certify the receivers of the audit log, PEM; empty: those of Node',
    (text) => text,
  ),
  CARDVAULT_AUDIT_RECEIVER_CERT: setting(
    '',
    'Certificate of cardvault for the receivers of the audit log, PEM; empty: none',
    (text) => text,
  ),
  CARDVAULT_AUDIT_RECEIVER_KEY: setting('', 'Private key of that certificate, PEM', (text) => text),
  CARDVAULT_TRACES_OTLP: setting(
    '',
    'OpenTelemetry collector that gets traces of requests, https://HOST:PORT/v1/traces; empty: none',
    parseCollectorUrl,
  ),
  CARDVAULT_TRACES_OTLP_HEADERS_FILE: setting(
    '',
    'A file with headers for the collector of traces, lines of NAME: VALUE',
    (text) => text,
  ),
  CARDVAULT_TRACES_CA: setting(
    '',
    'Authorities that certify the collector of traces, PEM; empty: those of Node',
    (text) => text,
  ),
  CARDVAULT_TRACES_RATIO: setting('1', 'The part of the traces that is sent, from 0 to 1', parseRatio),
  CARDVAULT_OPERATOR: setting(
    '',
    'Commands: name of the operator in the audit log; empty: the user of the operating system',
    parseOperatorName,
  ),
  CARDVAULT_TRUSTED_PROXIES: networks('', 'Proxies whose X-Forwarded-For is believed, addresses or CIDR'),
  CARDVAULT_RATE_LIMIT_PER_KEY: setting(
    '1000',
    'Requests a second for each key, burst twice that; 0 is no limit',
    (text) => parseInteger(text, 0, MAX_RATE),
  ),
  CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: setting(
    '60',
    'Failed authentications a minute for each address; 0 is no limit',
    (text) => parseInteger(text, 0, MAX_RATE),
  ),
  CARDVAULT_CONNECTIONS_PER_ADDRESS: setting(
    '1024',
    'Connections of one address at the same time, for each listener and request thread; 0 is no limit',
    (text) => parseInteger(text, 0, LIMITS.connections),
  ),
  CARDVAULT_METRICS_ALLOW: networks('127.0.0.0/8,::1', 'Who may read /metrics, addresses or CIDR'),
  CARDVAULT_PROCESSOR_HOSTS: setting(
    '',
    'Hosts that production may send cards to beside those that processors document, HOST:PORT, separated by commas',
    (text) =>
      commaList(text).map(
        (part, index) =>
          parseHostEntry(part) ?? expected(`HOST:PORT as entry ${index + 1}, with the port and no https://`),
      ),
  ),
  CARDVAULT_TLS_CERT: setting(
    '',
    'Certificate with its chain, PEM; empty: one is made for this machine',
    (text) => text,
  ),
  CARDVAULT_TLS_KEY: setting('', 'Private key of that certificate, PEM', (text) => text),
  CARDVAULT_TLS_MAX_VERSION: oneOf(['1.2', '1.3'], 'Newest TLS version that is spoken', '1.3'),
  CARDVAULT_LOG_LEVEL: oneOf<LogLevel>(
    ['debug', 'info', 'warn', 'error', 'silent'],
    'Least important lines that are logged',
    'info',
  ),
  CARDVAULT_DRAIN_SECONDS: setting('30', 'How long a stop waits for requests in progress', (text) =>
    parseInteger(text, 0, MAX_DRAIN_SECONDS),
  ),
  CARDVAULT_SMTP_URL: setting(
    '',
    'Server that sends mails about alerts, smtp://USER:PASSWORD@HOST:PORT or smtps://…; empty: no mails',
    parseSmtpAddress,
  ),
  CARDVAULT_SMTP_PASSWORD_FILE: setting('', 'A file with the password of the SMTP server', (text) => text),
  CARDVAULT_SMTP_FROM: setting('', 'Sender of the mails, an email address', (text) =>
    text === '' || /^[^\s@<>"]+@[^\s@<>"]+$/.test(text) ? text : expected('an email address'),
  ),
  CARDVAULT_BACKUP_RECIPIENTS: setting(
    '',
    'Commands: public keys (age1…) that backups are encrypted for, separated by commas',
    (text) => {
      const recipients = commaList(text);
      return recipients.every((recipient) => /^age1[a-z0-9]+$/.test(recipient))
        ? recipients
        : expected('public keys that start with age1, separated by commas');
    },
  ),
  CARDVAULT_BACKUP_KEEP: setting(
    '0',
    'Commands: encrypted backups that are kept in a folder; older ones are removed after a new one was verified; 0: all',
    (text) => parseInteger(text, 0, MAX_KEPT_BACKUPS),
  ),
  CARDVAULT_BACKUP_MAX_AGE: setting('0', 'Hours after which a missing new backup causes an alert; 0: never', (text) =>
    parseInteger(text, 0, MAX_AGE_HOURS),
  ),
  CARDVAULT_DRILL_MAX_AGE: setting(
    '0',
    'Days after which a missing successful drill of a backup causes an alert; 0: never',
    (text) => parseInteger(text, 0, MAX_AGE_DAYS),
  ),
  CARDVAULT_WORKERS: setting(
    '',
    'Threads that serve the API; empty: one less than the cores, at least 1 and at most 8',
    parseWorkers,
  ),
  CARDVAULT_REQUEST_LOG_ROWS: setting(
    '1000000',
    'Requests that the request log keeps, for 30 days at most; 0 switches it off',
    (text) => parseInteger(text, 0, LIMITS.requestLogRows),
  ),
  CARDVAULT_WEBHOOK_NETWORKS: networks(
    '',
    'Networks that webhooks may be sent to although they are not public, addresses or CIDR',
  ),
  CARDVAULT_WEBHOOK_SCHEDULE: setting(
    '5s,5m,30m,2h,5h,10h,14h,20h,24h',
    'How long after each failed attempt a webhook is sent again',
    (text) => parseSchedule(text) ?? expected('1 to 20 delays of 1s to 24h, as 5s,5m,2h'),
  ),
  CARDVAULT_ROTATION_RATE: setting('1000', 'Records that a rotation of keys seals again each second, at most', (text) =>
    parseInteger(text, 1, LIMITS.rotationRate),
  ),
  CARDVAULT_KEY_PERIOD_ROOT_DAYS: period('Age of the root key, in days, from which on alerts remind of its rotation'),
  CARDVAULT_KEY_PERIOD_WRAPPING_DAYS: period('The same for wrapping keys'),
  CARDVAULT_KEY_PERIOD_DATA_DAYS: period('The same for data keys'),
  CARDVAULT_KEY_PERIOD_DIGEST_DAYS: period('The same for keys of fingerprints, digests and MACs'),
};

type Settings = { readonly [K in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[K]['parse']> };

/** Thrown with all problems together. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError';
  override readonly isUsageError = true;
  override readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`the configuration has ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`);
    this.problems = problems;
  }
}

/** Variables that Kubernetes sets automatically in pods next to a service named cardvault. */
const isKubernetesVariable = (name: string, variables: Variables): boolean =>
  /^CARDVAULT_(SERVICE_|PORT$|PORT_[0-9])/.test(name) && variables['CARDVAULT_SERVICE_HOST'] !== undefined;

type Variables = Readonly<Record<string, string | undefined>>;

export function parseConfig(variables: Variables): Config {
  const problems = Object.keys(variables)
    .filter(
      (name) =>
        name.startsWith('CARDVAULT_') && !Object.hasOwn(SETTINGS, name) && !isKubernetesVariable(name, variables),
    )
    .map((name) => `${name}: there is no such setting`);
  const values: Record<string, unknown> = {};
  for (const [name, { fallback, parse: read }] of Object.entries(SETTINGS)) {
    const given = variables[name];
    try {
      values[name] = read(given === undefined || given === '' ? fallback : given);
    } catch (error) {
      const { message } = error as Error;
      problems.push(error instanceof Failure ? message : `${name}: ${message}`);
    }
  }
  if (((variables['CARDVAULT_TLS_CERT'] ?? '') === '') !== ((variables['CARDVAULT_TLS_KEY'] ?? '') === '')) {
    problems.push('CARDVAULT_TLS_CERT and CARDVAULT_TLS_KEY: set both or neither');
  }
  if (
    ((variables['CARDVAULT_AUDIT_RECEIVER_CERT'] ?? '') === '') !==
    ((variables['CARDVAULT_AUDIT_RECEIVER_KEY'] ?? '') === '')
  ) {
    problems.push('CARDVAULT_AUDIT_RECEIVER_CERT and CARDVAULT_AUDIT_RECEIVER_KEY: set both or neither');
  }
  if (((variables['CARDVAULT_SMTP_URL'] ?? '') === '') !== ((variables['CARDVAULT_SMTP_FROM'] ?? '') === '')) {
    problems.push('CARDVAULT_SMTP_URL and CARDVAULT_SMTP_FROM: set both or neither');
  }
  const custody = values['CARDVAULT_ROOT_KEY'] as ParsedCustody | undefined;
  if (custody?.path !== undefined && (variables['CARDVAULT_ROOT_KEY_FILE'] ?? '') !== '')
    problems.push('CARDVAULT_ROOT_KEY and CARDVAULT_ROOT_KEY_FILE: give the path in one of them');
  const peerSettings = ['PORT', 'CERT', 'KEY', 'PEERS'].filter(
    (name) => (variables[`CARDVAULT_UNSEAL_${name}`] ?? '') !== '',
  );
  if (peerSettings.length > 0 && (peerSettings.length < 4 || (custody !== undefined && custody.kind !== 'custodians')))
    problems.push('CARDVAULT_UNSEAL_…: set PORT, CERT, KEY and PEERS together, with custody by custodians, or none');
  const used = ['PRODUCTION', 'SANDBOX', 'CONSOLE', 'CAPTURE', 'UNSEAL']
    .map((listener) => values[`CARDVAULT_${listener}_PORT`])
    .filter((number) => number !== undefined && number !== 0);
  if (new Set(used).size < used.length)
    problems.push(
      'CARDVAULT_…_PORT: production, sandbox, console, card form and the unsealing of peers need ports of their own',
    );
  if (problems.length > 0) throw new ConfigError(problems);
  const isCapturePortSet = (variables['CARDVAULT_CAPTURE_PORT'] ?? '') !== '';
  const credentialsFolder = variables['CREDENTIALS_DIRECTORY'] || undefined;
  return Object.freeze(configOf(values as Settings, { credentialsFolder, isCapturePortSet }));
}

const databaseOf = (values: Settings): DatabaseOptions => {
  const address = values.CARDVAULT_DATABASE_URL;
  if (typeof address === 'string')
    return { kind: 'sqlite', file: resolve(values.CARDVAULT_DATA_DIR, address || 'cardvault.db') };
  return {
    kind: 'postgres',
    address,
    passwordFile: values.CARDVAULT_DATABASE_PASSWORD_FILE || undefined,
    writers: values.CARDVAULT_DATABASE_WRITERS,
    readers: values.CARDVAULT_DATABASE_READERS,
    connectTimeoutMs: values.CARDVAULT_DATABASE_CONNECT_TIMEOUT_MS,
    statementTimeoutMs: values.CARDVAULT_DATABASE_STATEMENT_TIMEOUT_MS,
    sharded: values.CARDVAULT_DATABASE_SHARDED === 'true',
    clock: values.CARDVAULT_CLOCK,
  };
};

/** `credentialsFolder`: where systemd puts the credentials of the service. */
function custodyOf(values: Settings, credentialsFolder: string | undefined): CustodyOptions {
  const { kind, path, token, kms } = values.CARDVAULT_ROOT_KEY;
  const folder = values.CARDVAULT_DATA_DIR;
  const file = path ?? (values.CARDVAULT_ROOT_KEY_FILE || DEFAULT_FILES[kind]);
  return {
    kind,
    file: resolve(folder, file),
    group: values.CARDVAULT_ROOT_KEY_GROUP || undefined,
    secretFile: values.CARDVAULT_ROOT_KEY_PASSPHRASE_FILE || undefined,
    credentialsFolder,
    token,
    kms: kms && { ...kms, endpoint: values.CARDVAULT_AWS_KMS_ENDPOINT || undefined },
    librariesFolder: values.CARDVAULT_LIBRARIES || undefined,
    socket: resolve(folder, values.CARDVAULT_SOCKET || DEFAULT_SOCKET),
  };
}

function unsealPeersOf(values: Settings): UnsealPeersSettings | undefined {
  const port = values.CARDVAULT_UNSEAL_PORT;
  if (port === undefined) return undefined;
  const identity = { certificate: values.CARDVAULT_UNSEAL_CERT, key: values.CARDVAULT_UNSEAL_KEY };
  return { port, identity, peers: values.CARDVAULT_UNSEAL_PEERS };
}

const auditReceiversOf = (values: Settings): AuditReceivers => ({
  syslog: values.CARDVAULT_AUDIT_SYSLOG,
  otlp: values.CARDVAULT_AUDIT_OTLP && {
    url: values.CARDVAULT_AUDIT_OTLP,
    headersFile: values.CARDVAULT_AUDIT_OTLP_HEADERS_FILE || undefined,
  },
  tls: {
    caFile: values.CARDVAULT_AUDIT_RECEIVER_CA || undefined,
    certificate:
      values.CARDVAULT_AUDIT_RECEIVER_CERT === ''
        ? undefined
        : { certificateFile: values.CARDVAULT_AUDIT_RECEIVER_CERT, keyFile: values.CARDVAULT_AUDIT_RECEIVER_KEY },
  },
});

/** Facts that the parsed settings alone do not tell. */
interface Surroundings {
  /** Where systemd puts the credentials of the service. */
  readonly credentialsFolder: string | undefined;
  readonly isCapturePortSet: boolean;
}

const configOf = (values: Settings, { credentialsFolder, isCapturePortSet }: Surroundings): Config => ({
  dataDirectory: values.CARDVAULT_DATA_DIR,
  database: databaseOf(values),
  isEmbedded: values.CARDVAULT_DATABASE_URL === '',
  rootKey: custodyOf(values, credentialsFolder),
  unsealPeers: unsealPeersOf(values),
  ports: {
    production: values.CARDVAULT_PRODUCTION_PORT,
    sandbox: values.CARDVAULT_SANDBOX_PORT,
    console: values.CARDVAULT_CONSOLE_PORT,
    cards: values.CARDVAULT_CAPTURE_PORT,
  },
  cardForm: {
    origin: values.CARDVAULT_CAPTURE_ORIGIN || undefined,
    mayBeMissing: !isCapturePortSet,
    perMinute: values.CARDVAULT_RATE_LIMIT_CAPTURE,
  },
  consoleUrl: values.CARDVAULT_CONSOLE_URL || undefined,
  hsts: values.CARDVAULT_HSTS,
  operatorName: values.CARDVAULT_OPERATOR || undefined,
  auditHeadsFile:
    values.CARDVAULT_AUDIT_HEADS_FILE === ''
      ? undefined
      : resolve(values.CARDVAULT_DATA_DIR, values.CARDVAULT_AUDIT_HEADS_FILE),
  auditCheckpointMs: values.CARDVAULT_AUDIT_CHECKPOINT_MINUTES * MINUTE,
  auditRetentionMs: values.CARDVAULT_AUDIT_RETENTION * DAY,
  auditReceivers: auditReceiversOf(values),
  hosts: values.CARDVAULT_HOST,
  trustedProxies: values.CARDVAULT_TRUSTED_PROXIES,
  rates: {
    perKey: values.CARDVAULT_RATE_LIMIT_PER_KEY,
    failedAuthentication: values.CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION,
  },
  connectionsPerAddress: values.CARDVAULT_CONNECTIONS_PER_ADDRESS,
  metricsAllow: values.CARDVAULT_METRICS_ALLOW,
  processorHosts: values.CARDVAULT_PROCESSOR_HOSTS,
  tlsFiles:
    values.CARDVAULT_TLS_CERT === ''
      ? undefined
      : { certificate: values.CARDVAULT_TLS_CERT, key: values.CARDVAULT_TLS_KEY },
  tlsMaxVersion: `TLSv${values.CARDVAULT_TLS_MAX_VERSION}`,
  logLevel: values.CARDVAULT_LOG_LEVEL,
  drainMs: values.CARDVAULT_DRAIN_SECONDS * SECOND,
  smtp: values.CARDVAULT_SMTP_URL && {
    ...values.CARDVAULT_SMTP_URL,
    passwordFile: values.CARDVAULT_SMTP_PASSWORD_FILE || undefined,
    from: values.CARDVAULT_SMTP_FROM,
  },
  backupRecipients: values.CARDVAULT_BACKUP_RECIPIENTS,
  backupKeep: values.CARDVAULT_BACKUP_KEEP,
  backupMaxAges: {
    backup: values.CARDVAULT_BACKUP_MAX_AGE === 0 ? undefined : values.CARDVAULT_BACKUP_MAX_AGE * HOUR,
    drill: values.CARDVAULT_DRILL_MAX_AGE === 0 ? undefined : values.CARDVAULT_DRILL_MAX_AGE * DAY,
  },
  workers: values.CARDVAULT_WORKERS,
  requestLogRows: values.CARDVAULT_REQUEST_LOG_ROWS,
  webhooks: { networks: values.CARDVAULT_WEBHOOK_NETWORKS, delays: values.CARDVAULT_WEBHOOK_SCHEDULE },
  rotationRate: values.CARDVAULT_ROTATION_RATE,
  traces:
    values.CARDVAULT_TRACES_OTLP === ''
      ? undefined
      : {
          url: values.CARDVAULT_TRACES_OTLP,
          headersFile: values.CARDVAULT_TRACES_OTLP_HEADERS_FILE || undefined,
          caFile: values.CARDVAULT_TRACES_CA || undefined,
          ratio: values.CARDVAULT_TRACES_RATIO,
        },
  keyPeriods: {
    rootDays: values.CARDVAULT_KEY_PERIOD_ROOT_DAYS,
    wrappingDays: values.CARDVAULT_KEY_PERIOD_WRAPPING_DAYS,
    dataDays: values.CARDVAULT_KEY_PERIOD_DATA_DAYS,
    digestDays: values.CARDVAULT_KEY_PERIOD_DIGEST_DAYS,
  },
});
