type Unit = 'day' | 'hour' | 'minute' | 'second';

const UNITS: readonly (readonly [Unit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** Milliseconds before expiry from which on the time is highlighted. */
export const SOON_MS = 60_000;

/** Splits milliseconds into the two largest units, such as 2 hours and 5 minutes; below a minute into seconds. */
export function splitDuration(milliseconds: number): readonly (readonly [Unit, number])[] {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const first = Math.max(
    0,
    UNITS.findIndex(([, length]) => seconds >= length),
  );
  const from = seconds === 0 ? UNITS.length - 1 : first;
  let rest = seconds;
  return UNITS.slice(from, from + 2).map(([unit, length]) => {
    const value = Math.floor(rest / length);
    rest -= value * length;
    return [unit, value];
  });
}
