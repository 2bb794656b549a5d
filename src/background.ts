import { hostname } from 'node:os';
import { listExpiringKeys } from './accounts/api-key-store.ts';
import type { Authentication } from './accounts/authentication.ts';
import { MAC_TABLES } from './accounts/mac-tables.ts';
import { RequestLogPruning } from './accounts/request-log-pruning.ts';
import { type AlteredRows, RowCheck } from './audit/altered-rows.ts';
import { CheckpointWriter } from './audit/checkpoints.ts';
import { PeriodicVerification } from './audit/periodic-verification.ts';
import { appendCheckpoints, HeadRecorder } from './audit/recorded-heads.ts';
import { LogReview } from './audit/review.ts';
import { type Receiver, ReceiverError, Shipping, type ShippingTarget } from './audit/shipping.ts';
import type { CaptureSessions } from './capture-sessions/capture-sessions.ts';
import type { Captures } from './captures/captures.ts';
import type { Config } from './config.ts';
import { type Clocks, type OpenCore, WEBHOOK_USER_AGENT } from './core.ts';
import { describeError, type Log } from './http/log.ts';
import type { Metrics } from './http/metrics.ts';
import { delay, MINUTE, SECOND } from './kernel/clock.ts';
import { LIMITS } from './kernel/limits.ts';
import type { TimeReading } from './kernel/time-guard.ts';
import { hasDuePayments } from './payments/payment-store.ts';
import { DestroyedKeys } from './rotation/destroyed-keys.ts';
import type { OverdueKeys } from './rotation/key-ages.ts';
import { Resealing } from './rotation/resealing.ts';
import type { RotatedColumns } from './storage/digest-columns.ts';
import { PeriodicTask, type PeriodicWork, SWEEP_INTERVAL_MS, type Sweep } from './storage/periodic-task.ts';
import { TimeWatch } from './storage/time-watch.ts';
import { withConsoleColumns } from './tables.ts';
import type { Vault } from './vault/vault.ts';
import { VERSION } from './version.ts';
import { Dispatcher } from './webhooks/dispatcher.ts';
import { ExpiryMarks, expiringCertificate, expiringKey } from './webhooks/expiry-marks.ts';

/** How often the due time of a verification of the audit log is checked. */
const VERIFICATION_CHECK_MS = MINUTE;

/** How often the log is searched for records that a receiver does not have. */
const SHIPPING_INTERVAL_MS = 2 * SECOND;
/**
 * The write-ahead log contains what was erased for at most this time, and that of one copy. Each scrub copies all pages that have
 * changed since the last one, and hot pages are copied as often.
 */
const SCRUB_INTERVAL_MS = 30 * SECOND;
/** How often due webhooks are looked for. */
const WEBHOOK_POLL_MS = SECOND;

/** The leases of the work that one node does for all of them. */
export interface Leases {
  holdsLease(work: 'sweeper' | 'payments' | 'verification' | 'syslog' | 'otlp' | 'rotation'): () => Promise<boolean>;
  release(onError: (error: unknown) => void): Promise<void>;
}

interface BackgroundTask {
  start(): void;
  stop(): Promise<void>;
}

/** Facts about the service that the console's periodic work needs. */
interface ServiceFacts {
  /** Expiry of the listeners' certificate; undefined when it cannot be read. */
  certificateEnd(): number | undefined;
  /** Milliseconds after which a backup, and a drill, are overdue; undefined: never. */
  readonly backupMaxAges: Readonly<Record<'backup' | 'drill', number | undefined>>;
  consoleUrl(): string;
  readonly smtp: Config['smtp'];
  /** Receivers of the audit log. */
  readonly auditReceivers: readonly ShippingTarget[];
  /** Keys that are older than their period. */
  countOverdueKeys(): Promise<OverdueKeys>;
}

/** Periodic work of the console. */
interface ConsoleTasks {
  /** Deletion of its due records; one node does it for all. */
  sweeps(onExempted: (count: number) => void): Sweep[];
  /** Work that one node does for all. */
  singleNodeTasks(facts: ServiceFacts, onMailError: (error: unknown) => void): Promise<PeriodicWork[]>;
  readonly rotatedColumns: RotatedColumns;
  /** Work of each node. */
  readonly tasks: readonly PeriodicWork[];
  /** Writes what this process still holds in memory. */
  flush(): Promise<void>;
}

