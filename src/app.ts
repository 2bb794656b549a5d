import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Accounts } from './accounts/accounts.ts';
import { Authentication } from './accounts/authentication.ts';
import { auditEntry } from './audit/audit.ts';
import { Captures } from './captures/captures.ts';
import type { Core, Running } from './cli/core.ts';
import { UsageError } from './cli/output.ts';
import type { Config } from './config.ts';
import { makeRootKey, readRootKey } from './crypto/custody.ts';
import { Keyring } from './crypto/keyring.ts';
import { systemRandom } from './crypto/random.ts';
import type { Endpoint } from './http/endpoint.ts';
import { ENDPOINTS } from './http/endpoints.ts';
import { Listeners } from './http/listeners.ts';
import { describeError, type Log } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { addNotifications } from './http/notifications.ts';
import { bareServer, type ServerOptions, serviceServer } from './http/server.ts';
import { authorityFileIn, localIdentity, readIdentity, type TlsOptions, tlsOptions } from './http/tls.ts';
import { addMetrics, addUnversioned } from './http/unversioned.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import type { Clock } from './kernel/clock.ts';
import { ENVIRONMENTS, type Environment } from './kernel/environment.ts';
import { Activations, type Processors } from './payments/activations.ts';
import { Books } from './payments/books.ts';
import { Notifications } from './payments/notifications.ts';
import { countDoubtful, type Due } from './payments/payment-store.ts';
import { Payments } from './payments/payments.ts';
import { newProcessors } from './payments/processors.ts';
import { LOOK_EVERY_MS, Recovery } from './payments/recovery.ts';
import { Placeholders } from './placeholders/placeholders.ts';
import { Configurations } from './proxy/configurations.ts';
import { PayloadProxy } from './proxy/proxy.ts';
import { unfinishedCopy } from './storage/copy.ts';
import { commitAll, type Driver } from './storage/database.ts';
import { holdsKeys, wrappedKeyStore } from './storage/key-store.ts';
import { Lease } from './storage/lease.ts';
import { type Opened, openDatabase } from './storage/open.ts';
import { SWEEP_EVERY_MS, Sweeper } from './storage/sweeper.ts';
import { whenThere } from './storage/when-there.ts';
import { Vault } from './vault/vault.ts';
import { VERSION } from './version.ts';

const NO_VAULT = 'there is no vault in this database; start the service once, or run: cardvault migrate';
const UNFINISHED = 'a copy into this database was not finished; run the same cardvault copy again';

interface OpenCore extends Core {
  readonly database: Driver;
  readonly opened: Opened;
  readonly processors: Processors;
}

/** Database, keys and accounts: what the command line and the service share. Makes what is missing. */
export async function openCore(config: Config, own: Clock, { make = true } = {}): Promise<OpenCore> {
  const random = systemRandom();
  const opened = openDatabase(config.database, own, random);
  const { database, clock } = opened;
  try {
    if (!(await opened.meet()) && !make) throw new UsageError(NO_VAULT);
    await database.migrate(clock);
    if (await unfinishedCopy(database)) throw new UsageError(UNFINISHED);
    const isNew = !(await holdsKeys(database));
    // Another may just be making it, or was stopped while it did.
    if (isNew && !make) throw new UsageError(NO_VAULT);
    if (isNew && !existsSync(config.rootKeyFile)) makeRootKey(config.rootKeyFile);
    const root = readRootKey(config.rootKeyFile);
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    const beganHere = await keyring.prepare(['service', ...ENVIRONMENTS]);
    const journalKey = await keyring.digestKey({ account: '', environment: 'service', purpose: 'journal' });
    await database.useJournalKey(journalKey);
    if (beganHere) {
      const event = { action: 'service.initialised', outcome: 'success', account: '', environment: '' } as const;
      await commitAll(database, { writes: [], journal: [auditEntry(clock, { actor: { type: 'service' } }, event)] });
    }
    const accounts = new Accounts({ database, keyring, clock, random });
    const configurations = new Configurations({ database, keyring, clock });
    const processors = newProcessors({ database, clock, random });
    const activations = new Activations({ database, keyring, clock, processors: processors.byName });
    const close = async (): Promise<void> => {
      processors.close();
      await database.close();
    };
    const capabilities = { accounts, configurations, activations, processors: processors.byName };
    return { database, opened, keyring, journalKey, ...capabilities, clock, random, close };
  } catch (error) {
    await database.close();
    throw error;
  }
}

const ID_BYTES = 16;
const ALWAYS = (): Promise<boolean> => Promise.resolve(true);

