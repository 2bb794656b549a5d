import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { SimpleGrid, Title, useComputedColorScheme } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ChartCard, ChartSkeleton, type DrawnSeries } from './chart-card.tsx';
import { useNumbers } from './numbers.ts';
import classes from './overview.module.css';
import { type ChartPoint, chartPoints, type Overview, SERIES_COLORS, type SeriesName } from './series.ts';

/** So that the highest label keeps its place. */
const MARGIN = { top: 8, right: 8 };
/** Pairs of bars; more would be hairs. */
const MOST_SIDE_BY_SIDE = 31;

interface ChartProps {
  readonly overview: Overview;
  readonly points: readonly ChartPoint[];
  readonly isHourly: boolean;
}

function useSeries(names: readonly SeriesName[]): readonly DrawnSeries[] {
  const { t } = useTranslation('overview');
  const scheme = useComputedColorScheme('light');
  return names.map((name) => ({ name, label: t(`charts.series.${name}`), color: SERIES_COLORS[name][scheme] }));
}

/** What all charts have in common. */
function useFrame(series: readonly DrawnSeries[], points: readonly ChartPoint[], isHourly: boolean) {
  const { shortMoment, moment } = useNumbers();
  return {
    className: classes['stage'] ?? '',
    data: points.map((point) => ({ ...point })),
    dataKey: 'at',
    series: series.map((each) => ({ ...each })),
    tickLine: 'none',
    xAxisProps: { tickFormatter: (at: string) => shortMoment(at, isHourly), minTickGap: 24 },
    tooltipProps: { labelFormatter: (at: unknown) => (typeof at === 'string' ? moment(at, isHourly) : '') },
    yAxisProps: { width: 48, allowDecimals: false },
    // The table says the same to whoever does not see the chart.
    accessibilityLayer: false,
  } as const;
}

function Records({ overview: { period }, points, isHourly }: ChartProps) {
  const { t } = useTranslation('overview');
  const { whole, short, moment } = useNumbers();
  const series = useSeries(['tokens', 'captures']);
  const frame = useFrame(series, points, isHourly);
  const sum = (point: ChartPoint): number => point.tokens + point.captures;
  const busiest = points.reduce<ChartPoint | undefined>(
    (most, each) => (most === undefined || sum(each) > sum(most) ? each : most),
    undefined,
  );
  const said = {
    tokens: whole(period.tokens),
    captures: whole(period.captures),
    most: whole(busiest === undefined ? 0 : sum(busiest)),
    when: busiest === undefined ? '' : moment(busiest.at, isHourly),
  };
  return (
    <ChartCard
      title={t('charts.records')}
      summary={busiest === undefined || sum(busiest) === 0 ? t('charts.nothing') : t('charts.recordsSummary', said)}
      {...{ series, points, isHourly }}
      textOf={(value) => whole(value ?? 0)}
      chart={
        <BarChart
          {...frame}
          type={points.length > MOST_SIDE_BY_SIDE ? 'stacked' : 'default'}
          barChartProps={{ margin: MARGIN }}
          valueFormatter={short}
          maxBarWidth={18}
        />
      }
    />
  );
}

function Payments({ overview: { period }, points, isHourly }: ChartProps) {
  const { t } = useTranslation('overview');
  const { whole, short } = useNumbers();
  const series = useSeries(['approved', 'not_approved']);
  const frame = useFrame(series, points, isHourly);
  const said = { approved: whole(period.approved), notApproved: whole(period.not_approved) };
  return (
    <ChartCard
      title={t('charts.payments')}
      summary={t('charts.paymentsSummary', said)}
      {...{ series, points, isHourly }}
      textOf={(value) => whole(value ?? 0)}
      chart={
        <BarChart
          {...frame}
          barChartProps={{ margin: MARGIN }}
          valueFormatter={short}
          type="stacked"
          maxBarWidth={24}
        />
      }
    />
  );
}

function Requests({ overview: { period }, points, isHourly }: ChartProps) {
  const { t } = useTranslation('overview');
  const { whole, short } = useNumbers();
  const series = useSeries(['served', 'refused', 'failed']);
  const frame = useFrame(series, points, isHourly);
  const { requests, refused, failed } = period;
  return (
    <ChartCard
      title={t('charts.requests')}
      summary={t('charts.requestsSummary', {
        requests: whole(requests),
        refused: whole(refused),
        failed: whole(failed),
      })}
      {...{ series, points, isHourly }}
      textOf={(value) => whole(value ?? 0)}
      chart={
        <BarChart
          {...frame}
          barChartProps={{ margin: MARGIN }}
          valueFormatter={short}
          type="stacked"
          maxBarWidth={24}
        />
      }
    />
  );
}

function Latency({ overview: { period }, points, isHourly }: ChartProps) {
  const { t } = useTranslation('overview');
  const { milliseconds } = useNumbers();
  const series = useSeries(['median_ms', 'p95_ms']);
  const frame = useFrame(series, points, isHourly);
  const said = { median: milliseconds(period.median_ms), p95: milliseconds(period.p95_ms) };
  const dashed = series.map((each) => ({ ...each, ...(each.name === 'p95_ms' && { strokeDasharray: '6 3' }) }));
  return (
    <ChartCard
      title={t('charts.latency')}
      summary={period.median_ms === null ? t('charts.nothing') : t('charts.latencySummary', said)}
      {...{ series, points, isHourly }}
      textOf={milliseconds}
      chart={
        <LineChart
          {...frame}
          series={dashed}
          lineChartProps={{ margin: MARGIN }}
          curveType="linear"
          withDots={points.length <= 31}
          dotProps={{ r: 2 }}
          connectNulls={false}
          valueFormatter={milliseconds}
          yAxisProps={{ ...frame.yAxisProps, width: 64 }}
        />
      }
    />
  );
}

const CHARTS = [
  ['records', Records],
  ['payments', Payments],
  ['requests', Requests],
  ['latency', Latency],
] as const;

/** The period in four charts; undefined while it is being read. */
export function UsageCharts(props: { readonly overview: Overview | undefined; readonly isHourly: boolean }) {
  const { overview, isHourly } = props;
  const { t } = useTranslation('overview');
  const points = overview === undefined ? [] : chartPoints(overview);
  return (
    <section aria-labelledby="charts">
      <Title order={2} size="h4" mb="sm" id="charts">
        {t('charts.title')}
      </Title>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        {CHARTS.map(([name, Chart]) =>
          overview === undefined ? (
            <ChartSkeleton key={name} />
          ) : (
            <Chart key={name} {...{ overview, points, isHourly }} />
          ),
        )}
      </SimpleGrid>
    </section>
  );
}
