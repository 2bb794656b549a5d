import { readFileSync } from 'node:fs';

/**
 * Returns whether a crash of this process may leave its memory, with keys and card numbers in clear, in a file; undefined
 * where the system does not say. `bin/` and `npm start` set the limit to 0.
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