/** The wiring diagram: opens everything, listens, and returns how to stop. */
export async function startService(
  config: Config,
  own: Clock,
  log: Log,
  endpoints: readonly Endpoint[] = ENDPOINTS,
): Promise<Running> {
  const waiting = (error: unknown): void => log.error('waiting for the database', describeError(error));
  const core = await whenThere(() => openCore(config, own), { clock: own, waiting });
  const { database, opened, keyring, clock, random, accounts, configurations } = core;
  const owner = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
  const turns = ['sweeper', 'payments'].map((name) => new Lease({ database, clock, name, owner }));
  // With a database of its own a service is always the one.
  const [sweeping, clocking] = turns.map((lease) => (opened.isShared ? () => lease.isOurs() : ALWAYS));
  const vault = new Vault({ database, keyring, clock, random });
  const captures = new Captures({ database, keyring, vault, clock, random });
  const placeholders = new Placeholders({ database, vault, captures, clock });
  const proxy = new PayloadProxy({ configurations, placeholders, clock, random });
  const idempotency = new Idempotency({ database, keyring, clock, random });
  const state = { draining: false };
  const ready = async (): Promise<boolean> => !state.draining && (await database.isAlive());
  const certificateEnds = () => configurations.certificateEnds();
  const doubtfulPayments = () => countDoubtful(database);
  const metrics = new Metrics({ waitingWrites: () => database.waiting, ready, certificateEnds, doubtfulPayments });
  const parts = { vault, placeholders, idempotency, metrics, log, isOurTurn: clocking ?? ALWAYS };
  const { payments, notifications, clockwork } = paymentsOf(core, parts);
  const shared = { clock, random, log, metrics, trustedProxies: config.trustedProxies };

  const authentications = ENVIRONMENTS.map(
    (environment) => new Authentication({ database, keyring, clock, random, environment }),
  );
  const serviceOf = (environment: Environment) => {
    const authentication = authentications[ENVIRONMENTS.indexOf(environment)] as Authentication;
    const services = { database, accounts, vault, captures, payments, proxy };
    const own = { listener: environment, environment, authentication, services };
    return serviceServer({ ...shared, ...own, idempotency, rates: config.rates, endpoints });
  };
  const consoleOptions: ServerOptions = { ...shared, listener: 'console' };
  const apps = {
    production: serviceOf('production'),
    sandbox: serviceOf('sandbox'),
    console: bareServer(consoleOptions),
  };
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
  ];
  const chores = [
    { kind: 'uses', run: flushUses },
    { kind: 'scrub', run: () => database.scrub() },
  ];
  const rounds = [
    opened.watch(failed),
    new Sweeper({ every: SWEEP_EVERY_MS, sweeps, chores: [], isOurTurn: sweeping ?? ALWAYS, removed, failed }),
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

interface PaymentParts {
  readonly vault: Vault;
  readonly placeholders: Placeholders;
  readonly idempotency: Idempotency;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly isOurTurn: () => Promise<boolean>;
}

/** Payments, the news about them, and the clockwork that brings each to its end. */
function paymentsOf(core: OpenCore, { vault, placeholders, idempotency, metrics, log, isOurTurn }: PaymentParts) {
  const { database, keyring, clock, random, activations, processors } = core;
  const observe = metrics.operation.bind(metrics);
  const books = new Books({ database, keyring, clock, random, observe });
  const notifications = new Notifications({ database, keyring, random, processors, books });
  const payments = new Payments({ database, vault, placeholders, activations, books, notifications, clock, random });
  const failed = (sweep: string, error: unknown): void =>
    log.error('payments not looked into', { ...describeError(error), sweep });
  const failedLook = (error: unknown, { tenant, id }: Due): void =>
    log.error('a payment could not be looked into', { ...describeError(error), account: tenant.account, payment: id });
  const recovery = new Recovery({ database, activations, books, payments, idempotency, clock, failed: failedLook });
  const rounds = new Sweeper({
    every: LOOK_EVERY_MS,
    sweeps: [],
    chores: [
      { kind: 'news', run: () => notifications.gather() },
      { kind: 'payments', run: () => recovery.round() },
    ],
    isOurTurn,
    removed: () => undefined,
    failed,
  });
  const stop = async (): Promise<void> => {
    await rounds.stop();
    await recovery.stop();
  };
  return { payments, notifications, clockwork: { start: () => rounds.start(), stop } };
}

const tlsFolder = (config: Config): string => join(config.dataDirectory, 'tls');

/** The operator's certificate, or one made here. */
async function tlsOf(config: Config, clock: Clock): Promise<TlsOptions> {
  const { tlsFiles } = config;
  const identity = tlsFiles === undefined ? await localIdentity(tlsFolder(config), clock) : readIdentity(tlsFiles);
  return tlsOptions(identity, config.tlsMaxVersion);
}