interface ThreadParts {
  readonly core: OpenCore;
  readonly log: Log;
  readonly authentications: readonly Authentication[];
}

interface BackgroundParts extends ThreadParts {
  readonly clocks: Clocks;
  readonly config: Config;
  readonly leases: Leases;
  readonly vault: Vault;
  readonly captures: Captures;
  readonly captureSessions: CaptureSessions;
  readonly alteredRows: AlteredRows;
  readonly metrics: Metrics;
  /** The periodic work of the console, if there is one. */
  readonly console: ConsoleTasks | undefined;
  readonly facts: ServiceFacts;
  /** Recovery of payments. */
  readonly scheduler: BackgroundTask;
  /** Called with the time whenever time becomes trusted. */
  onTimeTrusted(time: number): void;
}

/** Periodic work. */
interface Background {
  start(): Promise<void>;
  /** Stops all of it, and writes what this thread still holds in memory. */
  stop(): Promise<void>;
}

type OnError = (task: string, error: unknown) => void;

const logErrors =
  (log: Log): OnError =>
  (task, error) =>
    log.error('task failed', { ...describeError(error), task });

/** Builds a task that removes no records. */
const withoutSweeps = (
  every: number,
  work: readonly PeriodicWork[],
  time: OpenCore['time'],
  onError: OnError,
): PeriodicTask => new PeriodicTask({ every, sweeps: [], work, time, onRemoved: () => undefined, onError });

/** Builds the periodic work of a thread that serves requests: each thread has connections and counters of its own. */
export function createThreadBackground(
  { core, log, authentications }: ThreadParts,
  more: readonly PeriodicWork[] = [],
) {
  const { database, opened, sadKeys, time, usage, requestLog, tokenUses } = core;
  const onError = logErrors(log);
  const destroyedKeys = new DestroyedKeys(core);
  const flushUses = async (): Promise<void> => {
    for (const authentication of authentications) await authentication.flushLastUses();
  };
  const work: PeriodicWork[] = [
    { kind: 'key usage', run: flushUses },
    { kind: 'statistics', run: () => usage.flush() },
    { kind: 'token uses', run: () => tokenUses.flush() },
    { kind: 'request log', run: () => requestLog.flush() },
    { kind: 'destroyed sad keys', run: () => sadKeys.forgetDestroyed() },
    { kind: 'destroyed keys', run: () => destroyedKeys.forget() },
    ...more,
  ];
  const each = (every: number, work: readonly PeriodicWork[]): PeriodicTask =>
    withoutSweeps(every, work, time, onError);
  const tasks: readonly BackgroundTask[] = [
    opened.maintenance(time, onError),
    each(SWEEP_INTERVAL_MS, work),
    each(SCRUB_INTERVAL_MS, [{ kind: 'scrub', run: () => database.scrub() }]),
  ];
  return {
    start: (): void => {
      for (const task of tasks) task.start();
    },
    stop: async (): Promise<void> => {
      for (const task of tasks) await task.stop();
      await flushUses().catch((error: unknown) => log.error('key usage not saved', describeError(error)));
      await usage.flush().catch((error: unknown) => log.error('usage not saved', describeError(error)));
      await tokenUses.flush().catch((error: unknown) => log.error('token uses not saved', describeError(error)));
      const onUnsaved = (error: unknown): void => log.error('request log not saved', describeError(error));
      await requestLog.flush({ all: true }).catch(onUnsaved);
    },
  };
}

