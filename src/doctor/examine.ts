import { X509Certificate } from 'node:crypto';
import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { getCACertificates } from 'node:tls';
import { listUnprovenProcessors } from '../accounts/account-store.ts';
import { hasActiveKeys } from '../accounts/api-key-store.ts';
import { listUnprovenVerifications } from '../audit/verification-store.ts';
import { readBackupAges } from '../backup/backup-store.ts';
import { type CustodyOptions, groupIdOf, isKeyInClearIn } from '../crypto/custody/choose.ts';
import { assertFileProtected } from '../crypto/custody/key-file.ts';
import { previousPath } from '../crypto/custody/replacement.ts';
import { type Readiness, readReadiness } from '../http/readiness-client.ts';
import { readIdentity, type TlsFiles, tlsFolderOf } from '../http/tls.ts';
import type { Clock, MonotonicClock, Random } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { PRODUCTION_HOSTS } from '../payments/processors.ts';
import { KeyAges, type KeyPeriods } from '../rotation/key-ages.ts';
import { listUnprovenClockRecords } from '../storage/clock-record-store.ts';
import { unfinishedCopy } from '../storage/copy.ts';
import type { DatabaseReads } from '../storage/database.ts';
import type { RotatedColumns } from '../storage/digest-columns.ts';
import { knownSchema, schemaVersion } from '../storage/migrate.ts';
import type { DatabaseOptions } from '../storage/open.ts';
import { openReadOnly } from '../storage/open-read-only.ts';
import { isLocalAddress } from '../storage/postgres/address.ts';
import { sadKeyFolder } from '../storage/sqlite/sad-key-files.ts';
import { checkCertificate } from './certificate.ts';
import { type Check, faultsOr, ok, problem, warning } from './check.ts';
import { checkPostgres, checkSchema, checkSqlite, POSTGRES_FACTS } from './database-settings.ts';
import { checkFileSystem, checkFlush, checkSpace, findMount, parseMounts } from './disk.ts';
import { type Access, checkProgram, listFaultsOfOwnFile, listFaultsOfSecret } from './files.ts';
import { checkCoreDumps, checkMemoryReaders, checkNode, checkOpenFiles, checkSwap, checkUser } from './machine.ts';
import {
  checkAddresses,
  checkProcessorHosts,
  checkService,
  type ListeningSocket,
  type ServiceState,
  toHostAndPort,
} from './network.ts';
import {
  connectToHost,
  findProcess,
  isClockSynchronized,
  isOnEncryptedDevice,
  listSocketsOfMachine,
  measureFlush,
  readTextOrNothing,
  resolveLinks,
  statOrNothing,
} from './observe.ts';
import { checkPasswords, checkSettings } from './settings.ts';
import { checkOffset, checkSynchronization, checkTrust } from './time.ts';
import { checkAuditLog, checkBackups, checkCustody, checkKeyAges } from './vault.ts';

/** The settings of an installation that a diagnosis needs. */
export interface Installation {
  readonly dataDirectory: string;
  readonly database: DatabaseOptions;
  readonly rootKey: CustodyOptions;
  readonly unsealPeers: { readonly identity: TlsFiles } | undefined;
  readonly ports: { readonly console: number };
  readonly hosts: readonly { readonly address: string }[];
  readonly consoleUrl: string | undefined;
  readonly cardForm: { readonly origin: string | undefined };
  readonly trustedProxies: readonly string[];
  readonly metricsAllow: readonly string[];
  readonly processorHosts: readonly string[];
  readonly tlsFiles: TlsFiles | undefined;
  readonly smtp: { readonly passwordFile: string | undefined; readonly password: string | undefined } | undefined;
  readonly auditReceivers: {
    readonly otlp: { readonly headersFile: string | undefined } | undefined;
    readonly tls: { readonly certificate: { readonly keyFile: string } | undefined };
  };
  readonly traces: { readonly headersFile: string | undefined } | undefined;
  readonly workers: number;
  readonly keyPeriods: KeyPeriods;
  readonly backupMaxAges: Readonly<Record<'backup' | 'drill', number | undefined>>;
}

export interface ExamineOptions extends RotatedColumns {
  /** Returns the settings; throws an `OperatorError` with a list of problems when they are invalid. */
  readonly installation: () => Installation;
  /** Names of the variables of the environment. */
  readonly variables: readonly string[];
  readonly clock: Clock;
  readonly stopwatch: MonotonicClock;
  readonly random: Random;
}

const PROGRAM = resolve(import.meta.dirname, '..', '..');
/** Where the Debian package has the settings. */
const SETTINGS_FILE = '/etc/cardvault/cardvault.env';

