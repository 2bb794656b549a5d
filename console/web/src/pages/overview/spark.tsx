import classes from './overview.module.css';

const WIDTH = 100;
const HEIGHT = 28;
/** Margin that keeps the line inside the image. */
const EDGE = 2;

/** Draws the course of a figure without numbers; the charts below have them. Null values are gaps. */
export function Spark({ values }: { readonly values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null);
  const max = Math.max(...known);
  if (values.length < 2 || known.length === 0 || max <= 0) return null;
  const toPoint = (value: number, index: number): string =>
    `${round((index / (values.length - 1)) * WIDTH)},${round(HEIGHT - EDGE - (value / max) * (HEIGHT - 2 * EDGE))}`;
  const line = values.flatMap((value, index) =>
    value === null ? [] : spanOf(values, index).map((at) => toPoint(value, at)),
  );
  const [from = '', to = ''] = [line[0]?.split(',')[0], line.at(-1)?.split(',')[0]];
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className={classes['spark']}
      aria-hidden="true"
      focusable="false"
    >
      <polygon points={`${from},${HEIGHT} ${line.join(' ')} ${to},${HEIGHT}`} />
      <polyline points={line.join(' ')} />
    </svg>
  );
}

/** Returns the positions of a value: a single value spans its interval. */
const spanOf = (values: readonly (number | null)[], index: number): readonly number[] =>
  values.every((value, other) => value === null || other === index)
    ? [Math.max(0, index - 0.5), Math.min(values.length - 1, index + 0.5)]
    : [index];

const round = (value: number): number => Math.round(value * 100) / 100;
