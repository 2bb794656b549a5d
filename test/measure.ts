import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Measures what test files cost. With TEST_COSTS=path every test process appends a line of JSON for itself, and for each
 * file of a group: wall-clock and CPU time in milliseconds, with that of the processes it started, such as a browser.
 */
const COSTS = process.env['TEST_COSTS'] ?? '';
/** Linux counts CPU time in ticks of 10 ms. */
const TICK_MS = 10;

export interface Cost {
  readonly name: string;
  readonly wallMs: number;
  readonly cpuMs: number;
}

const isMeasured = COSTS !== '' && isMainThread;

/** A browser does not report the CPU time of its processes when they end: it is read while they run. */
const READ_EVERY_MS = 500;

interface ProcessTimes {
  readonly parent: number;
  readonly ownMs: number;
  /** The CPU time of its children that have ended. */
  readonly endedMs: number;
}

/** Undefined for a process that has ended. */
function readTimes(pid: number): ProcessTimes | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
    const sumMs = (from: number): number => ((fields[from] ?? 0) + (fields[from + 1] ?? 0)) * TICK_MS;
    return { parent: fields[1] ?? 0, ownMs: sumMs(11), endedMs: sumMs(13) };
  } catch {
    return undefined;
  }
}

/** The CPU time of each process that descends from this one, as last read. */
const descendants = new Map<number, number>();

function readDescendants(): void {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const processes = new Map(pids.map((pid) => [pid, readTimes(pid)]));
  const descends = (pid: number): boolean => {
    const parent = processes.get(pid)?.parent ?? 0;
    return parent === process.pid || (parent > 1 && descends(parent));
  };
  for (const [pid, times] of processes) if (times !== undefined && descends(pid)) descendants.set(pid, times.ownMs);
}

if (isMeasured) setInterval(readDescendants, READ_EVERY_MS).unref();

/** Returns the CPU time of this process and of those that descend from it. */
function cpuMs(): number {
  readDescendants();
  const { ownMs = 0, endedMs = 0 } = readTimes(process.pid) ?? {};
  const startedMs = [...descendants.values()].reduce((sum, ms) => sum + ms, 0);
  // Only one of the sums has processes that ended before they were read; only the other one has those of a browser.
  return ownMs + Math.max(endedMs, startedMs);
}

/** Returns a function that records the cost since this call. */
export function startMeasuring(name: string): () => void {
  if (!isMeasured) return () => undefined;
  const [wall, cpu] = [performance.now(), cpuMs()];
  return () => {
    const cost: Cost = { name, wallMs: Math.round(performance.now() - wall), cpuMs: cpuMs() - cpu };
    appendFileSync(COSTS, `${JSON.stringify(cost)}\n`);
  };
}