/**
 * Examines an installation beside the running service or without it. It unseals nothing and changes nothing, needs no root
 * key, and never throws: what it cannot examine is a warning. Run as the user of the service it sees the most.
 */
export async function examine(options: ExamineOptions): Promise<Check[]> {
  const { installation, problems } = readInstallation(options);
  const settings = checkSettings(problems, options.variables);
  if (installation === undefined)
    return [...settings, ...examineMachine({ sockets: [], user: undefined, process: undefined })];
  const service = findService(installation);
  const parts: readonly (readonly [string, () => Promise<readonly Check[]> | readonly Check[]])[] = [
    ['settings', () => checkPasswords(listPasswords(installation))],
    ['machine', () => examineMachine(service)],
    ['files', () => examineFiles(installation, service.user)],
    ['disk', () => examineDisk(installation, options)],
    ['clock', async () => [checkSynchronization(await isClockSynchronized())]],
    ['certificate', () => examineCertificate(installation, options.clock())],
    ['addresses', () => checkAddresses({ ...installation, hosts: installation.hosts.map(({ address }) => address) })],
    ['service', () => examineService(installation)],
    ['database', () => examineDatabase(installation, options)],
  ];
  const checks: Check[] = [...settings];
  for (const [name, run] of parts) checks.push(...(await guarded(name, run)));
  return checks;
}

/** Returns a warning for a part that cannot be examined. */
async function guarded(
  name: string,
  run: () => Promise<readonly Check[]> | readonly Check[],
): Promise<readonly Check[]> {
  try {
    return await run();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = error instanceof OperatorError ? error.message : (code ?? (error as Error).name);
    return [warning(name, `could not be examined: ${reason}`, 'run this command as the user of the service')];
  }
}

function readInstallation({ installation }: ExamineOptions): {
  readonly installation: Installation | undefined;
  readonly problems: readonly string[];
} {
  try {
    return { installation: installation(), problems: [] };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { installation: undefined, problems: error.problems.length > 0 ? error.problems : [error.message] };
  }
}

/** The process of the service, as far as this user may know it. */
interface FoundService {
  readonly sockets: readonly ListeningSocket[];
  /** The user of the service, or the owner of the data directory while it does not run. */
  readonly user: number | undefined;
  /** Its process id; undefined while it does not run, and for another user. */
  readonly process: string | undefined;
}

function findService({ ports, dataDirectory }: Installation): FoundService {
  const sockets = listSocketsOfMachine().filter(({ port }) => port === ports.console);
  const [socket] = sockets;
  const user = socket?.uid ?? statOrNothing(dataDirectory)?.uid ?? process.geteuid?.();
  return { sockets, user, process: socket && findProcess(socket) };
}

/** The limits are those of the service where it runs, and otherwise those that this command was given. */
function examineMachine({ sockets, user, process: id = 'self' }: FoundService): readonly Check[] {
  const limits = readTextOrNothing(`/proc/${id}/limits`);
  const program = [
    PROGRAM,
    ...['bin', 'src', 'console', 'node_modules', 'package.json'].map((name) => join(PROGRAM, name)),
  ];
  return [
    checkNode(process.version),
    checkUser(user, sockets.length > 0),
    checkProgram(program.flatMap((path) => statOrNothing(path) ?? [])),
    checkCoreDumps(limits, readTextOrNothing('/proc/sys/kernel/core_pattern')),
    checkMemoryReaders(readTextOrNothing('/proc/sys/kernel/yama/ptrace_scope')),
    checkSwap(existsSync('/proc/swaps') ? readTextOrNothing('/proc/swaps') : undefined, isOnEncryptedDevice),
    checkOpenFiles(limits),
  ];
}

function listPasswords({ database, smtp }: Installation): string[] {
  return [
    ...(database.kind === 'postgres' && database.address.password !== undefined && database.passwordFile === undefined
      ? ['CARDVAULT_DATABASE_URL']
      : []),
    ...(smtp?.password !== undefined && smtp.passwordFile === undefined ? ['CARDVAULT_SMTP_URL'] : []),
  ];
}

/** Databases of SQLite consist of several files. */
const PARTS = ['', '-wal', '-shm'];

