import { flushCompileCache } from 'node:module';
import { startMeasuring } from './measure.ts';

/**
 * Imported before the tests of a process: a process that something keeps alive for the milliseconds of this module's
 * `?ms=` says what it is, and ends as failed. The time-out of node's runner ends tests, never processes.
 */
const MILLISECONDS = Number(new URL(import.meta.url).searchParams.get('ms'));
const COMPILED_AFTER_MS = 4000;

setTimeout(() => {
  const held = [...new Set(process.getActiveResourcesInfo())].join(', ');
  process.stderr.write(`${process.argv[1]} still runs after ${MILLISECONDS / 1000} s, held by ${held}\n`);
  process.exit(1);
}, MILLISECONDS).unref();

// Node writes what it has compiled when a process ends: until the first group of files is over, each would compile alone.
setTimeout(flushCompileCache, COMPILED_AFTER_MS).unref();

const end = startMeasuring(process.argv[1] ?? '');
process.on('exit', end);
