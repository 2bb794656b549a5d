import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { TestClock } from '../test/fixtures/clock.ts';
import { openLog } from './http/log.ts';
import type { ReportedMetric } from './http/merged-metrics.ts';
import { SECOND } from './kernel/clock.ts';
import type { SharedTls, ThreadData, ThreadOrder, ThreadReport } from './worker.ts';
import { Workers, type WorkersOptions } from './workers.ts';

const LISTENING = { kind: 'listening', ports: { production: 1, sandbox: 2 }, addresses: ['127.0.0.1'] };
const TLS = {} as SharedTls;
/** Orders are obeyed until the thread ends. */
const SERVE = `main.on('message', ({ kind }) => { if (kind === 'stop') main.postMessage({ kind: 'stopped' }); });`;
const LISTEN = `main.postMessage(${JSON.stringify(LISTENING)});`;

interface Started {
  readonly workers: Workers;
  readonly clock: TestClock;
  readonly threads: Worker[];
  readonly log: string[];
  readonly failures: Error[];
}

/** Prepares threads that run these scripts, one after the other, and the last one from then on. */
function prepare(count: number, ...scripts: string[]): Started {
  const clock = new TestClock();
  const threads: Worker[] = [];
  const log: string[] = [];
  const failures: Error[] = [];
  const options: WorkersOptions = {
    count,
    log: openLog('info', () => 0, { write: (line) => log.push(line) }),
    timers: clock.timers,
    clock: clock.monotonic,
    newThread: () => {
      const script = scripts[Math.min(threads.length, scripts.length - 1)];
      const code = `const { parentPort: main } = require('node:worker_threads'); ${script}`;
      const thread = new Worker(code, { eval: true });
      threads.push(thread);
      return thread;
    },
    newData: () => ({}) as ReturnType<WorkersOptions['newData']>,
    onFailing: (error) => failures.push(error),
  };
  return { workers: new Workers(options, TLS), clock, threads, log, failures };
}

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
};
const PORTS = { production: 0, sandbox: 0 };
const DRAIN_MS = 2 * SECOND;

describe('request threads', { timeout: 60_000 }, () => {
  test('are started, the first one before the others, and stopped', async () => {
    const { workers, threads } = prepare(3, SERVE + LISTEN);
    assert.equal(workers.isServing, false);
    await workers.start(PORTS);
    assert.equal(threads.length, 3);
    assert.deepEqual(workers.ports, LISTENING.ports);
    assert.equal(workers.isServing, true);
    await workers.stop(DRAIN_MS);
    assert.equal(workers.isServing, false);
  });

  test('that do not start are reported with their reason', async () => {
    const refused = `main.postMessage({ kind: 'not-started', message: 'the port is in use' });`;
    await assert.rejects(prepare(2, refused).workers.start(PORTS), { message: 'the port is in use' });
    const broken = prepare(2, SERVE + LISTEN, `throw new TypeError('broken');`);
    await assert.rejects(broken.workers.start(PORTS), { name: 'TypeError' });
    await broken.workers.stop(DRAIN_MS);
  });

  test('that end are replaced, and a stop prevents that', async () => {
    const { workers, threads, log } = prepare(2, SERVE + LISTEN);
    await workers.start(PORTS);
    await threads[0]?.terminate();
    await until(() => log.some((line) => line.includes('request thread replaced')));
    assert.equal(threads.length, 3);
    await threads[1]?.terminate();
    await workers.stop(DRAIN_MS);
    assert.equal(threads.length, 3);
    assert.deepEqual(
      log.map((line) => JSON.parse(line).msg),
      ['request thread ended', 'request thread replaced', 'request thread ended'],
    );
  });

  test('that end three times within 10 seconds fail, with the error of each in the log, and not its message', async () => {
    const crash = `${LISTEN} setTimeout(() => { throw new RangeError('4111111111111111'); }, 20);`;
    const { workers, log, failures } = prepare(1, crash);
    await workers.start(PORTS);
    await until(() => failures.length > 0);
    const ended = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request thread ended');
    assert.deepEqual(
      ended.map(({ error }) => error),
      ['RangeError', 'RangeError', 'RangeError'],
    );
    assert.ok(!log.join('').includes('4111'));
    assert.equal(failures.length, 1);
    await workers.stop(DRAIN_MS);
  });

  test('that hang in a loop without an end are terminated and replaced', async () => {
    const { workers, clock, threads, log } = prepare(1, `${LISTEN} for (;;);`, SERVE + LISTEN);
    await workers.start(PORTS);
    for (let check = 0; check < 6; check++) clock.advance(5 * SECOND);
    await until(() => log.some((line) => line.includes('request thread ended')));
    clock.advance(SECOND);
    await until(() => log.some((line) => line.includes('request thread replaced')));
    assert.equal(threads.length, 2);
    await workers.stop(DRAIN_MS);
  });

  test('report metrics; a thread that does not respond is counted as before, and so is one that has ended', async () => {
    const metric = `{ name: 'cardvault_failures_total', type: 'counter', help: '', values: [{ labels: {}, value: 5 }] }`;
    const respond = `let asked = 0; main.on('message', ({ kind }) => {
      if (kind === 'report-metrics' && asked++ === 0) main.postMessage({ kind: 'metrics', metrics: [${metric}] }); });`;
    const { workers, threads } = prepare(1, SERVE + respond + LISTEN, SERVE + LISTEN);
    await workers.start(PORTS);
    const values = async (): Promise<(number | undefined)[]> =>
      (await workers.collectMetrics()).map(({ metrics }) => metrics[0]?.values[0]?.value);
    assert.deepEqual(await values(), [5, undefined]);
    assert.deepEqual(await values(), [5, undefined], 'of the last response');
    await threads[0]?.terminate();
    await until(() => threads.length === 2 && workers.isServing);
    assert.deepEqual(await values(), [undefined, 5]);
    await workers.stop(DRAIN_MS);
  });
});