/** Builds the periodic work of the main thread. Time was compared once when this resolves. */
export async function createBackground(parts: BackgroundParts): Promise<Background> {
  const { core, log, leases, metrics } = parts;
  const { time } = core;
  const onError = logErrors(log);
  const onRemoved = (kind: string, count: number): void => metrics.countSwept(kind, count);
  const sweeps = createSweeps(parts);
  const timeWatch = await startTimeWatch(parts, sweeps, onError);
  const { headRecorder, verification, checkpoints } = createAuditTasks(parts);
  const shipments = (await createReceivers(parts)).map((receiver) => createShipment(parts, receiver));
  const resealing = createResealing(parts);
  const reportMissingSadKeys = createMissingKeyReport(parts);
  const each = (every: number, work: readonly PeriodicWork[]): PeriodicTask =>
    withoutSweeps(every, work, time, onError);
  const onMailError = (error: unknown): void => log.error('mail not sent', describeError(error));
  const holdsLease = leases.holdsLease('sweeper');
  const onOneNode = (sweeps: readonly Sweep[], work: readonly PeriodicWork[]): PeriodicTask =>
    new PeriodicTask({ every: SWEEP_INTERVAL_MS, sweeps, work, time, holdsLease, onRemoved, onError });
  const onOneNodeEvery = (every: number, work: PeriodicWork): PeriodicTask =>
    new PeriodicTask({ every, sweeps: [], work: [work], time, holdsLease, onRemoved, onError });
  const ofConsole = (await parts.console?.singleNodeTasks(parts.facts, onMailError)) ?? [];
  const ofThread = createThreadBackground(parts, parts.console?.tasks);
  const tasks: readonly BackgroundTask[] = [
    timeWatch,
    onOneNode(sweeps, createSingleNodeTasks(parts, reportMissingSadKeys)),
    // Each of them apart: a server of mails that does not respond must not delay the destruction of records.
    ...ofConsole.map((work) => onOneNode([], [work])),
    each(LIMITS.headNotesEveryMs, [{ kind: 'audit heads', run: () => headRecorder.record() }]),
    each(VERIFICATION_CHECK_MS, [{ kind: 'verification', run: () => verification.run() }]),
    onOneNodeEvery(parts.config.auditCheckpointMs, { kind: 'checkpoint', run: () => checkpoints.write() }),
    ...shipments.map(({ task }) => task),
    createDispatch(parts, onError),
    each(SWEEP_INTERVAL_MS, [{ kind: 'key rotation', run: () => resealing.run() }]),
    parts.scheduler,
  ];
  return {
    start: async () => {
      await reportMissingSadKeys().catch((error: unknown) => onError('missing sad keys', error));
      ofThread.start();
      for (const round of tasks) round.start();
    },
    stop: async () => {
      verification.stop();
      for (const { shipping } of shipments) shipping.stop();
      resealing.stop();
      for (const round of tasks) await round.stop();
      const logError = (event: string) => (error: unknown) => log.error(event, describeError(error));
      await leases.release(logError('lease release failed'));
      await ofThread.stop();
      await parts.console?.flush().catch(logError('throttled events not saved'));
      await headRecorder.record().catch(logError('audit heads not written'));
      await checkpoints.write().catch(logError('checkpoint not written'));
    },
  };
}

/** Builds what sends webhooks. Every node sends; a claim gives each delivery to one of them. */
function createDispatch({ core, config, metrics }: BackgroundParts, onError: OnError): BackgroundTask {
  const { time, outbox } = core;
  const dispatcher = new Dispatcher({
    ...core,
    userAgent: WEBHOOK_USER_AGENT,
    clock: () => time.steadyNow(),
    delays: config.webhooks.delays,
    onAttempt: (result) => metrics.countWebhookAttempt(result),
    onError: (error) => onError('webhook', error),
  });
  const work = [{ kind: 'webhooks', run: () => dispatcher.runOnce() }];
  const rounds = new PeriodicTask({
    every: WEBHOOK_POLL_MS,
    sweeps: [],
    work,
    time,
    onRemoved: () => undefined,
    onError,
  });
  return {
    start: () => {
      // An event that this thread has written is sent immediately.
      outbox.onWritten(() => void rounds.runOnce());
      rounds.start();
    },
    stop: async () => {
      outbox.onWritten(() => undefined);
      await rounds.stop();
      await dispatcher.stop();
    },
  };
}

