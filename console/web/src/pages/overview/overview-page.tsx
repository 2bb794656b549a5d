import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { showOverview } from '../../../../wire/overview.ts';
import { useRead } from '../../api/hooks.ts';
import { DualControlQuestion } from '../../parts/dual-control-question.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { FirstSteps } from './first-steps.tsx';
import { OperatorChanges } from './operator-changes.tsx';
import { PeriodChoice, usePeriod, usePeriodQuery } from './period-choice.tsx';
import { isUnused, type Usage } from './series.ts';
import { UsageReport } from './usage-report.tsx';

const MINUTE = 60_000;

export function OverviewPage() {
  const { t } = useTranslation('overview');
  const params = useTenant();
  const period = usePeriod();
  const query = useRead(
    showOverview,
    { params: { ...params }, query: usePeriodQuery(period) },
    { refetchIntervalMs: MINUTE },
  );
  const { data: overview, error } = query;
  const toRows = useRowAddresses(overview);
  const isEmpty = overview !== undefined && isUnused(overview);
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={<PeriodChoice {...period} />} />
      <Stack gap="xl">
        {error && <ErrorAlert error={error} onRetry={() => void query.refetch()} />}
        {overview !== undefined && overview.totals.in_doubt > 0 && <InDoubtNotice count={overview.totals.in_doubt} />}
        {overview !== undefined && <OperatorChanges changes={overview.operator_changes} />}
        <DualControlQuestion />
        {isEmpty && <FirstSteps />}
        {!isEmpty && !(error && overview === undefined) && <UsageReport usage={overview} {...toRows} />}
      </Stack>
    </>
  );
}

/** Returns the addresses of the rows behind the figures, which the user may read. */
function useRowAddresses(usage: Usage | undefined) {
  const { account, environment } = useTenant();
  const can = useCan();
  const base = `/a/${account}/${environment}`;
  if (usage === undefined) return { links: {} };
  const days = { from: usage.first_day, to: usage.last_day };
  const toPayments = (filters: Readonly<Record<string, string>>): string =>
    `${base}/payments?${new URLSearchParams({ ...days, ...filters })}`;
  return {
    ...(can('payments:read') && { toPayments }),
    links: {
      ...(can('payments:read') && { payments: toPayments({}), approval: toPayments({ status: 'Declined' }) }),
      ...(can('tokens:read') && { tokens: `${base}/tokens` }),
      ...(can('captures:read') && { captures: `${base}/captures` }),
      ...(can('requests:read') && { errors: `${base}/requests?${new URLSearchParams({ status: 'errors', ...days })}` }),
    },
  };
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
