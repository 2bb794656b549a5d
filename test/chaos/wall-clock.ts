import { readFileSync } from 'node:fs';

/**
 * Preloaded into a node: its wall clock obeys the file that CHAOS_CLOCK names. Nothing in it: the clock is right; `stop`:
 * it stands still from now on; a number: it is so many milliseconds ahead. Other clocks of the process run on. Without such a
 * file, CHAOS_CLOCK_AHEAD is a number of milliseconds that lasts.
 */
const POLL_INTERVAL_MS = 20;

const file = process.env['CHAOS_CLOCK'] ?? '';
const now = Date.now.bind(Date);
let stoodStillAt: number | undefined;
let aheadMs = Number(process.env['CHAOS_CLOCK_AHEAD'] ?? 0);

function obey(): void {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Without the file the clock is right.
  }
  stoodStillAt = text === 'stop' ? (stoodStillAt ?? now()) : undefined;
  aheadMs = text === 'stop' ? 0 : Number(text);
}

if (file !== '' || aheadMs !== 0) Date.now = () => stoodStillAt ?? now() + aheadMs;
if (file !== '') setInterval(obey, POLL_INTERVAL_MS).unref();
