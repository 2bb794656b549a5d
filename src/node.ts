import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { countExpiringKeys } from './accounts/api-key-store.ts';
import { Authentication } from './accounts/authentication.ts';
import { AlteredRows } from './audit/altered-rows.ts';
import { measureLag } from './audit/journal-tail.ts';
import { listVerifications } from './audit/verification-store.ts';
import { readBackupAges } from './backup/backup-store.ts';
import { CaptureSessions } from './capture-sessions/capture-sessions.ts';
import { Captures } from './captures/captures.ts';
import { type Config, listClientCertificates, listReceivers } from './config.ts';
import type { Clocks, OpenCore } from './core.ts';
import { ApiDoor } from './http/api-door.ts';
import { ConnectionLimit, exemptAddresses } from './http/connection-limit.ts';
import type { CardFormListener, Endpoint } from './http/endpoint.ts';
import { describeError, type Log } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { notificationRoutes } from './http/notifications.ts';
import { operationalRoutes, publicHealthRoutes } from './http/operational-endpoints.ts';
import type { BucketSource } from './http/rate-limit.ts';
import { addPublicRoutes, addRoutes, createBaseServer, type HttpServer } from './http/server.ts';
import { apiTransportHeaders } from './http/strict-transport.ts';
import { findCertificateExpiry, findExpiry, tlsFolderOf } from './http/tls.ts';
import type { Traces } from './http/traces.ts';
import { paymentEvents } from './http/webhook-events.ts';
import { DAY, MINUTE } from './kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from './kernel/environment.ts';
import { countInDoubt } from './payments/payment-queries.ts';
import { createPaymentServices } from './payments/payment-services.ts';
import { Placeholders } from './placeholders/placeholders.ts';
import { PayloadProxy } from './proxy/payload-proxy.ts';
import { KeyAges } from './rotation/key-ages.ts';
import { countUnfinishedRotations } from './storage/key-rotation-store.ts';
import { ROTATED_COLUMNS } from './tables.ts';
import { Vault } from './vault/vault.ts';
import { VERSION } from './version.ts';

interface NodeOptions {
  readonly core: OpenCore;
  readonly clocks: Clocks;
  readonly config: Config;
  readonly log: Log;
  readonly endpoints: readonly Endpoint[];
  /** Buckets of the rate limits, which all threads of the process share. */
  readonly bucketMemory: SharedArrayBuffer;
  isReady(): Promise<boolean>;
  /** The ports of the API, once it listens. */
  ports(): Readonly<Record<Environment, number>>;
  /** For the work that one node does for all; false in a thread that only serves requests. */
  holdsPaymentsLease(): Promise<boolean>;
  /** Traces of requests; undefined: none. */
  readonly traces: Traces | undefined;
  /** True to have the metrics of the vault beside those of this thread. */
  readonly hasVaultMetrics: boolean;
}

/** The use cases over an opened vault, and what serves and observes them, in one thread. */
export type Node = ReturnType<typeof createNode>;

export function createNode(options: NodeOptions) {
  const { core, clocks, config, log, endpoints, bucketMemory, isReady, ports } = options;
  const stopwatch = clocks.stopwatch ?? clocks.monotonic;
  const services = createServices(options);
  const { trustedProxies } = config;
  const reporting = {
    stopwatch,
    random: core.random,
    log,
    metrics: services.metrics,
    usage: core.usage,
    traces: options.traces,
    trustedProxies,
  };
  const buckets: BucketSource = { memory: bucketMemory, clock: stopwatch };
  const { ages } = services;
  const health = {
    isReady,
    distrust: () => core.time.read().distrust,
    isRootKeyExposed: () => core.rootKeyExposure.isExposed(),
    countOverdueKeys: async () => (await ages.countOverdue()).count,
  };
  const apiUrl = (environment: Environment): string => formatApiUrl(config, ports()[environment]);
  const operational = operationalRoutes(endpoints, health, { version: VERSION, apiUrl });
  return { ...services, reporting, buckets, operational, publicHealth: publicHealthRoutes(health) };
}

/** Returns the address of a listener of the API, under the name of the console where one is configured. */
export function formatApiUrl({ consoleUrl }: Pick<Config, 'consoleUrl'>, port: number): string {
  const host = consoleUrl === undefined ? 'localhost' : new URL(consoleUrl).hostname;
  return `https://${host}:${port}`;
}

