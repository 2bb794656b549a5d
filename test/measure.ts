import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Measures what test files cost. With TEST_COSTS=path every test process appends a line of JSON for itself, and for each
 * file of a group: wall-clock and CPU time in milliseconds. The CPU time of children counts when they have ended.
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

function cpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * TICK_MS;
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
