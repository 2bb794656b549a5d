import { Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { showOverview } from '../../../../wire/overview.ts';
import { useRead } from '../../api/hooks.ts';
import { DualControlQuestion } from '../../parts/dual-control-question.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useTenant } from '../../session/tenant.ts';
import { FirstSteps } from './first-steps.tsx';
import { OperatorChanges } from './operator-changes.tsx';
import { isUnused } from './series.ts';
import { StatCards } from './stat-cards.tsx';
import { UsageCharts } from './usage-charts.tsx';

const PERIODS = ['1', '7', '30', '90'] as const;
const MINUTE = 60_000;

/** The address holds the period, so that it can be shared. */
function usePeriod(): [(typeof PERIODS)[number], (days: string) => void] {
  const [search, setSearch] = useSearchParams();
  const days = PERIODS.find((each) => each === search.get('days')) ?? '7';
  return [days, (chosen) => setSearch({ days: chosen }, { replace: true })];
}

export function OverviewPage() {
  const { t } = useTranslation('overview');
  const params = useTenant();
  const [days, setDays] = usePeriod();
  const query = useRead(
    showOverview,
    { params: { ...params }, query: { days: Number(days) } },
    { refetchIntervalMs: MINUTE },
  );
  const { data: overview, error } = query;
  const isEmpty = overview !== undefined && isUnused(overview);
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        actions={<PeriodChoice days={days} onChange={setDays} />}
      />
      <Stack gap="xl">
        {error && <ErrorAlert error={error} onRetry={() => void query.refetch()} />}
        {overview !== undefined && overview.totals.in_doubt > 0 && <InDoubtNotice count={overview.totals.in_doubt} />}
        {overview !== undefined && <OperatorChanges changes={overview.operator_changes} />}
        <DualControlQuestion />
        {isEmpty && <FirstSteps />}
        {!isEmpty && !(error && overview === undefined) && (
          <>
            <StatCards {...{ overview, days }} />
            <UsageCharts overview={overview} isHourly={days === '1'} />
          </>
        )}
      </Stack>
    </>
  );
}

function PeriodChoice({ days, onChange }: { readonly days: string; readonly onChange: (days: string) => void }) {
  const { t } = useTranslation('overview');
  return (
    <SegmentedControl
      aria-label={t('period.label')}
      data={PERIODS.map((value) => ({ value, label: t(`period.d${value}`) }))}
      value={days}
      onChange={onChange}
    />
  );
}

function InDoubtNotice({ count }: { readonly count: number }) {
  const { t } = useTranslation('overview');
  const { account, environment } = useTenant();
  return (
    <Alert color="orange" icon={<TriangleAlert size={18} aria-hidden />} title={t('inDoubt.title', { count })}>
      <Group justify="space-between" align="flex-end" gap="sm">
        <Text size="sm" flex="1 1 20rem">
          {t('inDoubt.text')}
        </Text>
        <Button component={Link} to={`/a/${account}/${environment}/payments?in_doubt=yes`} variant="default" size="xs">
          {t('inDoubt.action')}
        </Button>
      </Group>
    </Alert>
  );
}
