import { join } from 'node:path';
import { Authentication } from './accounts/authentication.ts';
import { Captures } from './captures/captures.ts';
import type { Running } from './cli/core.ts';
import type { Config } from './config.ts';
import { Approvals } from './console/approvals.ts';
import { consoleRoutes, PAGES } from './console/console.ts';
import type { About } from './console/route.ts';
import { type OpenCore, openCore } from './core.ts';
import { addAssets, loadAssets } from './http/assets.ts';
import { browserHeaders } from './http/browser-headers.ts';
import type { Endpoint } from './http/endpoint.ts';
import { ENDPOINTS } from './http/endpoints.ts';
import { addJsonRoutes } from './http/json-routes.ts';
import { Listeners } from './http/listeners.ts';
import { describeError, type Log } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { addNotifications } from './http/notifications.ts';
import { bareServer, type ServerOptions, serviceServer } from './http/server.ts';
import {
  authorityFileIn,
  certificateEnd,
  localIdentity,
  readAuthority,
  readIdentity,
  type TlsOptions,
  tlsOptions,
} from './http/tls.ts';
import { addMetrics, addUnversioned } from './http/unversioned.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import type { Clock } from './kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from './kernel/environment.ts';
import { wirePayments } from './payments/clockwork.ts';
import { countDoubtful } from './payments/payment-store.ts';
import { Placeholders } from './placeholders/placeholders.ts';
import { PayloadProxy } from './proxy/proxy.ts';
import { Lease } from './storage/lease.ts';
import { Statistics } from './storage/statistics.ts';
import { SWEEP_EVERY_MS, Sweeper } from './storage/sweeper.ts';
import { whenThere } from './storage/when-there.ts';
import { Marking } from './vault/marking.ts';
import { Vault } from './vault/vault.ts';
import { VERSION } from './version.ts';

const ID_BYTES = 16;
const ALWAYS = (): Promise<boolean> => Promise.resolve(true);

/** Opens everything, listens, and returns how to stop. */
export async function startService(
  config: Config,
  own: Clock,
  log: Log,
  endpoints: readonly Endpoint[] = ENDPOINTS,
): Promise<Running> {
  const waiting = (error: unknown): void => log.error('waiting for the database', describeError(error));
  const core = await whenThere(() => openCore(config, own), { clock: own, waiting });
  try {
    return await runService(core, config, log, endpoints);
  } catch (error) {
    // What stays open would keep the process from ending.
    await core.close();
    throw error;
  }
}

