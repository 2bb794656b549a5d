import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showOverview } from '../../../../wire/overview.ts';

type Overview = ValueOf<typeof showOverview.data>;
/** Usage in a period: of an account, or, without totals, of all accounts. */
export type Usage = Omit<Overview, 'totals' | 'operator_changes'> & { readonly totals?: Overview['totals'] };
/** Figures of a period. */
export type Figures = Usage['period'];
/** Length of the time of a point. */
export type Step = Usage['step'];

/** Points of the charts: those of the service with the count of successful requests. */
export type ChartPoint = Usage['points'][number] & { readonly served: number };

export type SeriesName =
  | 'tokens'
  | 'captures'
  | 'approved'
  | 'not_approved'
  | 'served'
  | 'refused'
  | 'failed'
  | 'median_ms'
  | 'p95_ms';

const served = ({ requests, refused, failed }: Figures): number => Math.max(0, requests - refused - failed);

export const toChartPoints = ({ points }: Usage): readonly ChartPoint[] =>
  points.map((point) => ({ ...point, served: served(point) }));

/** Returns the totals of the period. */
export const toChartTotals = ({ period }: Usage): Readonly<Record<SeriesName, number | null>> => ({
  ...period,
  served: served(period),
});

/**
 * Colors that are distinct with any color vision (after Okabe and Ito), with a contrast of 3:1 to the background of
 * their scheme.
 */
export const SERIES_COLORS: Readonly<Record<SeriesName, { readonly light: string; readonly dark: string }>> = {
  tokens: { light: '#0067a8', dark: '#56b4e9' },
  captures: { light: '#b86e00', dark: '#e69f00' },
  approved: { light: '#0067a8', dark: '#56b4e9' },
  not_approved: { light: '#c44f00', dark: '#e8853d' },
  served: { light: '#0067a8', dark: '#56b4e9' },
  refused: { light: '#b86e00', dark: '#e6b84d' },
  failed: { light: '#a3005c', dark: '#e079b4' },
  median_ms: { light: '#0067a8', dark: '#56b4e9' },
  p95_ms: { light: '#b86e00', dark: '#e69f00' },
};

const MAX_STEPS = 4;
/** Multiples of a power of ten that are easy to read. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];

/** Computes the scale of a chart in whole numbers: from 0 to a round number above all bars. */
export function computeScale(most: number): readonly number[] {
  const least = Math.max(1, most / MAX_STEPS);
  const power = 10 ** Math.floor(Math.log10(least));
  const step =
    ROUND_STEPS.map((each) => each * power).find((each) => each >= least && Number.isInteger(each)) ?? 10 * power;
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, index) => index * step);
}

export const isEmptySeries = (points: readonly ChartPoint[], names: readonly SeriesName[]): boolean =>
  points.every((point) => names.every((name) => (point[name] ?? 0) === 0));

export const isUnused = ({ totals, period }: Usage): boolean =>
  (totals === undefined || totals.tokens + totals.captures + totals.payments === 0) && period.requests === 0;