function examineFiles(installation: Installation, user: number | undefined): readonly Check[] {
  const { dataDirectory, database, rootKey, tlsFiles, smtp, auditReceivers, traces, unsealPeers } = installation;
  const access: Access = { user, group: groupIdOf(rootKey.group) };
  // The group of the service's own user, such as that of a package, may read what root has made for it.
  const shared = { user, group: access.group ?? statOrNothing(dataDirectory)?.gid };
  const tls = tlsFolderOf(dataDirectory);
  const databaseFile = database.kind === 'sqlite' ? database.file : undefined;
  const own = [
    dataDirectory,
    ...(databaseFile === undefined ? [] : [...PARTS.map((part) => databaseFile + part), sadKeyFolder(databaseFile)]),
    ...['ca-key.pem', 'server.pem'].map((name) => join(tls, name)),
    join(dataDirectory, 'operator-invitation'),
  ];
  const secrets = [
    SETTINGS_FILE,
    tlsFiles?.key,
    rootKey.secretFile,
    database.kind === 'postgres' ? database.passwordFile : undefined,
    database.kind === 'postgres' ? database.address.sslKey : undefined,
    smtp?.passwordFile,
    auditReceivers.otlp?.headersFile,
    traces?.headersFile,
    auditReceivers.tls.certificate?.keyFile,
    unsealPeers?.identity.key,
  ];
  const faults = [
    ...own
      .flatMap((path) => statOrNothing(path) ?? [])
      .flatMap((file) => listFaultsOfOwnFile('permissions', file, access)),
    ...secrets
      .flatMap((path) => (path === undefined ? [] : (statOrNothing(path) ?? [])))
      .flatMap((file) => listFaultsOfSecret('permissions', file, shared)),
    ...listFaultsOfRootKey(rootKey, access),
  ];
  return faultsOr(faults, ok('permissions', 'keys and data can be read by the user of the service alone'));
}

/** The rule is the one of a start. */
function listFaultsOfRootKey({ file }: CustodyOptions, { group }: Access): Check[] {
  if (!existsSync(file)) return [];
  try {
    assertFileProtected(file, group);
    return [];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const [message = '', advice = 'run as its owner'] = error.message.split('; ');
    return [problem('permissions', message, advice.replace(/^run: /, ''))];
  }
}

/** A link to a folder or to the file of the database names no file system: the folders are those that it leads to. */
function examineDisk(
  { dataDirectory: directory, database }: Installation,
  { stopwatch, random }: ExamineOptions,
): readonly Check[] {
  const dataDirectory = resolveLinks(directory);
  const folder = database.kind === 'sqlite' ? resolveLinks(dirname(resolveLinks(database.file))) : dataDirectory;
  if (!existsSync(folder))
    return [warning('disk', `${folder} does not exist`, 'start the service once, or correct CARDVAULT_DATA_DIR')];
  const mounts = parseMounts(readTextOrNothing('/proc/self/mountinfo'));
  const folders = [...new Set([folder, dataDirectory])];
  const { bavail, bsize, blocks } = statfsSync(folder);
  return [
    ...folders.map((each) =>
      checkFileSystem(each, findMount(mounts, each), database.kind === 'sqlite' && each === folder),
    ),
    checkSpace(folder, bavail * bsize, blocks * bsize),
    checkFlush(measureFlush(folder, stopwatch, random)),
  ];
}

const tlsSource = ({ tlsFiles, dataDirectory }: Installation): TlsFiles | string =>
  tlsFiles ?? tlsFolderOf(dataDirectory);

function examineCertificate(installation: Installation, now: number): readonly Check[] {
  const { tlsFiles, dataDirectory, consoleUrl, cardForm } = installation;
  if (tlsFiles === undefined && !existsSync(join(tlsFolderOf(dataDirectory), 'server.pem')))
    return [ok('certificate', 'none was made yet')];
  const hosts = [consoleUrl, cardForm.origin].flatMap((origin) =>
    origin === undefined ? [] : toHostAndPort(origin).host,
  );
  const authorities = [...getCACertificates('bundled'), ...getCACertificates('system')];
  return checkCertificate(
    {
      ...readIdentity(tlsSource(installation)),
      hosts: [...new Set(hosts)],
      isOwn: tlsFiles === undefined,
      authorities,
    },
    now,
  );
}

async function examineService(installation: Installation): Promise<readonly Check[]> {
  const port = installation.ports.console;
  if (port === 0) return [ok('service', 'the port of the console changes with each start, so that it is not asked')];
  return checkService(await findState(installation, port), port);
}

async function findState(installation: Installation, port: number): Promise<ServiceState> {
  const [first = '127.0.0.1'] = installation.hosts.map(({ address }) => address);
  const host = first === '0.0.0.0' ? '127.0.0.1' : first === '::' ? '::1' : first;
  let readiness: Readiness | undefined;
  try {
    readiness = await readReadiness(host, port);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { kind: code === 'ECONNREFUSED' || code === 'EADDRNOTAVAIL' ? 'stopped' : 'foreign' };
  }
  if (readiness === undefined) return { kind: 'foreign' };
  return { kind: 'running', ...readiness, servesPresentCertificate: isPresent(installation, readiness.fingerprint) };
}

