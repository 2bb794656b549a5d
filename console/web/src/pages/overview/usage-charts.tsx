import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { Group, SimpleGrid, Text, Title, useComputedColorScheme } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { ChartCard, ChartSkeleton, type DrawnSeries } from './chart-card.tsx';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';
import {
  type ChartPoint,
  computeScale,
  SERIES_COLORS,
  type SeriesName,
  type Step,
  toChartPoints,
  toChartTotals,
  type Usage,
} from './series.ts';

/** Margin for the highest label. */
const MARGIN = { top: 8, right: 8 };
/** Maximum number of grouped bars that stay readable. */
const MAX_GROUPED_BARS = 31;
const MAX_DOTS = 31;

interface UsageChartProps {
  readonly title: string;
  readonly names: readonly SeriesName[];
  readonly usage: Usage;
}

function useSeries(names: readonly SeriesName[]): readonly DrawnSeries[] {
  const { t } = useTranslation('overview');
  const scheme = useComputedColorScheme('light');
  return names.map((name) => ({ name, label: t(`charts.series.${name}`), color: SERIES_COLORS[name][scheme] }));
}

type Layout = 'stacked' | 'besides' | 'line';

const HOURS_BETWEEN_TICKS = 4;
const HOURS_OF_DAY = 25;
function isRoundHour(at: string, timeZone: string): boolean {
  const hour = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(new Date(at));
  return Number(hour) % HOURS_BETWEEN_TICKS === 0;
}

/** Returns the properties that all charts share. */
function useFrame(series: readonly DrawnSeries[], points: readonly ChartPoint[], step: Step, layout: Layout) {
  const { shortMoment, moment } = useNumberFormats();
  const timeZone = useTimeZone();
  const most = points.map((point) => {
    const values = series.map(({ name }) => point[name] ?? 0);
    return layout === 'stacked' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
  const ticks = computeScale(Math.max(0, ...most));
  return {
    className: classes['stage'] ?? '',
    data: points.map((point) => ({ ...point })),
    dataKey: 'at',
    tickLine: 'none',
    xAxisProps: {
      tickFormatter: (at: string) => shortMoment(at, step),
      minTickGap: 16,
      // Ticks keep equal distances, however many fit.
      interval: 'equidistantPreserveStart',
      ...(step === 'hour' &&
        points.length <= HOURS_OF_DAY && {
          ticks: points.map(({ at }) => at).filter((at) => isRoundHour(at, timeZone)),
        }),
    },
    tooltipProps: { labelFormatter: (at: unknown) => (typeof at === 'string' ? moment(at, step) : '') },
    yAxisProps: { width: layout === 'line' ? 64 : 48, ticks: [...ticks], domain: [0, ticks.at(-1) ?? 0] },
    // The table gives the same figures to screen readers.
    accessibilityLayer: false,
  } as const;
}

function Bars({ title, names, usage }: UsageChartProps) {
  const { whole, short } = useNumberFormats();
  const points = toChartPoints(usage);
  const series = useSeries(names);
  // Tokens and captures are not parts of one total.
  const layout = names.includes('tokens') && points.length <= MAX_GROUPED_BARS ? 'besides' : 'stacked';
  const frame = useFrame(series, points, usage.step, layout);
  return (
    <ChartCard
      {...{ title, series, points }}
      step={usage.step}
      total={toChartTotals(usage)}
      textOf={(value) => whole(value ?? 0)}
      chart={
        <BarChart
          {...frame}
          series={series.map((each) => ({ ...each }))}
          type={layout === 'stacked' ? 'stacked' : 'default'}
          barChartProps={{ margin: MARGIN }}
          valueFormatter={short}
          maxBarWidth={layout === 'stacked' ? 24 : 18}
        />
      }
    />
  );
}

function Lines({ title, names, usage }: UsageChartProps) {
  const { milliseconds, duration } = useNumberFormats();
  const points = toChartPoints(usage);
  const series = useSeries(names);
  const frame = useFrame(series, points, usage.step, 'line');
  return (
    <ChartCard
      {...{ title, series, points }}
      step={usage.step}
      total={toChartTotals(usage)}
      textOf={milliseconds}
      chart={
        <LineChart
          {...frame}
          yAxisProps={{ ...frame.yAxisProps, tickFormatter: duration }}
          series={series.map((each) => ({ ...each, ...(each.name === 'p95_ms' && { strokeDasharray: '6 3' }) }))}
          lineChartProps={{ margin: MARGIN }}
          curveType="linear"
          withDots={points.length <= MAX_DOTS}
          dotProps={{ r: 2 }}
          connectNulls={false}
          valueFormatter={milliseconds}
        />
      }
    />
  );
}

const CHARTS = [
  { title: 'payments', names: ['approved', 'not_approved'], Chart: Bars },
  { title: 'records', names: ['tokens', 'captures'], Chart: Bars },
  { title: 'requests', names: ['served', 'refused', 'failed'], Chart: Bars },
  { title: 'latency', names: ['median_ms', 'p95_ms'], Chart: Lines },
] as const;

/** Shows the period in four charts; undefined while it loads. */
export function UsageCharts({ usage }: { readonly usage: Usage | undefined }) {
  const { t } = useTranslation('overview');
  const zone = useTimeZone();
  return (
    <section aria-labelledby="charts">
      <Group justify="space-between" align="baseline" gap="xs" mb="sm">
        <Title order={2} size="h4" id="charts">
          {t('charts.title')}
        </Title>
        <Text size="xs" c="dimmed">
          {t(`charts.steps.${usage?.step ?? 'day'}`, { zone })}
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        {CHARTS.map(({ title, names, Chart }) =>
          usage === undefined ? (
            <ChartSkeleton key={title} />
          ) : (
            <Chart key={title} title={t(`charts.${title}`)} {...{ names, usage }} />
          ),
        )}
      </SimpleGrid>
    </section>
  );
}
