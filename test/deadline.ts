import { isMainThread, Worker } from 'node:worker_threads';

/**
 * Loaded before a test file (`--import`): its process ends within the milliseconds of this module's `?ms=`, whatever
 * still holds it. The time-out of node's runner ends tests, never a process that something keeps alive after them.
 */
const MILLISECONDS = Number(new URL(import.meta.url).searchParams.get('ms'));
/** A process whose loop is free says what holds it; one whose loop is not is ended so much later. */
const LATER_MS = 5000;
const KILL = `setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${MILLISECONDS + LATER_MS})`;

if (isMainThread) {
  new Worker(KILL, { eval: true, execArgv: [] }).unref();
  setTimeout(() => {
    const held = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(`${process.argv[1]} still runs after ${MILLISECONDS / 1000} s, held by ${held}\n`);
    process.exit(1);
  }, MILLISECONDS).unref();
}