/** Builds what records the heads of the audit log, signs checkpoints, and verifies the log. */
function createAuditTasks({ core, config, log, leases }: BackgroundParts) {
  const file = config.auditHeadsFile;
  const headRecorder = new HeadRecorder({
    ...core,
    file,
    onRecord: ({ chains, digest }) => log.info('audit heads', { count: chains, digest }),
  });
  const checkpoints = new CheckpointWriter(core, (written) => {
    if (file !== undefined) appendCheckpoints(file, written);
  });
  const verification = new PeriodicVerification({
    ...core,
    holdsLease: leases.holdsLease('verification'),
    pause: (milliseconds) => delay(core.time, milliseconds),
    onFault: ({ fault, kind }) => log.error('audit log altered', { reason: fault, task: kind }),
  });
  return { headRecorder, checkpoints, verification };
}

/** Loads what sends the audit log only where a receiver is configured. */
async function createReceivers({ config, log }: BackgroundParts): Promise<Receiver[]> {
  const { syslog, otlp, tls } = config.auditReceivers;
  const receivers: Receiver[] = [];
  if (syslog !== undefined) {
    const { SyslogReceiver } = await import('./audit/syslog.ts');
    receivers.push(new SyslogReceiver(syslog, tls, hostname()));
  }
  if (otlp !== undefined) {
    const { OtlpReceiver } = await import('./audit/otlp.ts');
    const onRejected = (count: number): void => log.error('audit records rejected', { task: 'otlp', count });
    receivers.push(new OtlpReceiver({ ...otlp, tls, version: VERSION, onRejected }));
  }
  return receivers;
}

/** Receivers do not wait for one another, and nothing waits for them. */
function createShipment({ core, log, leases }: BackgroundParts, receiver: Receiver) {
  const { target } = receiver;
  const shipping = new Shipping({ ...core, receiver, holdsLease: leases.holdsLease(target) });
  const onError = (_: string, error: unknown): void =>
    log.error(
      'audit log not sent',
      error instanceof ReceiverError ? { task: target, reason: error.code } : { ...describeError(error), task: target },
    );
  const work = [{ kind: target, run: () => shipping.run() }];
  const onRemoved = (): void => undefined;
  const { time } = core;
  const task = new PeriodicTask({ every: SHIPPING_INTERVAL_MS, sweeps: [], work, time, onRemoved, onError });
  return { shipping, task };
}

/** Builds what seals records again under the new version of a rotated key. */
function createResealing({ core, config, leases, console, metrics }: BackgroundParts): Resealing {
  return new Resealing({
    ...core,
    ...withConsoleColumns(console?.rotatedColumns),
    rate: config.rotationRate,
    holdsLease: leases.holdsLease('rotation'),
    pause: (milliseconds) => delay(core.time, milliseconds),
    onResealed: (purpose, count) => metrics.countResealed(purpose, count),
  });
}

/** Work other than sweeps that one node does for all of them. */
function createSingleNodeTasks(
  { core, config, alteredRows, metrics }: BackgroundParts,
  reportMissingSadKeys: () => Promise<void>,
): PeriodicWork[] {
  const { time, usage, database } = core;
  const rowCheck = new RowCheck({ ...core, alteredRows, tables: MAC_TABLES });
  const review = new LogReview(core);
  const purgeOldUsage = async (now: number | undefined): Promise<void> => {
    if (now !== undefined) await usage.purgeOld(now);
  };
  const pruning = new RequestLogPruning({ database, rows: config.requestLogRows });
  const pruneRequestLog = async (now: number | undefined): Promise<void> => {
    const count = now === undefined ? 0 : await pruning.prune(now);
    if (count > 0) metrics.countSwept('requests', count);
  };
  return [
    { kind: 'expiries', run: createExpiryWatch(core) },
    { kind: 'row check', run: () => rowCheck.runOnce() },
    { kind: 'audit review', run: () => review.run() },
    { kind: 'missing sad keys', run: reportMissingSadKeys },
    { kind: 'old statistics', run: () => purgeOldUsage(time.trustedNow()) },
    { kind: 'old requests', run: () => pruneRequestLog(time.trustedNow()) },
  ];
}

