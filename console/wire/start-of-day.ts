const DAY_MS = 86_400_000;

/**
 * Returns the start of a day (`2026-07-01`, as in date fields) in a time zone, `daysLater` days after it; undefined without
 * a date.
 */
export function startOfDay(day: string, timeZone: string, daysLater = 0): string | undefined {
  const midnight = Date.parse(`${day}T00:00:00.000Z`) + daysLater * DAY_MS;
  if (Number.isNaN(midnight)) return undefined;
  // The offset may change on that day, so both are tried. A day may begin twice, or its midnight may be skipped.
  const candidates = [midnight - DAY_MS, midnight + DAY_MS].map((at) => midnight - offsetAt(at, timeZone));
  const exact = candidates.filter((at) => at + offsetAt(at, timeZone) === midnight);
  return new Date(exact.length > 0 ? Math.min(...exact) : Math.max(...candidates)).toISOString();
}

/** Returns the day (`2026-07-01`) of a time in a time zone. */
export const dayOf = (at: number, timeZone: string): string =>
  new Date(at + offsetAt(at, timeZone)).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Creating a format takes as long as 100 uses of it. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATS = 100;

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (formats.size < MAX_FORMATS) formats.set(timeZone, format);
  return format;
}

/** Returns what a clock of the time zone is ahead of UTC, in milliseconds. */
function offsetAt(at: number, timeZone: string): number {
  const parts = formatFor(timeZone).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((each) => each.type === type)?.value);
  const clock = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return clock - Math.floor(at / 1000) * 1000;
}
