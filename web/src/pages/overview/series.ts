import type { showOverview } from '../../../../src/console/wire/overview.ts';
import type { ReadBy } from '../../../../src/http/fields.ts';

export type Overview = ReadBy<typeof showOverview.data>;
type Point = Overview['points'][number];

/** What the charts draw: the points of the service, and the requests that went well. */
export type ChartPoint = Point & { readonly served: number };

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

export const chartPoints = ({ points }: Overview): readonly ChartPoint[] =>
  points.map((point) => ({ ...point, served: Math.max(0, point.requests - point.refused - point.failed) }));

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

export const isQuiet = (points: readonly ChartPoint[], names: readonly SeriesName[]): boolean =>
  points.every((point) => names.every((name) => (point[name] ?? 0) === 0));

export const hasNothing = ({ totals, period }: Overview): boolean =>
  totals.tokens === 0 && totals.captures === 0 && totals.payments === 0 && period.requests === 0;
