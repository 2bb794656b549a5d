import { Button, Grid, Group, Stack, Text } from '@mantine/core';
import { FlaskConical, Play, RotateCcw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CodeBlock } from '../../parts/code-block.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCurl } from '../../session/api-access.ts';
import { useTenant } from '../../session/tenant.ts';
import { CardWarning } from './card-warning.tsx';
import { Choices } from './choices.tsx';
import { PayloadEditor } from './payload-editor.tsx';
import { ResultPanel } from './result-panel.tsx';
import { useRecords, useWorkbench, type WorkbenchState } from './use-workbench.ts';
import { faultPosition, toCurl } from './workbench-run.ts';

export function WorkbenchPage() {
  const { t } = useTranslation('workbench');
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      {useTenant().environment === 'sandbox' ? <Workbench /> : <SandboxOnly page="workbench" />}
    </>
  );
}

/** Leads from production to the same page of the sandbox. */
export function SandboxOnly({ page }: { readonly page: string }) {
  const { t } = useTranslation('workbench');
  const { account } = useTenant();
  return (
    <EmptyState
      icon={FlaskConical}
      title={t('sandboxOnly.title')}
      action={
        <Button component={Link} to={`/a/${account}/sandbox/${page}`}>
          {t('sandboxOnly.action')}
        </Button>
      }
    >
      {t('sandboxOnly.text')}
    </EmptyState>
  );
}

function Workbench() {
  const { t } = useTranslation('workbench');
  const records = useRecords();
  const bench = useWorkbench(records);
  const { change, request } = bench;
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Panel>
          <Choices bench={bench} records={records} />
          <Payload bench={bench} />
          <CardWarning bench={bench} />
          <RunButtons bench={bench} />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Stack gap="md">
          {change.error !== null && <ErrorAlert error={change.error} />}
          <ResultPanel outcome={change.data} />
          <Panel title={t('curl')} description={t('curlText')}>
            <CodeBlock label="curl" code={toCurl(useCurl('sandbox'), request)} maxHeight={320} />
          </Panel>
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function Payload({ bench: { request, change, fault, edit, run } }: { readonly bench: WorkbenchState }) {
  const { t } = useTranslation('workbench');
  const { payload } = request;
  if (payload === undefined) return null;
  const isRun = change.variables?.body?.payload === payload;
  return (
    <PayloadEditor
      value={payload}
      onChange={(text) => edit({ payload: text })}
      onRun={run}
      faultLine={isRun ? faultPosition(change.data?.error ?? null)?.line : undefined}
      error={fault === 'empty' || fault === 'tooLong' ? t(fault) : undefined}
    />
  );
}

function RunButtons({ bench: { isBusy, isEdited, run, start } }: { readonly bench: WorkbenchState }) {
  const { t } = useTranslation('workbench');
  return (
    <Group gap="sm">
      <Button onClick={run} loading={isBusy} leftSection={<Play size={16} aria-hidden />}>
        {t('run')}
      </Button>
      {isEdited && (
        <Button
          variant="subtle"
          color="gray"
          leftSection={<RotateCcw size={14} aria-hidden />}
          onClick={() => start({})}
        >
          {t('reset')}
        </Button>
      )}
      <Text size="xs" c="dimmed" visibleFrom="sm">
        {t('runKeys')}
      </Text>
    </Group>
  );
}
