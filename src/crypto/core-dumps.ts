import { readFileSync } from 'node:fs';

/**
 * Returns true when a crash of this process may write its memory, with keys and card numbers in clear, to a file;
 * undefined where the system does not report it. `bin/` and `npm start` set the limit to 0.
 */
export function mayDumpCore(readLimits: () => string = readOwnLimits): boolean | undefined {
  const limit = /^Max core file size +(\S+)/m.exec(readLimits())?.[1];
  return limit === undefined ? undefined : limit !== '0';
}

/** Returns the limits of this process as Linux reports them, or nothing on other systems. */
function readOwnLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
