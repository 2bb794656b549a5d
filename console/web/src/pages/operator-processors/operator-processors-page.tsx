import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import { exportUnknownOutcomes } from '../../../../wire/exports.ts';
import { listProcessors } from '../../../../wire/operator.ts';
import { useRead } from '../../api/hooks.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { SettingName } from '../../parts/setting-name.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { useSettingText } from '../operator-payments/setting-text.ts';
import { InDoubtTable } from './in-doubt-table.tsx';

type Data = ValueOf<typeof listProcessors.data>;
type Processor = Data['processors'][number];
type Setting = Processor['settings'][number];

export function OperatorProcessorsPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(listProcessors);
  return (
    <>
      <PageHeader title={t('processors.title')} description={t('processors.description')} hasTimes />
      {data === undefined &&
        (error === null ? <Skeleton height={360} aria-hidden /> : <ErrorAlert error={error} onRetry={refetch} />)}
      {data !== undefined && (
        <Stack gap="xl">
          <Stack component="section" gap="sm">
            <Group justify="space-between" gap="sm">
              <Title order={2}>{t('processors.inDoubt')}</Title>
              {data.in_doubt.length > 0 && (
                <ExportButton
                  definition={exportUnknownOutcomes}
                  params={{}}
                  filter={{}}
                  name="unknown-outcomes"
                  isFiltered={false}
                />
              )}
            </Group>
            <Text size="sm" c="dimmed" maw={680}>
              {t('processors.inDoubtText')}
            </Text>
            <InDoubtTable payments={data.in_doubt} />
            {data.has_more_in_doubt && (
              <Text size="sm">{t('processors.moreInDoubt', { number: data.in_doubt.length })}</Text>
            )}
          </Stack>
          <Stack gap="md">
            {data.processors.map((processor) => (
              <ProcessorPanel key={processor.name} processor={processor} />
            ))}
          </Stack>
        </Stack>
      )}
    </>
  );
}

function ProcessorPanel({ processor }: { readonly processor: Processor }) {
  const { t } = useTranslation('operator');
  const { name, is_simulator, settings } = processor;
  const used = ENVIRONMENTS.map((each) => [each, processor[`${each}_accounts`]] as const).filter(
    ([, count]) => count > 0,
  );
  const users = used.map(([each, count]) => t('processors.accounts', { count, environment: t(`environment.${each}`) }));
  return (
    <Panel
      title={name}
      description={`${t('processors.usedBy')}: ${users.length === 0 ? t('processors.unused') : users.join(', ')}`}
      actions={
        <Badge tone={is_simulator ? 'attention' : 'info'}>
          {is_simulator ? t('processors.simulator') : t('processors.real')}
        </Badge>
      }
    >
      <DataTable
        caption={t('processors.settingsOf', { name })}
        columns={useColumns()}
        rows={settings}
        rowKey={(setting) => setting.name}
        empty={null}
      />
    </Panel>
  );
}

function useColumns(): readonly Column<Setting>[] {
  const { t } = useTranslation('operator');
  const { descriptionText, expectedText } = useSettingText();
  return [
    {
      name: 'name',
      header: t('processors.columns.name'),
      cell: ({ name, is_required, is_secret }) => (
        <Stack gap={4} align="flex-start">
          <Text span size="sm">
            <SettingName name={name} />
          </Text>
          {is_required && <Badge tone="info">{t('processors.required')}</Badge>}
          {is_secret && <Badge tone="quiet">{t('processors.secret')}</Badge>}
        </Stack>
      ),
    },
    { name: 'description', header: t('processors.columns.description'), cell: descriptionText },
    { name: 'expected', header: t('processors.columns.expected'), visibleFrom: 'sm', cell: expectedText },
    {
      name: 'default',
      header: t('processors.columns.default'),
      visibleFrom: 'sm',
      cell: ({ default_value }) =>
        default_value ?? (
          <Text span size="sm" c="dimmed">
            {t('processors.noDefault')}
          </Text>
        ),
    },
  ];
}