/** The wiring diagram. */
async function runService(core: OpenCore, config: Config, log: Log, endpoints: readonly Endpoint[]): Promise<Running> {
  const { database, opened, keyring, clock, random, accounts, configurations } = core;
  const owner = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  const turns = ['sweeper', 'payments'].map((name) => new Lease({ database, clock, name, owner }));
  // With a database of its own a service is always the one.
  const [sweeping, clocking] = turns.map((lease) => (opened.isShared ? () => lease.isOurs() : ALWAYS));
  const statistics = new Statistics({ database, clock });
  const marking = new Marking({ database, keyring });
  const vault = new Vault({ database, keyring, clock, random, statistics });
  const captures = new Captures({ database, keyring, vault, clock, random });
  const placeholders = new Placeholders({ database, vault, captures, clock });
  const proxy = new PayloadProxy({ configurations, placeholders, clock, random });
  const idempotency = new Idempotency({ database, keyring, clock, random });
  const state = { draining: false };
  const ready = async (): Promise<boolean> => !state.draining && (await database.isAlive());
  const certificateEnds = () => configurations.certificateEnds();
  const doubtfulPayments = () => countDoubtful(database);
  const metrics = new Metrics({ waitingWrites: () => database.waiting, ready, certificateEnds, doubtfulPayments });
  const { payments, notifications, clockwork } = wirePayments({
    ...core,
    vault,
    placeholders,
    idempotency,
    isOurTurn: clocking ?? ALWAYS,
    observe: metrics.operation.bind(metrics),
    failed: (sweep, error) => log.error('payments not looked into', { ...describeError(error), sweep }),
    failedLook: (error, { tenant, id }) =>
      log.error('a payment could not be looked into', {
        ...describeError(error),
        account: tenant.account,
        payment: id,
      }),
  });
  const shared = { clock, random, log, metrics, statistics, trustedProxies: config.trustedProxies };

  const authentications = ENVIRONMENTS.map(
    (environment) => new Authentication({ database, keyring, clock, random, environment }),
  );
  const serviceOf = (environment: Environment) => {
    const authentication = authentications[ENVIRONMENTS.indexOf(environment)] as Authentication;
    const services = { database, accounts, vault, captures, payments, proxy };
    const own = { listener: environment, environment, authentication, services };
    return serviceServer({ ...shared, ...own, idempotency, rates: config.rates, endpoints });
  };
  const consoleOptions: ServerOptions = { ...shared, listener: 'console', headers: browserHeaders };
  const apps = {
    production: serviceOf('production'),
    sandbox: serviceOf('sandbox'),
    console: bareServer(consoleOptions),
  };
  const approvals = new Approvals(core);
  const parts = { ...core, approvals, vault, captures, payments, proxy, statistics };
  const about = aboutOf(config, clock(), opened.isShared, () => listeners.ports);
  addAssets(apps.console, loadAssets(BUILT_CONSOLE), PAGES, random);
  addJsonRoutes(
    apps.console,
    consoleRoutes(
      { ...parts, about },
      { consoleUrl: config.consoleUrl, triesPerMinute: config.rates.failedAuthentication },
    ),
  );
  for (const app of Object.values(apps)) addUnversioned(app, endpoints, { ready }, VERSION);
  for (const environment of ENVIRONMENTS) addNotifications(apps[environment], environment, notifications);
  addMetrics(apps.console, metrics, config.metricsAllow);

  const flushUses = async (): Promise<void> => {
    for (const authentication of authentications) await authentication.flushUses();
  };
  const failed = (sweep: string, error: unknown): void => log.error('sweep failed', { ...describeError(error), sweep });
  const removed = (kind: string, count: number): void => metrics.swept(kind, count);
  const sweeps = [
    { kind: 'captures', run: () => captures.sweep() },
    { kind: 'tokens', run: () => vault.sweep() },
    { kind: 'answers', run: () => idempotency.sweep() },
    { kind: 'sessions', run: () => core.people.sessions.sweep() },
    { kind: 'approvals', run: () => approvals.sweep() },
  ];
  const chores = [
    { kind: 'uses', run: flushUses },
    { kind: 'statistics', run: () => statistics.flush() },
    { kind: 'repeated refusals', run: () => core.people.repeats.flush() },
    { kind: 'scrub', run: () => database.scrub() },
  ];
  const sole = [
    { kind: 'marks', run: () => marking.round() },
    { kind: 'old statistics', run: () => statistics.forgetOld() },
  ];
  const rounds = [
    opened.watch(failed),
    new Sweeper({ every: SWEEP_EVERY_MS, sweeps, chores: sole, isOurTurn: sweeping ?? ALWAYS, removed, failed }),
    new Sweeper({ every: SWEEP_EVERY_MS, sweeps: [], chores, removed, failed }),
    clockwork,
  ];
  const notRenewed = (error: unknown): void => log.error('certificate not renewed', describeError(error));
  const listeners = new Listeners(apps, () => tlsOf(config, clock), notRenewed);
  const stop = async (): Promise<void> => {
    state.draining = true;
    await listeners.close(config.drainMs);
    for (const round of rounds) await round.stop();
    for (const held of turns)
      await held.giveBack().catch((error: unknown) => log.error('lease not given back', describeError(error)));
    await flushUses().catch((error: unknown) => log.error('uses not written', describeError(error)));
    await statistics.flush().catch((error: unknown) => log.error('counts not written', describeError(error)));
    await core.people.repeats
      .flush({ all: true })
      .catch((error: unknown) => log.error('repeated refusals not written', describeError(error)));
    await core.close();
    log.info('stopped', {});
  };
  // A process that cannot write is of no use; whoever supervises it starts a new one.
  opened.onBroken((error) => {
    setImmediate(() => {
      throw error;
    });
  });
  try {
    await listeners.listen(config.ports, config.hosts);
  } catch (error) {
    await stop();
    throw error;
  }
  for (const round of rounds) round.start();
  log.info('started', {});
  const authorityFile = config.tlsFiles === undefined ? authorityFileIn(tlsFolder(config)) : undefined;
  return { core, ports: listeners.ports, addresses: listeners.addresses, authorityFile, stop };
}

const BUILT_CONSOLE = join(import.meta.dirname, '..', 'web', 'dist');

type Ports = Readonly<Record<Environment | 'console', number>>;

/** What the console tells of the service; where it listens is known once it does. */
const aboutOf = (config: Config, startedAt: number, isShared: boolean, ports: () => Ports): About => {
  const { consoleUrl, tlsFiles } = config;
  const host = consoleUrl === undefined ? 'localhost' : new URL(consoleUrl).hostname;
  return {
    version: VERSION,
    startedAt,
    isShared,
    urlOf: (environment) => `https://${host}:${ports()[environment]}`,
    authority: () => (tlsFiles === undefined ? readAuthority(tlsFolder(config)) : undefined),
    certificateEnd: () => certificateEnd(tlsFiles ?? tlsFolder(config)),
  };
};

const tlsFolder = (config: Config): string => join(config.dataDirectory, 'tls');

/** The operator's certificate, or one made here. */
async function tlsOf(config: Config, clock: Clock): Promise<TlsOptions> {
  const { tlsFiles } = config;
  const identity = tlsFiles === undefined ? await localIdentity(tlsFolder(config), clock) : readIdentity(tlsFiles);
  return tlsOptions(identity, config.tlsMaxVersion);
}
