import { Worker } from 'node:worker_threads';
import type { OpenedConsole, VaultServices } from '../console/open.ts';
import { createBackground, type Leases } from './background.ts';
import { type CardListener, createCardListener } from './card-listener.ts';
import type { Core, RunningService } from './cli/context.ts';
import { type Config, listReceivers } from './config.ts';
import { type Clocks, type OpenCore, openCore } from './core.ts';
import { mayDumpCore } from './crypto/core-dumps.ts';
import type { AskSecret } from './crypto/custody/secret-source.ts';
import type { Endpoint } from './http/endpoint.ts';
import { ENDPOINTS } from './http/endpoints.ts';
import { assertUnused, Listeners } from './http/listeners.ts';
import { describeError, type Log } from './http/log.ts';
import { mergeMetrics } from './http/merged-metrics.ts';
import { type MetricsText, metricsRoute } from './http/operational-endpoints.ts';
import { createBucketMemory } from './http/rate-limit.ts';
import { addPublicRoutes, addRoutes, createBaseServer, type HttpServer, type ServerOptions } from './http/server.ts';
import { strictTransport } from './http/strict-transport.ts';
import {
  caFilePath,
  findCertificateExpiry,
  loadIdentity,
  loadOrCreateLocalIdentity,
  readCaCertificate,
  type TlsOptions,
  tlsFolderOf,
  tlsOptions,
} from './http/tls.ts';
import type { Traces } from './http/traces.ts';
import { type Clock, HOUR } from './kernel/clock.ts';
import type { Environment } from './kernel/environment.ts';
import { createApiServers, createConnectionLimit, createNode, formatApiUrl, type Node, openTraces } from './node.ts';
import { KeyAges } from './rotation/key-ages.ts';
import { type UnsealedNode, unsealNode } from './sealed.ts';
import { Lease } from './storage/lease.ts';
import { waitForDatabase } from './storage/wait-for-database.ts';
import { withConsoleColumns } from './tables.ts';
import { VERSION } from './version.ts';
import type { SharedTls } from './worker.ts';
import { Workers, type WorkersOptions } from './workers.ts';

const ID_BYTES = 16;
const TICKET_KEY_BYTES = 48;
const CERTIFICATE_RELOAD_MS = 12 * HOUR;

/** The parts of a service besides its configuration. */
interface ServiceParts {
  /** Opens the console; without it the vault serves its interface alone. */
  readonly openConsole?: ((vault: Core) => Promise<OpenedConsole>) | undefined;
  /** Replaces the endpoints of the product, in the main thread only. */
  readonly endpoints?: readonly Endpoint[];
  /** Asks the operator for the passphrase of the root key. */
  readonly ask?: AskSecret | undefined;
  /** Starts a request thread; a test keeps the threads in order to end them. */
  readonly newThread?: WorkersOptions['newThread'];
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
  const own = shareConnections(config);
  // Before the vault waits for custodians: a library that is missing is reported at once.
  const traces = await openTraces(own, clocks, log);
  const unsealed = own.rootKey.kind === 'custodians' ? await unseal(own, clocks, log, parts) : undefined;
  try {
    const open = () => openCore(own, clocks, { roots: unsealed?.roots, ask: parts.ask, steps: traces });
    const core = await waitForDatabase(open, { clock: clocks.monotonic, onRetry });
    try {
      await unsealed?.record(core);
      const running = await runService(core, clocks, own, log, { ...parts, traces });
      return { ...running, stop: () => running.stop().finally(() => unsealed?.close()) };
    } catch (error) {
      // An open server would keep the process running.
      await core.close();
      throw error;
    }
  } catch (error) {
    await unsealed?.close();
    throw error;
  }
}

/** Waits for the shares of the custodians of the root key. */
async function unseal(
  config: Config,
  clocks: Clocks,
  log: Log,
  { endpoints = ENDPOINTS }: ServiceParts,
): Promise<UnsealedNode> {
  return unsealNode({ config, clocks, log, endpoints, tls: await loadTlsOptions(config, clocks.clock) });
}

/** Divides the connections to PostgreSQL among the main thread and the request threads. */
function shareConnections(config: Config): Config {
  const { database, workers } = config;
  if (database.kind === 'sqlite' || workers === 1) return config;
  const share = (connections: number): number => Math.max(1, Math.floor(connections / (workers + 1)));
  return { ...config, database: { ...database, writers: share(database.writers), readers: share(database.readers) } };
}

