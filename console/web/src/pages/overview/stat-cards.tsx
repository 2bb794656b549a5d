import { Anchor, Group, Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { Change, type GoodDirection } from './change.tsx';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';
import type { Figures, Usage } from './series.ts';
import { Spark } from './spark.tsx';

interface Stat {
  readonly name: string;
  /** Null when there was nothing to measure. */
  readonly measure: (figures: Figures) => number | null;
  readonly textOf: (value: number) => string;
  readonly note: string;
  readonly good: GoodDirection;
  readonly isShare?: boolean;
  readonly title?: string;
  /** Address of the rows. */
  readonly to?: string | undefined;
}

/** Addresses of the rows behind the figures; absent where the user may not read them. */
export type StatLinks = Readonly<Partial<Record<'payments' | 'approval' | 'tokens' | 'captures' | 'errors', string>>>;

const approvalRate = ({ approved, not_approved }: Figures): number | null =>
  approved + not_approved === 0 ? null : approved / (approved + not_approved);
const countErrors = ({ refused, failed }: Figures): number => refused + failed;

/** Returns the sentences below the figures. */
function useNotes({ period }: Usage) {
  const { t } = useTranslation('overview');
  const { whole, share, duration } = useNumberFormats();
  const { requests, refused, failed, payments, approved, not_approved, p95_ms: p95 } = period;
  const undecided = payments - approved - not_approved;
  const outcomes = { approved: whole(approved), notApproved: whole(not_approved), undecided: whole(undecided) };
  const { maxMeasuredMs: longest } = LIMITS;
  return {
    approval:
      approvalRate(period) === null
        ? t('stats.noPayments')
        : t(undecided > 0 ? 'stats.approvalNoteUndecided' : 'stats.approvalNote', outcomes),
    latency: latencyNote(p95),
    errors:
      requests === 0
        ? t('stats.noRequests')
        : t('stats.errorsNote', { refused: whole(refused), failed: whole(failed) }),
    errorsShare: t('stats.errorsShare', {
      share: share(requests === 0 ? 0 : countErrors(period) / requests),
      requests: whole(requests),
    }),
  };
  function latencyNote(within: number | null): string {
    if (within === null) return t('stats.noRequests');
    return within > longest
      ? t('stats.latencyLonger', { time: duration(longest) })
      : t('stats.latencyNote', { time: duration(within) });
  }
}

function useStats(usage: Usage, links: StatLinks): readonly Stat[] {
  const { t } = useTranslation('overview');
  const { whole, share, milliseconds } = useNumberFormats();
  const { totals } = usage;
  const notes = useNotes(usage);
  const countStat = (name: 'tokens' | 'captures' | 'payments'): Stat => ({
    name: t(`stats.${name}`),
    measure: (figures) => figures[name],
    textOf: whole,
    note: totals === undefined ? '' : t(`stats.${name}Note`, { total: whole(totals[name]) }),
    good: 'neither',
    to: links[name],
  });
  return [
    countStat('payments'),
    {
      name: t('stats.approval'),
      measure: approvalRate,
      textOf: share,
      note: notes.approval,
      good: 'up',
      isShare: true,
      to: links.approval,
    },
    countStat('tokens'),
    countStat('captures'),
    {
      name: t('stats.latency'),
      measure: ({ median_ms }) => median_ms,
      textOf: milliseconds,
      note: notes.latency,
      good: 'down',
      title: t('stats.latencyTitle'),
    },
    {
      name: t('stats.errors'),
      measure: countErrors,
      textOf: whole,
      note: notes.errors,
      good: 'down',
      title: notes.errorsShare,
      to: links.errors,
    },
  ];
}

function Stats({ usage, links }: { readonly usage: Usage; readonly links: StatLinks }) {
  const { period, before, points } = usage;
  return useStats(usage, links).map(({ name, measure, textOf, note, good, isShare = false, title, to }) => {
    const value = measure(period);
    return (
      <Paper
        key={name}
        component="div"
        withBorder
        p={{ base: 'sm', sm: 'md' }}
        title={title}
        className={classes['tile'] ?? ''}
      >
        <Text component="dt" size="sm" c="dimmed">
          {to === undefined ? (
            name
          ) : (
            <Anchor component={Link} to={to} inherit className={classes['tileLink'] ?? ''}>
              {name}
            </Anchor>
          )}
        </Text>
        <dd className={classes['figure']}>
          <span className={classes['value']}>{value === null ? '–' : textOf(value)}</span>
          <Change now={value} before={measure(before)} {...{ good, isShare }} />
        </dd>
        <Text component="dd" size="xs" c="dimmed" className={classes['note']}>
          {note}
        </Text>
        <dd className={classes['sparkFrame']} aria-hidden>
          <Spark values={points.map(measure)} />
        </dd>
      </Paper>
    );
  });
}

const Skeletons = () =>
  ['a', 'b', 'c', 'd', 'e', 'f'].map((each) => (
    <Paper key={each} component="div" withBorder p={{ base: 'sm', sm: 'md' }}>
      <Skeleton height={14} width="45%" />
      <Skeleton height={28} width="35%" mt="xs" />
      <Skeleton height={14} width="70%" mt="xs" />
      <Skeleton height={28} mt="sm" />
    </Paper>
  ));

interface StatCardsProps {
  /** Undefined while it loads. */
  readonly usage: Usage | undefined;
  readonly links: StatLinks;
}

/** Shows the key figures. */
export function StatCards({ usage, links }: StatCardsProps) {
  const { t } = useTranslation('overview');
  return (
    <section aria-labelledby="figures">
      <Group justify="space-between" align="baseline" gap="xs" mb="sm">
        <Title order={2} size="h4" id="figures">
          {t('stats.title')}
        </Title>
        <Text size="xs" c="dimmed">
          {usage !== undefined && t('change.against', { count: countDays(usage) })}
        </Text>
      </Group>
      <SimpleGrid component="dl" cols={{ base: 2, md: 3 }} spacing={{ base: 'xs', sm: 'md' }} m={0}>
        {usage === undefined ? <Skeletons /> : <Stats {...{ usage, links }} />}
      </SimpleGrid>
    </section>
  );
}

const DAY_MS = 86_400_000;
const countDays = ({ first_day, last_day }: Usage): number =>
  (Date.parse(last_day) - Date.parse(first_day)) / DAY_MS + 1;
