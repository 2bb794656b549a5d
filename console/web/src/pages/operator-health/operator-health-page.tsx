import { Alert, Grid, Skeleton, Stack } from '@mantine/core';
import { HeartPulse, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { showHealth } from '../../../../wire/operator.ts';
import { useRead } from '../../api/hooks.ts';
import { Details } from '../../parts/details.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { formatNumber } from '../../parts/number.ts';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { CertificatesTable } from './certificates-table.tsx';
import { Checks } from './checks.tsx';
import type { Health } from './health.ts';

/** Product names, the same in every language. */
const DATABASES: Readonly<Record<string, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

const COLORS = { ready: 'teal', attention: 'yellow', notReady: 'red' } as const;

const REFRESH_MS = 15_000;

export function OperatorHealthPage() {
  const { t } = useTranslation('health');
  const { data, error, refetch } = useRead(showHealth, {}, { refetchIntervalMs: REFRESH_MS });
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} hasTimes />
      <Stack gap="md">
        {error !== null && <ErrorAlert error={error} onRetry={refetch} />}
        {data === undefined && error === null && <Skeleton height={420} aria-hidden />}
        {data !== undefined && <HealthContent health={data} />}
      </Stack>
    </>
  );
}

function HealthContent({ health }: { readonly health: Health }) {
  const { t } = useTranslation('health');
  const { ready, checks } = health;
  const hasPassed = checks.every(({ state }) => state === 'good');
  const state = !ready ? 'notReady' : hasPassed ? 'ready' : 'attention';
  return (
    <>
      <Alert
        color={COLORS[state]}
        role={state === 'notReady' ? 'alert' : 'status'}
        icon={state === 'ready' ? <HeartPulse size={18} aria-hidden /> : <TriangleAlert size={18} aria-hidden />}
        title={t(state)}
      >
        {t(`${state}Text`)}
      </Alert>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Panel title={t('checks')}>
            <Checks checks={checks} />
          </Panel>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Panel title={t('facts')}>
            <Facts health={health} />
          </Panel>
        </Grid.Col>
      </Grid>
      <Panel title={t('certificates')} description={t('certificatesText')}>
        <CertificatesTable health={health} />
      </Panel>
    </>
  );
}

function Facts({ health }: { readonly health: Health }) {
  const { t, i18n } = useTranslation('health');
  const number = (value: number): string => formatNumber(value, i18n.language);
  return (
    <Details
      items={[
        { label: t('version'), value: health.version },
        { label: t('node'), value: health.node },
        { label: t('database'), value: DATABASES[health.database] ?? health.database },
        { label: t('schema'), value: String(health.schema) },
        { label: t('started'), value: <Time value={health.started_at} isRelative /> },
        { label: t('time'), value: <Time value={health.now} /> },
        { label: t('waiting'), value: number(health.waiting_writes) },
        { label: t('memory'), value: t('mebibytes', { number: number(health.memory_mib) }) },
        { label: t('inDoubt'), value: number(health.in_doubt_payments) },
      ]}
    />
  );
}
