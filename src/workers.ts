import type { TransferListItem, Worker } from 'node:worker_threads';
import { describeError, type Log } from './http/log.ts';
import { addCounts, type ReportedMetric, type ThreadMetrics } from './http/merged-metrics.ts';
import { type MonotonicClock, SECOND, type Timers } from './kernel/clock.ts';
import { OperatorError } from './kernel/operator-error.ts';
import type { SharedTls, ThreadData, ThreadOrder, ThreadReport } from './worker.ts';

/** How long a scrape waits for the metrics of a thread. */
const METRICS_TIMEOUT_MS = SECOND;
const REPLACE_AFTER_MS = 100;
/** How long a stopping thread may take to write what it holds in memory, once its requests are completed. */
const WRITE_TIMEOUT_MS = 5 * SECOND;
/** Threads that end so often will also end the next time. */
const MAX_ENDS = 3;
const ENDS_WITHIN_MS = 10 * SECOND;

/** How often the main thread looks for a new beat of each thread, and how many times in a row it finds none before it replaces the thread. */
const BEAT_CHECK_MS = 5 * SECOND;
const MAX_MISSED_BEATS = 6;

/** The ports and addresses on which a thread listens. */
type Listening = Extract<ThreadReport, { kind: 'listening' }>;

class WorkerError extends OperatorError {
  override readonly name = 'WorkerError';
}

export interface WorkersOptions {
  readonly count: number;
  readonly log: Log;
  readonly timers: Timers;
  readonly clock: MonotonicClock;
  /** Starts a thread. */
  newThread(data: ThreadData, transfer: TransferListItem[]): Worker;
  /** Returns the dependencies of a new thread. */
  newData(): Omit<ThreadData, 'ports' | 'tls' | 'beats'>;
  /** Called once when threads end again and again. */
  onFailing(error: Error): void;
}

/** One request thread, from its start to its end. */
class RequestThread {
  /** Rejected when the thread ends before it listens. */
  readonly listening: Promise<Listening>;
  readonly ended: Promise<void>;
  /** The last reported ones. */
  metrics: readonly ReportedMetric[] = [];
  isListening = false;
  readonly #worker: Worker;
  readonly #beats: Int32Array;
  /** The beats at the last check, and the number of checks since a new one. */
  #knownBeats = 0;
  #missedBeats = 0;
  #onMetrics: () => void = () => undefined;
  /** The request for metrics that has no response yet. */
  #refresh: Promise<void> | undefined;

  /** `onEnd`: called once with the error that ended the thread, if there was one. */
  constructor(worker: Worker, beats: SharedArrayBuffer, log: Log, onEnd: (error: unknown) => void) {
    this.#worker = worker;
    this.#beats = new Int32Array(beats);
    const listening = Promise.withResolvers<Listening>();
    this.listening = listening.promise;
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('message', (report: ThreadReport) => {
      if (report.kind === 'log') log.append(report.lines);
      else if (report.kind === 'metrics') this.#receive(report.metrics);
      else if (report.kind === 'stopped') void worker.terminate();
      else if (report.kind === 'not-started') cause = new WorkerError(report.message);
      else {
        this.isListening = true;
        listening.resolve(report);
      }
    });
    this.ended = new Promise((resolve) => {
      worker.on('exit', () => {
        this.isListening = false;
        this.#onMetrics();
        listening.reject(cause ?? new WorkerError('a request thread ended while it started'));
        onEnd(cause);
        resolve();
      });
    });
    // The end of a thread that replaces another is reported by `onEnd`.
    this.listening.catch(() => undefined);
  }

  send(order: ThreadOrder): void {
    this.#worker.postMessage(order);
  }

  /** Asks for the metrics. Resolves when they have arrived, or when time is up. */
  refreshMetrics(timers: Timers): Promise<void> {
    if (!this.isListening) return Promise.resolve();
    this.#refresh ??= new Promise<void>((resolve) => {
      const cancel = timers.after(METRICS_TIMEOUT_MS, resolve);
      this.#onMetrics = () => {
        cancel();
        resolve();
      };
      this.send({ kind: 'report-metrics' });
    }).finally(() => {
      this.#refresh = undefined;
    });
    return this.#refresh;
  }

  /**
   * Lets the thread complete its requests and write what it holds in memory. One that does not end in time, or that
   * serves no requests yet, is terminated. Resolves when it has ended.
   */
  async stop(timers: Timers, withinMs: number, onTimeout: () => void): Promise<void> {
    if (this.isListening) this.send({ kind: 'stop' });
    else void this.#worker.terminate();
    const cancel = timers.after(withinMs, () => {
      onTimeout();
      void this.#worker.terminate();
    });
    await this.ended;
    cancel();
  }

  /**
   * Called periodically. Terminates a thread that listens and has had no beat for too many calls, and returns true.
   * Calls are counted, and not time, in which the process may have been suspended.
   */
  endIfHanging(): boolean {
    const beats = Atomics.load(this.#beats, 0);
    this.#missedBeats = this.isListening && beats === this.#knownBeats ? this.#missedBeats + 1 : 0;
    this.#knownBeats = beats;
    if (this.#missedBeats < MAX_MISSED_BEATS) return false;
    this.#missedBeats = 0;
    void this.#worker.terminate();
    return true;
  }

  #receive(metrics: readonly ReportedMetric[]): void {
    this.metrics = metrics;
    this.#onMetrics();
  }
}

