import { startMeasuring } from './measure.ts';

/**
 * Loaded before a test file (`--import`): a process that something keeps alive for the milliseconds of this module's
 * `?ms=` says what it is, and ends as failed. The time-out of node's runner ends tests, never processes.
 */
const MILLISECONDS = Number(new URL(import.meta.url).searchParams.get('ms'));

setTimeout(() => {
  const held = [...new Set(process.getActiveResourcesInfo())].join(', ');
  process.stderr.write(`${process.argv[1]} still runs after ${MILLISECONDS / 1000} s, held by ${held}\n`);
  process.exit(1);
}, MILLISECONDS).unref();

const end = startMeasuring(process.argv[1] ?? '');
process.on('exit', end);