/** How often expiries of keys and certificates are compared with their marks. */
const EXPIRY_WATCH_MS = MINUTE;

/** Tells by webhooks which keys and certificates expire soon. */
function createExpiryWatch(core: OpenCore): () => Promise<void> {
  const { database, configurations, time } = core;
  const marks = new ExpiryMarks(core);
  let watchedAt = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = time.trustedNow();
    if (now === undefined || Math.abs(now - watchedAt) < EXPIRY_WATCH_MS) return;
    watchedAt = now;
    const keys = await listExpiringKeys(database, now);
    const certificates = await configurations.listCertificateExpiries();
    const expiring = [
      ...keys.map(({ account, environment, ...key }) => expiringKey({ account, environment }, key)),
      ...certificates.map(({ account, environment, certificate, expiresAt }) =>
        expiringCertificate({ account, environment }, certificate, expiresAt),
      ),
    ];
    await marks.run(expiring, now);
  };
}

/** Sweeps that destroy expired records. */
function createSweeps({ core, console, log, captures, captureSessions, vault }: BackgroundParts): Sweep[] {
  const { idempotency, retention, webhooks } = core;
  const onExempted = (count: number): void => log.warn('inactive users stay enabled', { count });
  return [
    { kind: 'captures', isDue: (now) => captures.isSweepDue(now), run: (now) => captures.sweep(now) },
    { kind: 'sad keys', isExhaustive: true, run: (now) => captures.sweepSadKeys(now) },
    { kind: 'tokens', isDue: (now) => vault.isSweepDue(now), run: (now) => vault.sweep(now) },
    { kind: 'capture sessions', run: (now) => captureSessions.sweep(now) },
    { kind: 'webhook events', isDue: (now) => webhooks.isSweepDue(now), run: (now) => webhooks.sweep(now) },
    { kind: 'unused tokens', isDue: (now) => retention.isSweepDue(now), run: (now) => retention.sweep(now) },
    { kind: 'responses', isDue: (now) => idempotency.isSweepDue(now), run: (now) => idempotency.sweep(now) },
    ...(console?.sweeps(onExempted) ?? []),
  ];
}

/** Compares time once and then periodically, and logs whenever it becomes trusted or untrusted. */
async function startTimeWatch(
  { core, clocks, log, onTimeTrusted }: BackgroundParts,
  sweeps: readonly Sweep[],
  onError: OnError,
): Promise<TimeWatch> {
  const { database, opened, time, clockRecords } = core;
  const isDestructionDue = async (now: number): Promise<boolean> => {
    for (const sweep of sweeps) if ((await sweep.isDue?.(now)) === true) return true;
    return hasDuePayments(database, now);
  };
  const timeWatch = new TimeWatch({
    database,
    records: clockRecords,
    guard: time,
    monotonic: clocks.monotonic,
    hasPeers: opened.hasSharedClock,
    isDestructionDue,
    onError,
  });
  const checkTime = (): Promise<void> => timeWatch.check().catch((error: unknown) => onError('clock', error));
  // A start often trusts the clock only in its first check, because nothing is due: that is no change to report.
  await checkTime();
  time.onChange((reading) => {
    logTimeTrust(log, reading);
    if (reading.distrust === undefined) onTimeTrusted(reading.time);
    void checkTime();
  });
  return timeWatch;
}

function logTimeTrust(log: Log, { distrust, time, expected }: TimeReading): void {
  if (distrust === undefined) log.info('time trusted');
  else
    log.error('time not trusted', {
      reason: distrust,
      ...(expected !== undefined && { difference_ms: Math.round(time - expected) }),
    });
}

/** Returns a check that logs missing keys of sensitive authentication data whenever more of them are missing than before. */
function createMissingKeyReport({ captures, log }: BackgroundParts): () => Promise<void> {
  let reported = 0;
  return async () => {
    const count = await captures.countMissingSadKeys();
    const reason = `${count} keys that captures name are not here; those captures have lost security code and track data`;
    if (count > reported) log.error('sad keys missing', { reason });
    reported = count;
  };
}