/** Starts a service over an open vault. */
async function runService(
  core: OpenCore,
  clocks: Clocks,
  config: Config,
  log: Log,
  {
    openConsole,
    endpoints = ENDPOINTS,
    newThread = startThread,
    traces,
  }: ServiceParts & { traces: Traces | undefined },
): Promise<StartedService> {
  const webConsole = await openConsole?.(core);
  const state = { draining: false };
  const bucketMemory = createBucketMemory(core.random);
  const tls = await loadTlsOptions(config, core.clock);
  const cardForm = { listener: undefined as CardListener | undefined };
  const workers =
    config.workers === 1
      ? undefined
      : createWorkers({ core, clocks, config, log, bucketMemory, newThread, cardForm }, tls);
  const isReady = async (): Promise<boolean> =>
    !state.draining && workers?.isServing !== false && (await core.database.isAlive());
  const leases = createLeases(core);
  const parts = { core, clocks, config, log, endpoints, bucketMemory, isReady, traces };
  const ports = (): Ports => ({ ...workers?.ports, ...listeners.ports }) as Ports;
  const holdsPaymentsLease = leases.holdsLease('payments');
  const node = createNode({ ...parts, ports, holdsPaymentsLease, hasVaultMetrics: true });
  const cards = createCardListener({ core, config, log, node });
  cardForm.listener = cards;
  const serviceInfo = buildServiceInfo({ core, config, log, endpoints }, ports);
  const apps: Readonly<Record<string, HttpServer>> = {
    ...(workers === undefined && createApiServers(parts, node, cards)),
    console: await createConsoleServer({ ...parts, node, webConsole, serviceInfo, workers, cards }),
  };
  const onTimeTrusted = (time: number): void => workers?.trustTime(time);
  const consoleUrl = (): string => config.consoleUrl ?? `https://localhost:${ports().console}`;
  const auditReceivers = listReceivers(config.auditReceivers);
  const ages = new KeyAges({ ...core, ...withConsoleColumns(webConsole?.rotatedColumns), periods: config.keyPeriods });
  const countOverdueKeys = () => ages.countOverdue();
  const { backupMaxAges, smtp } = config;
  const { certificateEnd } = serviceInfo;
  const facts = { certificateEnd, consoleUrl, backupMaxAges, smtp, auditReceivers, countOverdueKeys };
  const background = await createBackground({ ...parts, ...node, leases, console: webConsole, facts, onTimeTrusted });
  const listeners = new Listeners(
    apps,
    (listener) => createConnectionLimit(parts, node, listener),
    (listener) => node.metrics.countTooManyPipelined(listener),
  );
  const renewal = renewCertificate({ core, config, log, listeners, cards, workers });
  const stop = async (): Promise<void> => {
    state.draining = true;
    clearInterval(renewal);
    await Promise.all([listeners.close(config.drainMs), cards.close(config.drainMs), workers?.stop(config.drainMs)]);
    await background.stop();
    await traces?.close();
    await core.close();
    log.info('stopped', {});
  };
  // A process that cannot write is of no use; its supervisor starts a new one.
  core.opened.onBroken(crash);
  try {
    const { production, sandbox } = config.ports;
    await cards.listen(tls);
    if (workers !== undefined) await assertUnused([production, sandbox], config.hosts);
    await workers?.start({ production, sandbox });
    await listeners.listen(config.ports, { hosts: config.hosts, tls });
  } catch (error) {
    await stop();
    throw error;
  }
  await background.start();
  if (await core.rootKeyExposure.isExposed()) log.warn('root key in clear in the data directory');
  log.info('started', {});
  const caFile = config.tlsFiles === undefined ? caFilePath(tlsFolderOf(config.dataDirectory)) : undefined;
  const { addresses } = listeners;
  return {
    core,
    ports: { ...ports(), cards: cards.port },
    addresses,
    caFile,
    console: webConsole,
    firstOperator: webConsole?.firstOperator,
    stop,
  };
}

