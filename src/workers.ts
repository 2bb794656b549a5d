import type { TransferListItem, Worker } from 'node:worker_threads';
import { describeError, type Log } from './http/log.ts';
import { addCounts, type ReportedMetric, type ThreadMetrics } from './http/merged-metrics.ts';
import { type MonotonicClock, SECOND, type Timers } from './kernel/clock.ts';
import { OperatorError } from './kernel/operator-error.ts';
import type { SharedTls, ThreadData, ThreadOrder, ThreadReport } from './worker.ts';

/** How long a scrape waits for the metrics of a thread. */
const METRICS_TIMEOUT_MS = SECOND;
const REPLACE_AFTER_MS = 100;
/** Threads that end so often will also end the next time. */
const MAX_ENDS = 3;
const ENDS_WITHIN_MS = 10 * SECOND;

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
  newData(): Omit<ThreadData, 'ports' | 'tls'>;
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
  #onMetrics: () => void = () => undefined;

  /** `onEnd`: called once with the error that ended the thread, if there was one. */
  constructor(worker: Worker, log: Log, onEnd: (error: unknown) => void) {
    this.#worker = worker;
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
    return new Promise((resolve) => {
      const cancel = timers.after(METRICS_TIMEOUT_MS, resolve);
      this.#onMetrics = () => {
        cancel();
        resolve();
      };
      this.send({ kind: 'report-metrics' });
    });
  }

  #receive(metrics: readonly ReportedMetric[]): void {
    this.metrics = metrics;
    this.#onMetrics();
  }
}

/** The request threads of a process. One that ends unexpectedly is replaced. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #threads = new Map<number, RequestThread>();
  #tls: SharedTls;
  #listening: Listening | undefined;
  /** Counts of the threads that have ended. */
  #endedCounts: ReportedMetric[] = [];
  /** When threads ended unexpectedly. */
  #ends: number[] = [];
  #stopping = false;

  constructor(options: WorkersOptions, tls: SharedTls) {
    this.#options = options;
    this.#tls = tls;
  }

  /** Resolves when all threads listen. Rejects with the error of a thread that does not. */
  async start(ports: ThreadData['ports']): Promise<void> {
    // With port 0 the first thread picks one and the others follow.
    this.#listening = await this.#start(1, ports).listening;
    const numbers = Array.from({ length: this.#options.count - 1 }, (_, index) => index + 2);
    await Promise.all(numbers.map((number) => this.#start(number, this.ports).listening));
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

  /** Resolves when all threads have completed their requests and written what they held in memory. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#sendToAll({ kind: 'stop' });
    await Promise.all([...this.#threads.values()].map(({ ended }) => ended));
  }

  #sendToAll(order: ThreadOrder): void {
    for (const thread of this.#threads.values()) thread.send(order);
  }

  #start(number: number, ports: ThreadData['ports']): RequestThread {
    const { newThread, newData, log } = this.#options;
    const data = { ...newData(), ports, tls: this.#tls };
    const worker = newThread(data, data.writerPort === undefined ? [] : [data.writerPort]);
    const thread = new RequestThread(worker, log, (cause) => this.#end(number, thread, cause));
    this.#threads.set(number, thread);
    return thread;
  }

  #end(number: number, { metrics }: RequestThread, cause: unknown): void {
    this.#threads.delete(number);
    this.#endedCounts = addCounts(this.#endedCounts, metrics);
    // A thread of the first start is reported by `start`.
    if (this.#stopping || this.#listening === undefined) return;
    const { log, clock, timers, onFailing } = this.#options;
    log.error('request thread ended', cause === undefined ? {} : describeError(cause));
    const now = clock();
    this.#ends = [...this.#ends.filter((at) => now - at < ENDS_WITHIN_MS), now];
    if (this.#ends.length >= MAX_ENDS) onFailing(new WorkerError('request threads end again and again'));
    else timers.after(REPLACE_AFTER_MS, () => this.#replace(number));
  }

  #replace(number: number): void {
    if (this.#stopping) return;
    const { listening } = this.#start(number, this.ports);
    listening.then(
      () => this.#options.log.info('request thread replaced'),
      () => undefined,
    );
  }
}