/** A thread that does only what the test tells it. */
class ScriptedThread extends EventEmitter {
  /** The certificate of its start. */
  readonly tls: SharedTls;
  readonly #beats: Int32Array;
  readonly orders: ThreadOrder[] = [];
  isTerminated = false;

  constructor({ tls, beats }: ThreadData) {
    super();
    this.tls = tls;
    this.#beats = new Int32Array(beats);
  }

  beat(): void {
    Atomics.add(this.#beats, 0, 1);
  }

  postMessage(order: ThreadOrder): void {
    this.orders.push(order);
  }

  terminate(): void {
    this.isTerminated = true;
    this.exit();
  }

  report(report: ThreadReport): void {
    this.emit('message', report);
  }

  listen(): void {
    this.report({ kind: 'listening', ports: LISTENING.ports, addresses: [] });
  }

  exit(error?: Error): void {
    if (error !== undefined) this.emit('error', error);
    this.emit('exit', 1);
  }
}

const counter = (value: number): ReportedMetric =>
  ({
    name: 'cardvault_failures_total',
    help: '',
    type: 'counter',
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  }) as never;

/** Lets promises that are settled continue. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function newWorkers(count: number) {
  const clock = new TestClock();
  clock.stop();
  const threads: ScriptedThread[] = [];
  const lines: string[] = [];
  const failures: Error[] = [];
  const options = {
    count,
    log: openLog('debug', () => 0, { write: (line) => lines.push(line) }),
    timers: clock.timers,
    clock: clock.monotonic,
    newThread: (data: ThreadData) => {
      const thread = new ScriptedThread(data);
      threads.push(thread);
      return thread as unknown as Worker;
    },
    newData: () => ({ writerPort: undefined }),
    onFailing: (error: Error) => failures.push(error),
  } as unknown as WorkersOptions;
  const workers = new Workers(options, TLS);
  const messages = (): unknown[] => lines.map((line) => JSON.parse(line).msg);
  const thread = (index: number): ScriptedThread => threads[index] ?? assert.fail(`there is no thread ${index}`);
  return { workers, clock, threads, thread, messages, lines, failures };
}

/** All threads listen. */
async function startWorkers(count: number) {
  const started = newWorkers(count);
  const start = started.workers.start(PORTS);
  started.thread(0).listen();
  await settle();
  for (const thread of started.threads.slice(1)) thread.listen();
  await start;
  return started;
}

describe('request threads, by the clock', () => {
  test('fail to start with the error of the thread, without replacing it', async () => {
    const { workers, clock, threads, thread, failures } = newWorkers(4);
    const start = workers.start(PORTS);
    thread(0).listen();
    await settle();
    for (const each of threads.slice(1)) {
      each.report({ kind: 'not-started', message: 'cannot listen on 127.0.0.1 port 8443' });
      each.exit();
    }
    await assert.rejects(start, /^WorkerError: cannot listen on 127.0.0.1 port 8443$/);
    clock.advance(SECOND);
    assert.equal(threads.length, 4);
    assert.deepEqual(failures, []);
  });

  test('are replaced 100 ms after an unexpected end', async () => {
    const { workers, clock, threads, thread, messages } = await startWorkers(2);
    thread(1).exit(new TypeError('4111111111111111'));
    assert.deepEqual(messages(), ['request thread ended']);
    clock.advance(99);
    assert.equal(threads.length, 2);
    clock.advance(1);
    assert.equal(threads.length, 3);
    thread(2).listen();
    await settle();
    assert.deepEqual(messages(), ['request thread ended', 'request thread replaced']);
    assert.equal(workers.isServing, true);
  });

  test('end the process when three end within 10 seconds, also before they listen', async () => {
    const { clock, threads, thread, failures } = await startWorkers(2);
    thread(0).exit();
    clock.advance(4900);
    thread(2).exit();
    clock.advance(4900);
    assert.deepEqual(failures, []);
    thread(3).exit();
    assert.match(String(failures), /request threads end again and again/);
    clock.advance(SECOND);
    assert.equal(threads.length, 4, 'no more are started');
  });

  test('continue when three end in more than 10 seconds', async () => {
    const { clock, threads, thread, failures } = await startWorkers(2);
    for (let end = 0; end < 5; end++) {
      thread(threads.length - 1).exit();
      clock.advance(5001);
      thread(threads.length - 1).listen();
    }
    assert.deepEqual(failures, []);
    assert.equal(threads.length, 7);
  });

  test('are terminated without a beat for 30 seconds, when they listen', async () => {
    const { workers, clock, threads, thread, messages } = await startWorkers(2);
    const check = (beating: readonly number[]): void => {
      for (const index of beating) thread(index).beat();
      clock.advance(5 * SECOND);
    };
    for (let count = 0; count < 5; count++) check([0]);
    check([0, 1]);
    for (let count = 0; count < 5; count++) check([0]);
    assert.deepEqual(messages(), []);
    check([0]);
    assert.deepEqual([thread(0).isTerminated, thread(1).isTerminated], [false, true]);
    assert.deepEqual(messages(), ['request thread ended', 'request thread hangs']);
    clock.advance(100);
    for (let count = 0; count < 12; count++) check([0]);
    assert.equal(thread(2).isTerminated, false, 'it may wait for the database');
    assert.equal(threads.length, 3);
    assert.equal(workers.isServing, true);
  });

  test('all get a renewed certificate, also those that are started later', async () => {
    const { workers, clock, threads, thread } = await startWorkers(2);
    const renewed = { ...TLS, ticketKeys: new Uint8Array(48) };
    workers.setCertificate(renewed);
    for (const { orders } of threads) assert.deepEqual(orders, [{ kind: 'certificate', tls: renewed }]);
    thread(0).exit();
    clock.advance(100);
    assert.equal(thread(2).tls, renewed);
    assert.deepEqual(workers.ports, LISTENING.ports);
  });

  test('that do not respond are terminated after the drain time and 5 seconds', async () => {
    const { workers, clock, thread, messages } = await startWorkers(2);
    const stop = workers.stop(DRAIN_MS);
    thread(0).report({ kind: 'stopped' });
    await settle();
    clock.advance(DRAIN_MS + 4999);
    assert.equal(thread(1).isTerminated, false);
    clock.advance(1);
    assert.equal(thread(1).isTerminated, true);
    await stop;
    assert.deepEqual(messages(), ['request thread did not stop']);
  });

  test('that are only starting are terminated by a stop', async () => {
    const { workers, clock, thread } = await startWorkers(2);
    thread(0).exit();
    clock.advance(100);
    const stop = workers.stop(DRAIN_MS);
    thread(1).report({ kind: 'stopped' });
    await stop;
    assert.equal(thread(2).isTerminated, true);
  });

  test('that do not respond to a scrape are counted as they were, after a second', async () => {
    const { workers, clock, thread } = await startWorkers(2);
    const valuesOf = async (collecting: ReturnType<Workers['collectMetrics']>) =>
      (await collecting).map(({ thread: name, metrics }) => [name, metrics[0]?.values[0]?.value]);
    const first = workers.collectMetrics();
    thread(0).report({ kind: 'metrics', metrics: [counter(5)] });
    thread(1).report({ kind: 'metrics', metrics: [counter(7)] });
    assert.deepEqual(await valuesOf(first), [
      ['1', 5],
      ['2', 7],
      ['ended', undefined],
    ]);
    const [second, third] = [workers.collectMetrics(), workers.collectMetrics()];
    assert.equal(thread(0).orders.length, 2, 'scrapes at the same time share one request');
    thread(0).report({ kind: 'metrics', metrics: [counter(6)] });
    await settle();
    clock.advance(SECOND);
    for (const collecting of [second, third])
      assert.deepEqual((await valuesOf(collecting)).slice(0, 2), [
        ['1', 6],
        ['2', 7],
      ]);
  });
});
