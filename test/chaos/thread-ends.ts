import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread, type Worker } from 'node:worker_threads';
import type { ThreadReport } from '../../src/worker.ts';

/**
 * Preloaded into a node: it ends a request thread in the middle of its work when a number is in the file that CHAOS_THREADS
 * names. The number selects one of the threads that listen. The file is empty again when a new thread listens.
 */
const POLL_INTERVAL_MS = 20;

const file = process.env['CHAOS_THREADS'] ?? '';
const listening: Worker[] = [];
let isEnding = false;

function onListening(worker: Worker): void {
  listening.push(worker);
  worker.once('exit', () => listening.splice(listening.indexOf(worker), 1));
  if (isEnding) writeFileSync(file, '');
  isEnding = false;
}

function obey(): void {
  if (isEnding || listening.length === 0) return;
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Without the file no thread ends.
  }
  if (text === '') return;
  isEnding = true;
  void listening[Number(text) % listening.length]?.terminate();
}

if (isMainThread && file !== '') {
  process.on('worker', (worker) => {
    worker.on('message', ({ kind }: ThreadReport) => {
      if (kind === 'listening') onListening(worker);
    });
  });
  setInterval(obey, POLL_INTERVAL_MS).unref();
}