/** Builds the use cases, and the metrics that observe them. */
function createServices({ core, config, log, isReady, holdsPaymentsLease, hasVaultMetrics }: NodeOptions) {
  const { database, time, configurations } = core;
  const vault = new Vault(core);
  const captures = new Captures({
    ...core,
    vault,
    onResealError: (error, { account }) => log.error('sad not sealed again', { ...describeError(error), account }),
  });
  const captureSessions = new CaptureSessions({ ...core, vault, captures });
  const placeholders = new Placeholders({ vault, captures });
  const proxy = new PayloadProxy({ ...core, placeholders });
  const authentications = ENVIRONMENTS.map((environment) => new Authentication({ ...core, environment }));
  const alteredRows = new AlteredRows(core);
  const ages = new KeyAges({ ...core, ...ROTATED_COLUMNS, periods: config.keyPeriods });
  const vaultSources = {
    isReady,
    isTimeTrusted: () => time.read().distrust === undefined,
    listCertificateExpiries: () => configurations.listCertificateExpiries(),
    countInDoubtPayments: () => countInDoubt(database),
    listVerifications: () => listVerifications(database, core.journalKey),
    countAlteredRows: () => alteredRows.countByTable(),
    countMissingSadKeys: () => captures.countMissingSadKeys(),
    readBackupAges: () => readBackupAges(database, core.clock()),
    measureShipping: () => measureShipping(core, config),
    countWaitingWebhooks: () => core.webhooks.countWaiting(),
    countUnfinishedRotations: () => countUnfinishedRotations(database),
    countOverdueKeys: async () => (await ages.countOverdue()).count,
    certificateEnd: () => findCertificateExpiry(config.tlsFiles ?? tlsFolderOf(config.dataDirectory)),
    listClientCertificateEnds: () =>
      listClientCertificates(config).map(([use, file]) => [use, findExpiry(file)] as const),
    countExpiringKeys: () => countExpiringKeys(database, core.clock(), core.clock() + EXPIRING_MS),
    measureDisk: () => measureDisk(config),
    measureDatabase: () => database.measureSize(),
  };
  const readWrites = () => ({ waiting: database.queuedUnits, executed: database.executed });
  const metrics = new Metrics(readWrites, hasVaultMetrics ? vaultSources : undefined);
  core.onHostRefused(({ account, environment }, processor) => {
    metrics.countRefusedHost(environment, processor);
    log.error('processor host refused', { account, reason: processor });
  });
  const paymentParts = createPaymentServices({
    ...core,
    vault,
    placeholders,
    holdsLease: holdsPaymentsLease,
    onOutcome: metrics.countOperation.bind(metrics),
    onChange: paymentEvents(core.outbox),
    failed: (task, error) => log.error('payment recovery failed', { ...describeError(error), task }),
    onRecoveryError: (error, { tenant, id }) =>
      log.error('payment deferred', { ...describeError(error), account: tenant.account, payment: id }),
  });
  return { vault, captures, captureSessions, proxy, ...paymentParts, authentications, alteredRows, ages, metrics };
}

/** How long before its end an API key counts as expiring; webhooks tell merchants at the same time. */
const EXPIRING_MS = 14 * DAY;

/** A collector that is away would cause a line every few seconds. */
const REPORTED_EVERY_MS = MINUTE;

/** Opens the traces where they are configured; their code is loaded only then. */
export async function openTraces(
  { traces, rootKey: { librariesFolder } }: Config,
  { clock, monotonic, stopwatch = monotonic }: Clocks,
  log: Log,
): Promise<Traces | undefined> {
  if (traces === undefined) return undefined;
  let lost = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const onFailure = (count: number): void => {
    lost += count;
    if (monotonic() - reportedAt < REPORTED_EVERY_MS) return;
    log.warn('traces not sent', { count: lost });
    reportedAt = monotonic();
    lost = 0;
  };
  const { Traces: Opened } = await import('./http/traces.ts');
  return Opened.open({ ...traces, librariesFolder, version: VERSION, clock, stopwatch, onFailure });
}

/** Returns the bytes of the file system that fills as the vault grows. */
async function measureDisk({ database, dataDirectory }: Config) {
  const folder = database.kind === 'sqlite' ? dirname(database.file) : dataDirectory;
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}

/** Returns how far each receiver of the audit log is behind. */
async function measureShipping({ database, clock }: OpenCore, { auditReceivers }: Config) {
  const lags = listReceivers(auditReceivers).map(async (target) => {
    const { records, oldest } = await measureLag(database, target);
    return { target, records, age: oldest === undefined ? 0 : Math.max(0, clock() - oldest) };
  });
  return Promise.all(lags);
}

/** Builds the servers of both environments, with all their routes. */
export function createApiServers(
  { core, config, endpoints }: Pick<NodeOptions, 'core' | 'config' | 'endpoints'>,
  node: Node,
  cardForm: CardFormListener,
): Record<Environment, HttpServer> {
  const { database, clock, accounts, transactions, webhooks } = core;
  const { vault, captures, captureSessions, payments, proxy, buckets, operational } = node;
  const serviceOf = (environment: Environment): HttpServer => {
    const authentication = node.authentications[ENVIRONMENTS.indexOf(environment)] as Authentication;
    const requestLog = { log: core.requestLog, environment };
    const { rates, hsts } = config;
    const transport = apiTransportHeaders(hsts);
    const headers = transport && { headers: () => transport };
    const options = { ...node.reporting, listener: environment, requestLog, ...headers };
    const door = new ApiDoor({ authentication, transactions, clock, environment, rates, buckets });
    const app = createBaseServer(options);
    const useCases = { database, accounts, vault, captures, captureSessions, cardForm, payments, proxy, webhooks };
    addRoutes(app, endpoints, { ...options, clock, transactions, door, services: useCases });
    addPublicRoutes(app, [...operational, ...notificationRoutes(environment, node.notifications)], options);
    return app;
  };
  return { production: serviceOf('production'), sandbox: serviceOf('sandbox') };
}

/** Returns the limit of connections of a listener. */
export const createConnectionLimit = (
  { config, core, log }: Pick<NodeOptions, 'config' | 'core' | 'log'>,
  { metrics }: Node,
  listener: string,
): ConnectionLimit =>
  new ConnectionLimit({
    perAddress: config.connectionsPerAddress,
    isExempt: exemptAddresses(config.trustedProxies),
    clock: core.clock,
    onRefused: () => metrics.countRefusedConnection(listener),
    onReport: (address, count) => log.warn('connections refused', { listener, address, count }),
  });
