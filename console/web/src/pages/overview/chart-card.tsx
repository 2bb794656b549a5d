import { ActionIcon, ColorSwatch, Group, Paper, Skeleton, Table, Text, Title, Tooltip } from '@mantine/core';
import { ChartColumn, Table2 } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';
import { type ChartPoint, isEmptySeries, type SeriesName, type Step } from './series.ts';

/** Series with the color of the current scheme. */
export interface DrawnSeries {
  readonly name: SeriesName;
  readonly label: string;
  readonly color: string;
}

interface ChartCardProps {
  readonly title: string;
  readonly series: readonly DrawnSeries[];
  readonly points: readonly ChartPoint[];
  readonly step: Step;
  /** Totals of the period for the legend. */
  readonly total: Readonly<Record<SeriesName, number | null>>;
  readonly textOf: (value: number | null) => string;
  readonly chart: ReactNode;
}

/** Shows a chart with the totals of the period, and its figures as a table on request. */
export function ChartCard(props: ChartCardProps) {
  const { title, series, points, chart } = props;
  const { t } = useTranslation('overview');
  const [isTable, setTable] = useState(false);
  const id = useId();
  const other = isTable ? t('charts.asChart') : t('charts.asTable');
  const isEmpty = isEmptySeries(
    points,
    series.map(({ name }) => name),
  );
  return (
    <Paper component="section" withBorder p="md" aria-labelledby={id} className={classes['card'] ?? ''}>
      <Group justify="space-between" wrap="nowrap" align="start" gap="xs">
        <Title order={3} size="h5" id={id}>
          {title}
        </Title>
        <Tooltip label={other}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={other}
            aria-describedby={id}
            onClick={() => setTable(!isTable)}
          >
            {isTable ? <ChartColumn size={16} aria-hidden /> : <Table2 size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      </Group>
      <Legend {...props} />
      {isTable ? (
        <FiguresTable {...props} labelledBy={id} />
      ) : isEmpty ? (
        <NoActivity />
      ) : (
        <div aria-hidden>{chart}</div>
      )}
    </Paper>
  );
}

function NoActivity() {
  const { t } = useTranslation('overview');
  return (
    <Text size="sm" c="dimmed" className={classes['quiet']}>
      {t('charts.nothing')}
    </Text>
  );
}

const Legend = ({ series, total, textOf }: Pick<ChartCardProps, 'series' | 'total' | 'textOf'>) => (
  <ul className={classes['legend']}>
    {series.map(({ name, label, color }) => (
      <li key={name}>
        <ColorSwatch color={color} size={10} withShadow={false} aria-hidden />
        {label} <b>{textOf(total[name])}</b>
      </li>
    ))}
  </ul>
);

type FiguresTableProps = Pick<ChartCardProps, 'series' | 'points' | 'step' | 'textOf'> & {
  readonly labelledBy: string;
};

function FiguresTable({ series, points, step, textOf, labelledBy }: FiguresTableProps) {
  const { t } = useTranslation('overview');
  const { moment } = useNumberFormats();
  const zone = useTimeZone();
  return (
    // The element scrolls, so the keyboard has to reach it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls
    <section className={classes['table']} tabIndex={0} aria-labelledby={labelledBy}>
      <Table aria-labelledby={labelledBy}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t(`charts.column.${step}`, { zone })}</Table.Th>
            {series.map(({ name, label }) => (
              <Table.Th key={name} scope="col" ta="end">
                {label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {points.map((point) => (
            <Table.Tr key={point.at}>
              <Table.Th scope="row" fw={400}>
                {moment(point.at, step)}
              </Table.Th>
              {series.map(({ name }) => (
                <Table.Td key={name} ta="end">
                  {textOf(point[name])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

export const ChartSkeleton = () => (
  <Paper withBorder p="md">
    <Skeleton height={18} width="30%" />
    <Skeleton height={14} width="75%" mt="sm" mb="sm" />
    <Skeleton className={classes['stage']} />
  </Paper>
);