/** True also when the files cannot be read, which another line states. */
function isPresent(installation: Installation, fingerprint: string): boolean {
  try {
    return new X509Certificate(readIdentity(tlsSource(installation)).certificate).fingerprint256 === fingerprint;
  } catch {
    return true;
  }
}

async function examineDatabase(installation: Installation, options: ExamineOptions): Promise<readonly Check[]> {
  const custody = (hasProductionKeys: boolean | undefined): readonly Check[] => {
    const { rootKey, dataDirectory } = installation;
    return checkCustody({
      kind: rootKey.kind,
      isKeyBesideData: isKeyInClearIn(dataDirectory, rootKey) && existsSync(rootKey.file),
      hasProductionKeys,
      hasPrevious: existsSync(previousPath(rootKey.file)),
    });
  };
  try {
    const { database, close } = openReadOnly(installation.database, options);
    try {
      return await examineVault(database, installation, options, custody);
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const advice = 'start the service once; where it runs, correct the settings of the database';
    return [...custody(undefined), problem('database', error.message, advice)];
  }
}

async function examineVault(
  database: DatabaseReads,
  installation: Installation,
  options: ExamineOptions,
  custody: (hasProductionKeys: boolean) => readonly Check[],
): Promise<readonly Check[]> {
  const { clock, sealed, digests } = options;
  const { checks, now } = await examineSettings(database, installation.database, installation.workers, clock);
  const keyAges = new KeyAges({ database, clock: () => now, sealed, digests, periods: installation.keyPeriods });
  const parts: readonly (readonly [string, () => Promise<readonly Check[]>])[] = [
    [
      'schema',
      async () => [checkSchema(await schemaVersion(database), knownSchema()), ...(await examineCopy(database))],
    ],
    ['trusted time', async () => [checkTrust(await listUnprovenClockRecords(database), now)]],
    ['custody', async () => custody(await hasActiveKeys(database, 'production', now))],
    ['keys', async () => [checkKeyAges((await keyAges.countOverdue()).count)]],
    [
      'backup',
      async () => checkBackups({ ages: await readBackupAges(database, now), maxAges: installation.backupMaxAges }),
    ],
    ['audit log', async () => checkAuditLog(await listUnprovenVerifications(database), now)],
    ['processor hosts', async () => examineProcessors(database, installation)],
  ];
  const found: Check[] = [...checks];
  for (const [name, run] of parts) found.push(...(await guarded(name, run)));
  return found;
}

/** Returns the checks, and the time by the clock that decides. */
async function examineSettings(
  database: DatabaseReads,
  use: DatabaseOptions,
  workers: number,
  clock: Clock,
): Promise<{ readonly checks: readonly Check[]; readonly now: number }> {
  if (use.kind === 'sqlite') {
    const [row] = await database.readStored('pragma journal_mode');
    const log = sizeOf(`${use.file}-wal`);
    return { checks: checkSqlite(String(row?.['journal_mode']), log), now: clock() };
  }
  // The first reading opens the connection, which takes longer.
  await database.readStored('select 1 as one');
  const before = clock();
  const [facts = {}] = await database.readStored(POSTGRES_FACTS);
  const offset = (before + clock()) / 2 - Number(facts['now']);
  const decides = use.clock === 'system';
  const { address, writers, readers } = use;
  const threads = workers === 1 ? 1 : workers + 1;
  const checks = [
    ...checkPostgres(facts, {
      connections: Math.max(writers, threads) + Math.max(readers, threads),
      isLocal: isLocalAddress(address),
      isVerified: address.sslMode.startsWith('verify-'),
    }),
    checkOffset(offset, decides),
  ];
  return { checks, now: decides ? clock() : Number(facts['now']) };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

async function examineCopy(database: DatabaseReads): Promise<readonly Check[]> {
  if (!(await unfinishedCopy(database))) return [];
  return [problem('copy', 'a copy into this database was not finished', 'run the same cardvault copy again')];
}

async function examineProcessors(database: DatabaseReads, { processorHosts }: Installation): Promise<readonly Check[]> {
  const enabled = await listUnprovenProcessors(database, 'production');
  const origins = enabled.flatMap((name) =>
    Object.hasOwn(PRODUCTION_HOSTS, name) ? (PRODUCTION_HOSTS[name] ?? []) : [],
  );
  const hosts = [...new Set([...origins, ...processorHosts])].map(toHostAndPort);
  return checkProcessorHosts(await Promise.all(hosts.map(connectToHost)));
}
