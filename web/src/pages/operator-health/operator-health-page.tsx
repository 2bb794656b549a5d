import { Alert, Grid, Skeleton, Stack } from '@mantine/core';
import { HeartPulse, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { showHealth } from '../../../../src/console/wire/operator.ts';
import type { ReadBy } from '../../../../src/http/fields.ts';
import { useRead } from '../../api/hooks.ts';
import { Details } from '../../parts/details.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { CertificatesTable } from './certificates-table.tsx';
import { Checks } from './checks.tsx';

export type Health = ReadBy<typeof showHealth.data>;

const READ_AGAIN_MS = 15_000;

export function OperatorHealthPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(showHealth, {}, { every: READ_AGAIN_MS });
  return (
    <>
      <PageHeader title={t('health.title')} description={t('health.description')} />
      <Stack gap="md">
        {error !== null && <ErrorAlert error={error} onRetry={refetch} />}
        {data === undefined && error === null && <Skeleton height={420} aria-hidden />}
        {data !== undefined && <Whole health={data} />}
      </Stack>
    </>
  );
}

function Whole({ health }: { readonly health: Health }) {
  const { t } = useTranslation('operator');
  const { ready, checks } = health;
  return (
    <>
      <Alert
        color={ready ? 'teal' : 'red'}
        role={ready ? 'status' : 'alert'}
        icon={ready ? <HeartPulse size={18} aria-hidden /> : <TriangleAlert size={18} aria-hidden />}
        title={ready ? t('health.ready') : t('health.notReady')}
      >
        {ready ? t('health.readyText') : t('health.notReadyText')}
      </Alert>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Panel title={t('health.checks')}>
            <Checks checks={checks} />
          </Panel>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Panel title={t('health.facts')}>
            <Facts health={health} />
          </Panel>
        </Grid.Col>
      </Grid>
      <Panel title={t('health.certificates')} description={t('health.certificatesText')}>
        <CertificatesTable health={health} />
      </Panel>
    </>
  );
}

function Facts({ health }: { readonly health: Health }) {
  const { t, i18n } = useTranslation('operator');
  const number = (value: number): string => new Intl.NumberFormat(i18n.language).format(value);
  return (
    <Details
      items={[
        { label: t('health.version'), value: health.version },
        { label: t('health.node'), value: health.node },
        { label: t('health.database'), value: health.database },
        { label: t('health.schema'), value: number(health.schema) },
        { label: t('health.started'), value: <Time value={health.started_at} isRelative /> },
        { label: t('health.time'), value: <Time value={health.now} /> },
        { label: t('health.waiting'), value: number(health.waiting_writes) },
        { label: t('health.memory'), value: t('health.mebibytes', { number: number(health.memory_mib) }) },
        { label: t('health.doubtful'), value: number(health.doubtful_payments) },
      ]}
    />
  );
}
