import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createThreadBackground } from './background.ts';
import { originOf } from './card-listener.ts';
import { clocksOf, wallClock } from './clocks.ts';
import type { Config } from './config.ts';
import { joinCore, type OpenCore, type OpenedByMain } from './core.ts';
import { ENDPOINTS } from './http/endpoints.ts';
import { Listeners } from './http/listeners.ts';
import { describeError, openLog } from './http/log.ts';
import type { ReportedMetric } from './http/merged-metrics.ts';
import type { TlsOptions } from './http/tls.ts';
import type { Traces } from './http/traces.ts';
import { SECOND } from './kernel/clock.ts';
import type { Environment } from './kernel/environment.ts';
import { LIMITS } from './kernel/limits.ts';
import { OperatorError } from './kernel/operator-error.ts';
import { createApiServers, createConnectionLimit, createNode, openTraces } from './node.ts';
import { releaseStartMemory } from './start-memory.ts';
import { waitForDatabase } from './storage/wait-for-database.ts';

/**
 * A request thread: a node that serves the API on the ports that it shares with others, with database connections, caches
 * and counters of its own. The main thread has the work that one node does for all.
 */

type ApiPorts = Readonly<Record<Environment, number>>;

/** The certificate, and the keys by which each thread resumes the TLS sessions of the others. */
export type SharedTls = TlsOptions & { readonly ticketKeys: Uint8Array };

/** The dependencies of a thread, in a form that threads can pass. */
export interface ThreadData extends OpenedByMain {
  readonly config: Config;
  readonly bucketMemory: SharedArrayBuffer;
  /** 0 picks a free one. */
  readonly ports: ApiPorts;
  readonly tls: SharedTls;
  /** The port of the card form; 0 when it is not served. */
  readonly cardFormPort: number;
  /** The time of the main thread while it trusts its clock. */
  readonly trustedTime: number | undefined;
  /** A counter of 32 bits, which the thread increases while its event loop runs. */
  readonly beats: SharedArrayBuffer;
}

/** A message of the main thread. */
export type ThreadOrder =
  | { readonly kind: 'certificate'; readonly tls: SharedTls }
  | { readonly kind: 'time-trusted'; readonly time: number }
  | { readonly kind: 'report-metrics' }
  | { readonly kind: 'stop' };

/** A message to the main thread. */
export type ThreadReport =
  | { readonly kind: 'listening'; readonly ports: ApiPorts; readonly addresses: readonly string[] }
  | { readonly kind: 'not-started'; readonly message: string }
  | { readonly kind: 'log'; readonly lines: string }
  | { readonly kind: 'metrics'; readonly metrics: readonly ReportedMetric[] }
  | { readonly kind: 'stopped' };

/** Much shorter than the time after which the main thread replaces a thread that hangs. */
const BEAT_MS = SECOND;

const data = workerData as ThreadData;
const { config } = data;
const main = parentPort as MessagePort;
const clocks = clocksOf(config);
const send = (report: ThreadReport): void => main.postMessage(report);
const log = openLog(config.logLevel, wallClock, { write: (lines) => send({ kind: 'log', lines }), isBuffered: true });

const toServerOptions = ({ ticketKeys, ...tls }: SharedTls) => ({ ...tls, ticketKeys: Buffer.from(ticketKeys) });

/** Trusts the clock as the main thread does, unless it was set in between. */
function trustTime({ time }: OpenCore, trustedTime: number): void {
  const reading = time.read();
  if (Math.abs(reading.time - trustedTime) <= LIMITS.clockToleranceMs) time.accept(reading);
}

async function serve(core: OpenCore, traces: Traces | undefined): Promise<void> {
  const state = { draining: false };
  const isReady = async (): Promise<boolean> => !state.draining && (await core.database.isAlive());
  const parts = { core, clocks, config, log, endpoints: ENDPOINTS, bucketMemory: data.bucketMemory, isReady, traces };
  const holdsPaymentsLease = () => Promise.resolve(false);
  const ports = (): ApiPorts => listeners.ports;
  const node = createNode({ ...parts, ports, holdsPaymentsLease, hasVaultMetrics: false });
  const newLimit = (listener: string) => createConnectionLimit(parts, node, listener);
  const cardForm = {
    origin: () => originOf(config, data.cardFormPort),
    isServed: () => data.cardFormPort !== 0,
    isOriginConfigured: config.cardForm.origin !== undefined,
  };
  const onTooManyPipelined = (listener: string) => node.metrics.countTooManyPipelined(listener);
  const listeners = new Listeners(createApiServers(parts, node, cardForm), newLimit, onTooManyPipelined);
  const background = createThreadBackground({ ...parts, authentications: node.authentications });
  const stop = async (): Promise<void> => {
    state.draining = true;
    await listeners.close(config.drainMs);
    await background.stop();
    await traces?.close();
    await core.close();
    log.flush();
    send({ kind: 'stopped' });
  };
  const obey = async (order: ThreadOrder): Promise<void> => {
    if (order.kind === 'certificate') listeners.setCertificate(toServerOptions(order.tls));
    else if (order.kind === 'time-trusted') trustTime(core, order.time);
    else if (order.kind === 'report-metrics')
      send({ kind: 'metrics', metrics: await (await node.metrics.registry()).getMetricsAsJSON() });
    else await stop();
  };
  if (data.trustedTime !== undefined) trustTime(core, data.trustedTime);
  await listeners.listen(data.ports, { hosts: config.hosts, tls: toServerOptions(data.tls), reusePort: true });
  background.start();
  main.on('message', (order: ThreadOrder) => obey(order));
  send({ kind: 'listening', ports: listeners.ports, addresses: listeners.addresses });
  releaseStartMemory(core.time);
}

process.on('exit', () => log.flush());
const beats = new Int32Array(data.beats);
setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
try {
  const onRetry = (error: unknown): void => log.error('database unavailable, retrying', describeError(error));
  const traces = await openTraces(config, clocks, log);
  const core = await waitForDatabase(() => joinCore(config, clocks, data, traces), {
    clock: clocks.monotonic,
    onRetry,
  });
  try {
    await serve(core, traces);
  } catch (error) {
    await core.close();
    throw error;
  }
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  send({ kind: 'not-started', message: error.message });
}
