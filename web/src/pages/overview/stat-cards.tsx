import { Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useNumbers } from './numbers.ts';
import classes from './overview.module.css';
import type { Overview } from './series.ts';

interface Stat {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly title?: string;
}

function useStats({ totals, period }: Overview): readonly Stat[] {
  const { t } = useTranslation('overview');
  const { whole, share, milliseconds } = useNumbers();
  const ended = period.approved + period.not_approved;
  const errors = period.refused + period.failed;
  const counted = { refused: whole(period.refused), failed: whole(period.failed) };
  const judged = { approved: whole(period.approved), notApproved: whole(period.not_approved) };
  return [
    {
      name: t('stats.tokens'),
      value: whole(totals.tokens),
      note: t('stats.tokensNote', { made: whole(period.tokens) }),
    },
    {
      name: t('stats.captures'),
      value: whole(totals.captures),
      note: t('stats.capturesNote', { made: whole(period.captures) }),
    },
    {
      name: t('stats.payments'),
      value: whole(period.payments),
      note: t('stats.paymentsNote', { total: whole(totals.payments) }),
    },
    {
      name: t('stats.approval'),
      value: ended === 0 ? '–' : share(period.approved, ended),
      note: ended === 0 ? t('stats.noPayments') : t('stats.approvalNote', judged),
    },
    {
      name: t('stats.latency'),
      value: milliseconds(period.median_ms),
      note:
        period.p95_ms === null ? t('stats.noRequests') : t('stats.latencyNote', { time: milliseconds(period.p95_ms) }),
      title: t('stats.latencyTitle'),
    },
    {
      name: t('stats.errors'),
      value: whole(errors),
      note: period.requests === 0 ? t('stats.noRequests') : t('stats.errorsNote', counted),
      title: t('stats.errorsShare', { share: share(errors, period.requests), requests: whole(period.requests) }),
    },
  ];
}

function Stats({ overview }: { readonly overview: Overview }) {
  return useStats(overview).map(({ name, value, note, title }) => (
    <Paper key={name} component="div" withBorder p={{ base: 'sm', sm: 'md' }} title={title}>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" className={classes['value']}>
        {value}
      </Text>
      <Text component="dd" size="sm" c="dimmed" className={classes['note']}>
        {note}
      </Text>
    </Paper>
  ));
}

const Waiting = () =>
  ['a', 'b', 'c', 'd', 'e', 'f'].map((each) => (
    <Paper key={each} component="div" withBorder p={{ base: 'sm', sm: 'md' }}>
      <Skeleton height={14} width="45%" />
      <Skeleton height={28} width="35%" mt="xs" />
      <Skeleton height={14} width="70%" mt="xs" />
    </Paper>
  ));

/** The figures at the top; undefined while they are being read. */
export function StatCards({ overview }: { readonly overview: Overview | undefined }) {
  const { t } = useTranslation('overview');
  return (
    <section aria-labelledby="figures">
      <Title order={2} size="h4" mb="sm" id="figures">
        {t('stats.title')}
      </Title>
      <SimpleGrid component="dl" cols={{ base: 2, lg: 3 }} spacing={{ base: 'xs', sm: 'md' }} m={0}>
        {overview === undefined ? <Waiting /> : <Stats overview={overview} />}
      </SimpleGrid>
    </section>
  );
}
