import { join } from 'node:path';
import type { OpenedConsole, VaultServices } from '../console/open.ts';
import { Authentication } from './accounts/authentication.ts';
import { AlteredRows } from './audit/altered-rows.ts';
import { listVerifications } from './audit/verification-store.ts';
import { createBackground, type Leases } from './background.ts';
import { Captures } from './captures/captures.ts';
import type { Core, RunningService } from './cli/context.ts';
import type { Config } from './config.ts';
import { type Clocks, type OpenCore, openCore } from './core.ts';
import { mayDumpCore } from './crypto/core-dumps.ts';
import { ApiDoor } from './http/api-door.ts';
import { ConnectionLimit, exemptAddresses } from './http/connection-limit.ts';
import type { Endpoint } from './http/endpoint.ts';
import { ENDPOINTS } from './http/endpoints.ts';
import { Listeners } from './http/listeners.ts';
import { describeError, type Log } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { notificationRoutes } from './http/notifications.ts';
import { metricsRoute, operationalRoutes } from './http/operational-endpoints.ts';
import { createBucketMemory } from './http/rate-limit.ts';
import { addPublicRoutes, addRoutes, createBaseServer, type ServerOptions } from './http/server.ts';
import {
  caFilePath,
  findCertificateExpiry,
  loadIdentity,
  loadOrCreateLocalIdentity,
  readCaCertificate,
  type TlsOptions,
  tlsOptions,
} from './http/tls.ts';
import type { Clock } from './kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from './kernel/environment.ts';
import { countInDoubt } from './payments/payment-queries.ts';
import { createPaymentServices } from './payments/payment-services.ts';
import { Placeholders } from './placeholders/placeholders.ts';
import { PayloadProxy } from './proxy/payload-proxy.ts';
import { Lease } from './storage/lease.ts';
import { waitForDatabase } from './storage/wait-for-database.ts';
import { Vault } from './vault/vault.ts';
import { VERSION } from './version.ts';

const ID_BYTES = 16;

/** The parts of a service besides its configuration. */
interface ServiceParts {
  /** Opens the console; without it the vault serves its interface alone. */
  readonly openConsole?: ((vault: Core) => OpenedConsole) | undefined;
  readonly endpoints?: readonly Endpoint[];
}

interface StartedService extends RunningService {
  readonly console: OpenedConsole | undefined;
}

/** Opens everything, listens, and returns how to stop. */
export async function startService(
  config: Config,
  clocks: Clocks,
  log: Log,
  parts: ServiceParts = {},
): Promise<StartedService> {
  const onRetry = (error: unknown): void => log.error('database unavailable, retrying', describeError(error));
  const core = await waitForDatabase(() => openCore(config, clocks), { clock: clocks.monotonic, onRetry });
  try {
    return await runService(core, clocks, config, log, parts);
  } catch (error) {
    // An open server would keep the process running.
    await core.close();
    throw error;
  }
}

/** Starts a service over an open vault. */
async function runService(
  core: OpenCore,
  clocks: Clocks,
  config: Config,
  log: Log,
  { openConsole, endpoints = ENDPOINTS }: ServiceParts,
): Promise<StartedService> {
  const { opened, clock } = core;
  const webConsole = openConsole?.(core);
  const state = { draining: false };
  const isReady = async (): Promise<boolean> => !state.draining && (await core.database.isAlive());
  const services = createServices(core, log, isReady);
  const coreDumps = mayDumpCore();
  if (coreDumps === true) log.warn('core dumps allowed');
  const serviceInfo = buildServiceInfo(config, clock(), opened.isShared, coreDumps, () => listeners.ports);
  const parts = { core, clocks, config, log };
  const apps = await createServers({ ...parts, services, endpoints, webConsole, serviceInfo, isReady });
  const background = await createBackground({ ...parts, console: webConsole, ...services });
  const notRenewed = (error: unknown): void => log.error('certificate reload failed', describeError(error));
  const newLimit = (listener: string) => createConnectionLimit(listener, config, clock, log, services.metrics);
  const listeners = new Listeners(apps, newLimit, () => loadTlsOptions(config, clock), notRenewed);
  const stop = async (): Promise<void> => {
    state.draining = true;
    await listeners.close(config.drainMs);
    await background.stop();
    await core.close();
    log.info('stopped', {});
  };
  // A process that cannot write is of no use; its supervisor starts a new one.
  opened.onBroken(crash);
  try {
    await listeners.listen(config.ports, config.hosts);
  } catch (error) {
    await stop();
    throw error;
  }
  await background.start();
  log.info('started', {});
  const caFile = config.tlsFiles === undefined ? caFilePath(tlsFolder(config)) : undefined;
  const { ports, addresses } = listeners;
  return { core, ports, addresses, caFile, console: webConsole, firstOperator: webConsole?.firstOperator, stop };
}