/** The request threads of a process. One that ends unexpectedly, or hangs, is replaced. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #threads = new Map<number, RequestThread>();
  #tls: SharedTls;
  #listening: Listening | undefined;
  /** Counts of the threads that have ended. */
  #endedCounts: ReportedMetric[] = [];
  /** When threads ended unexpectedly, by the monotonic clock. */
  #ends: number[] = [];
  #stopping = false;

  constructor(options: WorkersOptions, tls: SharedTls) {
    this.#options = options;
    this.#tls = tls;
  }

  /** Resolves when all threads listen. Rejects with the error of a thread that does not. */
  async start(ports: ThreadData['ports']): Promise<void> {
    // With port 0 the first thread picks one and the others follow.
    this.#listening = await this.#startFirst(1, ports);
    const numbers = Array.from({ length: this.#options.count - 1 }, (_, index) => index + 2);
    await Promise.all(numbers.map((number) => this.#startFirst(number, this.ports)));
    this.#checkBeats();
  }

  /** The ports of the API, 0 before the first thread listens. */
  get ports(): ThreadData['ports'] {
    return this.#listening?.ports ?? { production: 0, sandbox: 0 };
  }

  get addresses(): readonly string[] {
    return this.#listening?.addresses ?? [];
  }

  /** True while any thread accepts connections. */
  get isServing(): boolean {
    return [...this.#threads.values()].some(({ isListening }) => isListening);
  }

  setCertificate(tls: SharedTls): void {
    this.#tls = tls;
    this.#sendToAll({ kind: 'certificate', tls });
  }

  trustTime(time: number): void {
    this.#sendToAll({ kind: 'time-trusted', time });
  }

  /** A thread that does not respond in time is counted as it was before. */
  async collectMetrics(): Promise<ThreadMetrics[]> {
    const { timers } = this.#options;
    await Promise.all([...this.#threads.values()].map((thread) => thread.refreshMetrics(timers)));
    const present = [...this.#threads].map(([number, { metrics }]) => ({ thread: String(number), metrics }));
    return [...present, { thread: 'ended', metrics: this.#endedCounts }];
  }

  /**
   * Resolves when all threads have completed their requests, within `drainMs` milliseconds, and have written what they
   * held in memory. A thread that does not respond is terminated, so that it cannot prevent the stop.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    const { timers, log } = this.#options;
    const withinMs = drainMs + WRITE_TIMEOUT_MS;
    const onTimeout = (): void => log.error('request thread did not stop');
    await Promise.all([...this.#threads.values()].map((thread) => thread.stop(timers, withinMs, onTimeout)));
  }

  #checkBeats(): void {
    const { timers, log } = this.#options;
    timers.after(BEAT_CHECK_MS, () => {
      if (this.#stopping) return;
      for (const thread of this.#threads.values()) if (thread.endIfHanging()) log.error('request thread hangs');
      this.#checkBeats();
    });
  }

  #sendToAll(order: ThreadOrder): void {
    for (const thread of this.#threads.values()) thread.send(order);
  }

  /** Starts a thread of the start of the process, which reports one that never listens. */
  async #startFirst(number: number, ports: ThreadData['ports']): Promise<Listening> {
    let hasListened = false;
    const thread = this.#start(number, ports, (cause) => {
      if (hasListened) this.#replaceEnded(number, cause);
    });
    const listening = await thread.listening;
    hasListened = true;
    return listening;
  }

  #start(number: number, ports: ThreadData['ports'], onEnd: (cause: unknown) => void): RequestThread {
    const { newThread, newData, log } = this.#options;
    const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const data = { ...newData(), ports, tls: this.#tls, beats };
    const worker = newThread(data, data.writerPort === undefined ? [] : [data.writerPort]);
    const thread = new RequestThread(worker, beats, log, (cause) => {
      this.#threads.delete(number);
      this.#endedCounts = addCounts(this.#endedCounts, thread.metrics);
      onEnd(cause);
    });
    this.#threads.set(number, thread);
    return thread;
  }

  #replaceEnded(number: number, cause: unknown): void {
    if (this.#stopping) return;
    const { log, clock, timers, onFailing } = this.#options;
    log.error('request thread ended', cause === undefined ? {} : describeError(cause));
    const now = clock();
    this.#ends = [...this.#ends.filter((at) => now - at < ENDS_WITHIN_MS), now];
    if (this.#ends.length >= MAX_ENDS) onFailing(new WorkerError('request threads end again and again'));
    else timers.after(REPLACE_AFTER_MS, () => this.#replace(number));
  }

  #replace(number: number): void {
    if (this.#stopping) return;
    const { listening } = this.#start(number, this.ports, (cause) => this.#replaceEnded(number, cause));
    listening.then(
      () => this.#options.log.info('request thread replaced'),
      () => undefined,
    );
  }
}