/** Ends the process with the error, whatever awaits it. */
function crash(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

interface WorkerParts {
  readonly core: OpenCore;
  readonly clocks: Clocks;
  readonly config: Config;
  readonly log: Log;
  readonly bucketMemory: SharedArrayBuffer;
  readonly newThread: WorkersOptions['newThread'];
  /** Set before the threads start. */
  readonly cardForm: { readonly listener: CardListener | undefined };
}

const startThread: WorkersOptions['newThread'] = (data, transferList) =>
  new Worker(new URL('./worker.ts', import.meta.url), { name: 'requests', workerData: data, transferList });

/** Prepares the request threads. */
function createWorkers(
  { core, clocks, config, log, bucketMemory, newThread, cardForm }: WorkerParts,
  tls: TlsOptions,
): Workers {
  const { root, time, opened } = core;
  return new Workers(
    {
      count: config.workers,
      log,
      timers: time,
      clock: clocks.monotonic,
      newThread,
      newData: () => {
        const trustedTime = time.trustedNow();
        const cardFormPort = cardForm.listener?.port ?? 0;
        return { config, root, writerPort: opened.connectWriter(), bucketMemory, trustedTime, cardFormPort };
      },
      onFailing: crash,
    },
    withTicketKeys(core, tls),
  );
}

/** New keys with each certificate: who gets hold of one learns the sessions of hours, not of years. */
const withTicketKeys = ({ random }: OpenCore, tls: TlsOptions): SharedTls => ({
  ...tls,
  ticketKeys: random.bytes(TICKET_KEY_BYTES),
});

interface RenewalParts {
  readonly core: OpenCore;
  readonly config: Config;
  readonly log: Log;
  readonly listeners: Listeners<string>;
  readonly cards: CardListener;
  readonly workers: Workers | undefined;
}

/** Reads the certificate periodically, because it may have been renewed. */
function renewCertificate({ core, config, log, listeners, cards, workers }: RenewalParts): NodeJS.Timeout {
  const renew = async (): Promise<void> => {
    const tls = await loadTlsOptions(config, core.clock);
    listeners.setCertificate(tls);
    cards.setCertificate(tls);
    workers?.setCertificate(withTicketKeys(core, tls));
  };
  const onError = (error: unknown): void => log.error('certificate reload failed', describeError(error));
  return setInterval(() => renew().catch(onError), CERTIFICATE_RELOAD_MS).unref();
}

/** Leases of the work that one node does for all. Over SQLite, a service is always that node. */
function createLeases({ database, opened, time, random }: OpenCore): Leases {
  const owner = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  const newLease = (name: string): Lease => new Lease({ database, clock: () => time.steadyNow(), name, owner });
  const leases = {
    sweeper: newLease('sweeper'),
    payments: newLease('payments'),
    verification: newLease('verification'),
    syslog: newLease('syslog'),
    otlp: newLease('otlp'),
    rotation: newLease('rotation'),
  };
  return {
    // A command may seal records again beside the service.
    holdsLease: (work) =>
      opened.isShared || work === 'rotation' ? () => leases[work].acquire() : () => Promise.resolve(true),
    release: async (onError) => {
      for (const lease of Object.values(leases)) await lease.release().catch(onError);
    },
  };
}

interface ConsoleParts {
  readonly core: OpenCore;
  readonly config: Config;
  readonly node: Node;
  readonly webConsole: OpenedConsole | undefined;
  readonly serviceInfo: VaultServices['serviceInfo'];
  readonly workers: Workers | undefined;
  readonly cards: CardListener;
}

/** Builds the server of the console, with the metrics of all threads. */
async function createConsoleServer(parts: ConsoleParts): Promise<HttpServer> {
  const { core, config, node, webConsole, serviceInfo, workers, cards } = parts;
  const { vault, captures, captureSessions, payments, unknownOutcomes, proxy, metrics } = node;
  // Separate from the memory of the threads, because only this one serves the console.
  const buckets = { ...node.buckets, memory: createBucketMemory(core.random) };
  const useCases = { vault, captures, captureSessions, cardForm: cards, payments, unknownOutcomes, proxy };
  const vaultServices = { ...core, ...useCases, serviceInfo };
  const limits = { consoleUrl: config.consoleUrl, attemptsPerMinute: config.rates.failedAuthentication, buckets };
  const served = await webConsole?.serve(vaultServices, limits);
  const options: ServerOptions = {
    ...node.reporting,
    listener: 'console',
    ...(served && { headers: served.headers }),
  };
  const app = createBaseServer(options);
  const { clock, transactions } = core;
  if (served !== undefined) addRoutes(app, served.routes, { ...options, clock, transactions, ...served });
  const collect = async (): Promise<MetricsText> => {
    const registry = await metrics.registry();
    return workers === undefined
      ? registry
      : mergeMetrics(await registry.getMetricsAsJSON(), await workers.collectMetrics());
  };
  const metricsOfService = metricsRoute(collect, config.metricsAllow);
  addPublicRoutes(app, [...node.operational, metricsOfService, ...(served?.assets ?? [])], options);
  return app;
}

type Ports = Readonly<Record<Environment | 'console', number>>;

interface ServiceInfoParts {
  readonly core: OpenCore;
  readonly config: Config;
  readonly log: Log;
  readonly endpoints: readonly Endpoint[];
}

/** Facts about the service that the console shows; the addresses are known once it listens. */
const buildServiceInfo = (
  { core, config, log, endpoints }: ServiceInfoParts,
  ports: () => Ports,
): VaultServices['serviceInfo'] => {
  const { clock, opened } = core;
  const { tlsFiles } = config;
  const coreDumps = mayDumpCore();
  if (coreDumps === true) log.warn('core dumps allowed');
  return {
    version: VERSION,
    startedAt: clock(),
    sendsMails: config.smtp !== undefined,
    strictTransport: strictTransport(config.hsts),
    isShared: opened.isShared,
    coreDumps,
    isRootKeyExposed: () => core.rootKeyExposure.isExposed(),
    apiRoutes: [...new Set(endpoints.map(({ path }) => path))].sort(),
    apiUrl: (environment) => formatApiUrl(config, ports()[environment]),
    caCertificate: () => (tlsFiles === undefined ? readCaCertificate(tlsFolderOf(config.dataDirectory)) : undefined),
    certificateEnd: () => findCertificateExpiry(tlsFiles ?? tlsFolderOf(config.dataDirectory)),
  };
};

/** Returns the operator's certificate, or one that cardvault created. */
async function loadTlsOptions(config: Config, clock: Clock): Promise<TlsOptions> {
  const { tlsFiles } = config;
  const identity =
    tlsFiles === undefined
      ? await loadOrCreateLocalIdentity(tlsFolderOf(config.dataDirectory), clock)
      : loadIdentity(tlsFiles);
  return tlsOptions(identity, config.tlsMaxVersion);
}