/** Ends the process with the error, whatever awaits it. */
function crash(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

const createConnectionLimit = (
  listener: string,
  config: Config,
  clock: Clock,
  log: Log,
  metrics: Metrics,
): ConnectionLimit =>
  new ConnectionLimit({
    perAddress: config.connectionsPerAddress,
    isExempt: exemptAddresses(config.trustedProxies),
    clock,
    onRefused: () => metrics.countRefusedConnection(listener),
    onReport: (address, count) => log.warn('connections refused', { listener, address, count }),
  });

/** Builds the use cases, and the metrics that observe them. */
function createServices(core: OpenCore, log: Log, isReady: () => Promise<boolean>) {
  const { database, time, configurations } = core;
  const leases = createLeases(core);
  const vault = new Vault(core);
  const captures = new Captures({
    ...core,
    vault,
    onResealError: (error, { account }) => log.error('sad not sealed again', { ...describeError(error), account }),
  });
  const placeholders = new Placeholders({ vault, captures });
  const proxy = new PayloadProxy({ ...core, placeholders });
  const authentications = ENVIRONMENTS.map((environment) => new Authentication({ ...core, environment }));
  const alteredRows = new AlteredRows(core);
  const metrics = new Metrics({
    countWaitingWrites: () => database.queuedUnits,
    isReady,
    isTimeTrusted: () => time.read().distrust === undefined,
    listCertificateExpiries: () => configurations.listCertificateExpiries(),
    countInDoubtPayments: () => countInDoubt(database),
    listVerifications: () => listVerifications(database, core.journalKey),
    countAlteredRows: () => alteredRows.countByTable(),
    countMissingSadKeys: () => captures.countMissingSadKeys(),
  });
  core.onHostRefused(({ account, environment }, processor) => {
    metrics.countRefusedHost(environment, processor);
    log.error('processor host refused', { account, reason: processor });
  });
  const paymentParts = createPaymentServices({
    ...core,
    vault,
    placeholders,
    holdsLease: leases.holdsLease('payments'),
    onOutcome: metrics.countOperation.bind(metrics),
    failed: (task, error) => log.error('payment recovery failed', { ...describeError(error), task }),
    onRecoveryError: (error, { tenant, id }) =>
      log.error('payment deferred', { ...describeError(error), account: tenant.account, payment: id }),
  });
  return { vault, captures, proxy, ...paymentParts, leases, authentications, alteredRows, metrics };
}

/** Leases of the work that one node does for all. Over SQLite, a service is always that node. */
function createLeases({ database, opened, time, random }: OpenCore): Leases {
  const owner = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  const newLease = (name: string): Lease => new Lease({ database, clock: () => time.steadyNow(), name, owner });
  const leases = {
    sweeper: newLease('sweeper'),
    payments: newLease('payments'),
    verification: newLease('verification'),
  };
  return {
    holdsLease: (work) => (opened.isShared ? () => leases[work].acquire() : () => Promise.resolve(true)),
    release: async (onError) => {
      for (const lease of Object.values(leases)) await lease.release().catch(onError);
    },
  };
}

interface ServerParts {
  readonly core: OpenCore;
  readonly clocks: Clocks;
  readonly config: Config;
  readonly log: Log;
  readonly services: ReturnType<typeof createServices>;
  readonly endpoints: readonly Endpoint[];
  readonly webConsole: OpenedConsole | undefined;
  readonly serviceInfo: VaultServices['serviceInfo'];
  readonly isReady: () => Promise<boolean>;
}

/** Builds the servers of both environments and of the console, with all their routes. */
async function createServers(parts: ServerParts) {
  const { core, clocks, config, log, services, endpoints, webConsole, serviceInfo, isReady } = parts;
  const { database, clock, time, random, accounts, transactions, usage } = core;
  const { vault, captures, payments, proxy, metrics } = services;
  const stopwatch = clocks.stopwatch ?? clocks.monotonic;
  const buckets = { memory: createBucketMemory(random), clock: stopwatch };
  const shared = { stopwatch, random, log, metrics, usage, trustedProxies: config.trustedProxies };
  const distrust = () => time.read().distrust;
  const operational = operationalRoutes(endpoints, { isReady, distrust }, VERSION);
  const serviceOf = (environment: Environment) => {
    const authentication = services.authentications[ENVIRONMENTS.indexOf(environment)] as Authentication;
    const options = { ...shared, listener: environment };
    const door = new ApiDoor({ authentication, transactions, clock, environment, rates: config.rates, buckets });
    const app = createBaseServer(options);
    const useCases = { database, accounts, vault, captures, payments, proxy };
    addRoutes(app, endpoints, { ...options, clock, transactions, door, services: useCases });
    addPublicRoutes(app, [...operational, ...notificationRoutes(environment, services.notifications)], options);
    return app;
  };
  const vaultServices = { ...core, vault, captures, payments, proxy, serviceInfo };
  const limits = { consoleUrl: config.consoleUrl, attemptsPerMinute: config.rates.failedAuthentication, buckets };
  const served = await webConsole?.serve(vaultServices, limits);
  const consoleOptions: ServerOptions = { ...shared, listener: 'console', ...(served && { headers: served.headers }) };
  const apps = {
    production: serviceOf('production'),
    sandbox: serviceOf('sandbox'),
    console: createBaseServer(consoleOptions),
  };
  if (served !== undefined)
    addRoutes(apps.console, served.routes, { ...consoleOptions, clock, transactions, ...served });
  const metricsOfService = metricsRoute(metrics, config.metricsAllow);
  addPublicRoutes(apps.console, [...operational, metricsOfService, ...(served?.assets ?? [])], consoleOptions);
  return apps;
}

type Ports = Readonly<Record<Environment | 'console', number>>;

/** Facts about the service that the console shows; the addresses are known once it listens. */
const buildServiceInfo = (
  config: Config,
  startedAt: number,
  isShared: boolean,
  coreDumps: boolean | undefined,
  ports: () => Ports,
): VaultServices['serviceInfo'] => {
  const { consoleUrl, tlsFiles } = config;
  const host = consoleUrl === undefined ? 'localhost' : new URL(consoleUrl).hostname;
  return {
    version: VERSION,
    startedAt,
    isShared,
    coreDumps,
    apiUrl: (environment) => `https://${host}:${ports()[environment]}`,
    caCertificate: () => (tlsFiles === undefined ? readCaCertificate(tlsFolder(config)) : undefined),
    certificateEnd: () => findCertificateExpiry(tlsFiles ?? tlsFolder(config)),
  };
};

const tlsFolder = (config: Config): string => join(config.dataDirectory, 'tls');

/** Returns the operator's certificate, or one that cardvault created. */
async function loadTlsOptions(config: Config, clock: Clock): Promise<TlsOptions> {
  const { tlsFiles } = config;
  const identity =
    tlsFiles === undefined ? await loadOrCreateLocalIdentity(tlsFolder(config), clock) : loadIdentity(tlsFiles);
  return tlsOptions(identity, config.tlsMaxVersion);
}
