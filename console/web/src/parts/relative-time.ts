const SECOND_MS = 1000;
/** Each unit with its length in seconds, and how many of them make the next one. */
const UNITS = [
  { unit: 'minute', seconds: 60, next: 60 },
  { unit: 'hour', seconds: 3600, next: 24 },
  { unit: 'day', seconds: 86_400, next: 30 },
  { unit: 'month', seconds: 2_592_000, next: 12 },
] as const;
const YEAR_SECONDS = 31_536_000;

/** Returns a difference in the unit that people use for it, rounded to the nearest number. */
export function toRelativeTime(differenceMs: number): { number: number; unit: Intl.RelativeTimeFormatUnit } {
  const difference = differenceMs / SECOND_MS;
  // Math.round(-0.4) is -0, which reads as "now" in both directions.
  if (Math.round(difference / 60) === 0) return { number: 0, unit: 'second' };
  for (const { unit, seconds, next } of UNITS) {
    const number = Math.round(difference / seconds);
    if (Math.abs(number) < next) return { number, unit };
  }
  return { number: Math.round(difference / YEAR_SECONDS), unit: 'year' };
}
