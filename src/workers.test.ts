import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openLog } from './http/log.ts';
import { systemTimers } from './kernel/time-guard.ts';
import type { SharedTls } from './worker.ts';
import { Workers, type WorkersOptions } from './workers.ts';

const LISTENING = { kind: 'listening', ports: { production: 1, sandbox: 2 }, addresses: ['127.0.0.1'] };
const TLS = {} as SharedTls;
/** Orders are obeyed until the thread ends. */
const SERVE = `main.on('message', ({ kind }) => { if (kind === 'stop') main.postMessage({ kind: 'stopped' }); });`;
const LISTEN = `main.postMessage(${JSON.stringify(LISTENING)});`;

interface Started {
  readonly workers: Workers;
  readonly threads: Worker[];
  readonly log: string[];
  readonly failures: Error[];
}

/** Prepares threads that run these scripts, one after the other, and the last one from then on. */
function prepare(count: number, ...scripts: string[]): Started {
  const threads: Worker[] = [];
  const log: string[] = [];
  const failures: Error[] = [];
  const options: WorkersOptions = {
    count,
    log: openLog('info', () => 0, { write: (line) => log.push(line) }),
    timers: systemTimers,
    clock: () => performance.now(),
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
  return { workers: new Workers(options, TLS), threads, log, failures };
}

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
};
const PORTS = { production: 0, sandbox: 0 };

describe('request threads', { timeout: 60_000 }, () => {
  test('are started, the first one before the others, and stopped', async () => {
    const { workers, threads } = prepare(3, SERVE + LISTEN);
    assert.equal(workers.isServing, false);
    await workers.start(PORTS);
    assert.equal(threads.length, 3);
    assert.deepEqual(workers.ports, LISTENING.ports);
    assert.equal(workers.isServing, true);
    await workers.stop();
    assert.equal(workers.isServing, false);
  });

  test('that do not start are reported with their reason', async () => {
    const refused = `main.postMessage({ kind: 'not-started', message: 'the port is in use' });`;
    await assert.rejects(prepare(2, refused).workers.start(PORTS), { message: 'the port is in use' });
    const broken = prepare(2, SERVE + LISTEN, `throw new TypeError('broken');`);
    await assert.rejects(broken.workers.start(PORTS), { name: 'TypeError' });
    await broken.workers.stop();
  });

  test('that end are replaced, and a stop prevents that', async () => {
    const { workers, threads, log } = prepare(2, SERVE + LISTEN);
    await workers.start(PORTS);
    await threads[0]?.terminate();
    await until(() => log.some((line) => line.includes('request thread replaced')));
    assert.equal(threads.length, 3);
    await threads[1]?.terminate();
    await workers.stop();
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
    await workers.stop();
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
    await workers.stop();
  });
});
