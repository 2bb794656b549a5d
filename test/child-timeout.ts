import { readFileSync } from 'node:fs';

const POLL_INTERVAL_MS = 1000;

/**
 * Kills every child of this process whose command line has this part, and which lives longer: one that cannot end
 * itself, as its loop is held. Does nothing where there is no /proc. Returns how to stop looking.
 */
export function killOverdueChildren(part: string, withinMs: number): () => void {
  let seen = new Map<string, number>();
  const check = (): void => {
    const now = performance.now();
    seen = new Map(children().map((pid) => [pid, seen.get(pid) ?? now]));
    for (const [pid, since] of seen) {
      const command = read(`/proc/${pid}/cmdline`);
      if (now - since < withinMs || !command.includes(part)) continue;
      process.stdout.write(`killed, as it did not end: ${command.split('\0').at(-2)}\n`);
      process.kill(Number(pid), 'SIGKILL');
    }
  };
  const timer = setInterval(check, POLL_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

const children = (): string[] => read(`/proc/self/task/${process.pid}/children`).trim().split(' ').filter(Boolean);

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
