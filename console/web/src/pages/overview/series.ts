import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showOverview } from '../../../../wire/overview.ts';

export type Overview = ValueOf<typeof showOverview.data>;
/** What happened in some time. */
export type Figures = Overview['period'];

/** What the charts draw: the points of the service, and the requests that went well. */
export type ChartPoint = Overview['points'][number] & { readonly served: number };

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

export const toChartPoints = ({ points }: Overview): readonly ChartPoint[] =>
  points.map((point) => ({ ...point, served: served(point) }));

/** Of the whole period. */
export const toChartTotals = ({ period }: Overview): Readonly<Record<SeriesName, number | null>> => ({
  ...period,
  served: served(period),
});

/**
 * Colours that people with any kind of colour vision tell apart (after Okabe and Ito), each with three to one against
 * the paper of its scheme.
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
/** What people read easily: these times a power of ten. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];

/** The scale of a chart, in whole numbers: from nothing to a round number that no bar is above. */
export function computeScale(most: number): readonly number[] {
  const least = Math.max(1, most / MAX_STEPS);
  const power = 10 ** Math.floor(Math.log10(least));
  const step =
    ROUND_STEPS.map((each) => each * power).find((each) => each >= least && Number.isInteger(each)) ?? 10 * power;
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, index) => index * step);
}

export const isEmptySeries = (points: readonly ChartPoint[], names: readonly SeriesName[]): boolean =>
  points.every((point) => names.every((name) => (point[name] ?? 0) === 0));

export const isUnused = ({ totals, period }: Overview): boolean =>
  totals.tokens === 0 && totals.captures === 0 && totals.payments === 0 && period.requests === 0;
