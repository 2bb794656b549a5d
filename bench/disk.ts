import { randomInt } from 'node:crypto';
import { closeSync, fdatasync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { percentile } from './figures.ts';

const flush = promisify(fdatasync);
const BYTES = 4096;
const PAUSE_MS = 50;

/** Times of a flush, in milliseconds. */
export interface FlushTimes {
  readonly p50: number;
  readonly p99: number;
}

/**
 * Flushes four kilobytes of a file of its own again and again while the action runs: how long the disk takes for something that
 * every program on it can ask for. So few flushes cost the action nothing that can be measured.
 */
export async function whileFlushing<T>(folder: string, action: () => Promise<T>): Promise<[T, FlushTimes]> {
  const path = join(folder, 'flushed');
  const file = openSync(path, 'w');
  const page = Buffer.alloc(BYTES, 1);
  const times: number[] = [];
  let isOver = false;
  const flushing = (async () => {
    while (!isOver) {
      writeSync(file, page, 0, BYTES, 0);
      const start = performance.now();
      await flush(file);
      times.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  try {
    const result = await action();
    isOver = true;
    await flushing;
    const sorted = times.sort((one, other) => one - other);
    return [result, { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) }];
  } finally {
    isOver = true;
    await flushing.catch(() => undefined);
    closeSync(file);
    rmSync(path, { force: true });
  }
}

const MEGABYTE = 1024 * 1024;
/** So many that the flush itself is a small part: this is a limit of the disk. */
const PAGES_PER_FLUSH = 4000;

/**
 * Returns how many pages of four kilobytes a second the disk takes at random places of a file of this size, in ascending order as a
 * checkpoint writes them, with a flush after each batch.
 */
export function measureRandomPages(folder: string, bytes: number, seconds: number): number {
  const path = join(folder, 'pages');
  const file = openSync(path, 'w');
  try {
    const megabytes = Math.max(PAGES_PER_FLUSH / (MEGABYTE / BYTES), Math.ceil(bytes / MEGABYTE));
    for (let index = 0; index < megabytes; index++) writeSync(file, Buffer.alloc(MEGABYTE, index));
    fdatasyncSync(file);
    const places = (megabytes * MEGABYTE) / BYTES;
    const page = Buffer.alloc(BYTES, 1);
    const start = performance.now();
    let pages = 0;
    while (performance.now() - start < seconds * 1000) {
      const batch = Float64Array.from({ length: PAGES_PER_FLUSH }, () => randomInt(places)).sort();
      for (const place of batch) writeSync(file, page, 0, BYTES, place * BYTES);
      fdatasyncSync(file);
      pages += batch.length;
    }
    return pages / ((performance.now() - start) / 1000);
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}
