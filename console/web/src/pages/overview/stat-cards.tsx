import { Anchor, Group, Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { useCan, useTenant } from '../../session/tenant.ts';
import { Change, type GoodDirection } from './change.tsx';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';
import type { Figures, Overview } from './series.ts';
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
  /** Address of the rows that are counted. */
  readonly to?: string | undefined;
}

const approvalRate = ({ approved, not_approved }: Figures): number | null =>
  approved + not_approved === 0 ? null : approved / (approved + not_approved);
const countErrors = ({ refused, failed }: Figures): number => refused + failed;

/** Returns the sentences below the figures. */
function useNotes({ period }: Overview) {
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

function useStats(overview: Overview): readonly Stat[] {
  const { t } = useTranslation('overview');
  const { whole, share, milliseconds } = useNumberFormats();
  const { totals } = overview;
  const notes = useNotes(overview);
  const countStat = (name: 'tokens' | 'captures' | 'payments', total: number): Stat => ({
    name: t(`stats.${name}`),
    measure: (figures) => figures[name],
    textOf: whole,
    note: t(`stats.${name}Note`, { total: whole(total) }),
    good: 'neither',
  });
  return [
    countStat('payments', totals.payments),
    {
      name: t('stats.approval'),
      measure: approvalRate,
      textOf: share,
      note: notes.approval,
      good: 'up',
      isShare: true,
    },
    countStat('tokens', totals.tokens),
    countStat('captures', totals.captures),
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
      to: useErrorsPage(overview),
    },
  ];
}

/** Returns the address of the errors of the period in the request log; undefined for users who may not read it. */
function useErrorsPage({ points }: Overview): string | undefined {
  const { account, environment } = useTenant();
  const from = points[0]?.at.slice(0, 'YYYY-MM-DD'.length) ?? '';
  return useCan()('requests:read') ? `/a/${account}/${environment}/requests?status=errors&from=${from}` : undefined;
}

function Stats({ overview }: { readonly overview: Overview }) {
  const { period, before, points } = overview;
  return useStats(overview).map(({ name, measure, textOf, note, good, isShare = false, title, to }) => {
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
  readonly overview: Overview | undefined;
  readonly days: '1' | '7' | '30' | '90';
}

/** Shows the key figures. */
export function StatCards({ overview, days }: StatCardsProps) {
  const { t } = useTranslation('overview');
  return (
    <section aria-labelledby="figures">
      <Group justify="space-between" align="baseline" gap="xs" mb="sm">
        <Title order={2} size="h4" id="figures">
          {t('stats.title')}
        </Title>
        <Text size="xs" c="dimmed">
          {t(`change.against.d${days}`)}
        </Text>
      </Group>
      <SimpleGrid component="dl" cols={{ base: 2, md: 3 }} spacing={{ base: 'xs', sm: 'md' }} m={0}>
        {overview === undefined ? <Skeletons /> : <Stats overview={overview} />}
      </SimpleGrid>
    </section>
  );
}
