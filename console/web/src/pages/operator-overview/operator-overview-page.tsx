import { Alert, Anchor, Group, SegmentedControl, Stack } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import { showServiceOverview } from '../../../../wire/overview.ts';
import { useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { PeriodChoice, usePeriod, usePeriodQuery } from '../overview/period-choice.tsx';
import type { Usage } from '../overview/series.ts';
import { UsageReport } from '../overview/usage-report.tsx';

const MINUTE = 60_000;

/** The usage of all accounts. The address holds environment and period. */
export function OperatorOverviewPage() {
  const { t } = useTranslation('overview');
  const { t: shellText } = useTranslation('shell');
  const [search] = useSearchParams();
  const environment = ENVIRONMENTS.find((name) => name === search.get('environment')) ?? 'production';
  const { choose, ...period } = usePeriod();
  const { data, error, refetch } = useRead(
    showServiceOverview,
    { query: { ...usePeriodQuery({ ...period, choose }), environment } },
    { refetchIntervalMs: MINUTE },
  );
  const chosen = period.days === undefined ? { from: period.from, to: period.to } : { days: period.days };
  return (
    <>
      <PageHeader
        title={t('service.title')}
        description={t('service.description')}
        actions={<PeriodChoice {...period} choose={(next) => choose({ ...next, environment })} />}
      />
      <Stack gap="xl">
        <Group>
          <SegmentedControl
            aria-label={shellText('environment')}
            data={ENVIRONMENTS.map((name) => ({ value: name, label: shellText(name) }))}
            value={environment}
            onChange={(name) => choose({ ...chosen, environment: name })}
          />
        </Group>
        {error && <ErrorAlert error={error} onRetry={() => void refetch()} />}
        {data !== undefined && data.in_doubt > 0 && (
          <Alert
            color="orange"
            icon={<TriangleAlert size={18} aria-hidden />}
            title={t('inDoubt.title', { count: data.in_doubt })}
          >
            <Anchor component={Link} to="/operator/processors" size="sm">
              {t('inDoubt.action')}
            </Anchor>
          </Alert>
        )}
        {!(error && data === undefined) && (
          <UsageReport usage={data} links={data === undefined ? {} : { errors: toErrors(data, environment) }} />
        )}
      </Stack>
    </>
  );
}

/** Returns the address of the errors of the period in the request log. */
const toErrors = ({ first_day: from, last_day: to }: Usage, environment: string): string =>
  `/operator/request-log?${new URLSearchParams({ status: 'errors', environment, from, to })}`;
