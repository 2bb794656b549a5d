import { Button, Grid, Group, Input, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { FlaskConical, Play, RotateCcw } from 'lucide-react';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { tryPayload } from '../../../../wire/proxy.ts';
import { listCaptures, listTokens } from '../../../../wire/records.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useTenant } from '../../session/tenant.ts';
import { EXAMPLES, type ExampleName, KINDS, type Kind, PAYLOADS } from './examples.ts';
import { PayloadEditor } from './payload-editor.tsx';
import { ResultPanel } from './result-panel.tsx';
import { faultPosition } from './workbench-run.ts';

const HASH_TYPES = ['SHA256', 'SHA384', 'SHA512'] as const;
type HashType = (typeof HASH_TYPES)[number];

export function WorkbenchPage() {
  const { t } = useTranslation('workbench');
  const { account, environment } = useTenant();
  const isSandbox = environment === 'sandbox';
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      {isSandbox ? (
        <Workbench />
      ) : (
        <EmptyState
          icon={FlaskConical}
          title={t('sandboxOnly.title')}
          action={
            <Button component={Link} to={`/a/${account}/sandbox/workbench`}>
              {t('sandboxOnly.action')}
            </Button>
          }
        >
          {t('sandboxOnly.text')}
        </EmptyState>
      )}
    </>
  );
}

/** Returns the newest token and capture of the account for the examples. */
function useRecords() {
  const { account } = useTenant();
  const params = { account, environment: 'sandbox' };
  const tokens = useRead(listTokens, { params, body: {} });
  const captures = useRead(listCaptures, { params, body: {} });
  const token = tokens.data?.tokens.find(({ is_altered }) => !is_altered)?.token;
  const capture = captures.data?.captures.find(({ card }) => card !== null)?.id;
  return { token, capture, areLoaded: !tokens.isPending && !captures.isPending };
}

/** Returns what the user chose and typed, and the last run. */
function useWorkbench(records: ReturnType<typeof useRecords>) {
  const { account } = useTenant();
  const [kind, setKind] = useState<Kind>('jose');
  const [example, setExample] = useState<ExampleName>('purchase');
  const [hashType, setHashType] = useState<HashType>('SHA256');
  /** Undefined while the example is unchanged. */
  const [typed, setTyped] = useState<string>();
  const [fault, setFault] = useState<'empty' | 'tooLong'>();
  const change = useChange(tryPayload);
  const { token = 'TOKEN', capture = 'CAPTURE' } = records;
  const payload = typed ?? PAYLOADS[kind][example]({ token, capture });
  /** True while the records of the example load. */
  const isIncomplete = typed === undefined && !records.areLoaded;
  const start = (next: { kind?: Kind; example?: ExampleName }): void => {
    setKind(next.kind ?? kind);
    setExample(next.example ?? example);
    setTyped(undefined);
    change.reset();
  };
  const run = (): void => {
    const isTooLong = payload.length > LIMITS.workbenchPayloadCharacters;
    const found = payload.trim() === '' ? 'empty' : isTooLong ? 'tooLong' : undefined;
    setFault(found);
    if (found !== undefined || change.isPending || isIncomplete) return;
    change.mutate({ params: { account }, body: { kind, payload, ...(kind === 'hash' && { hash_type: hashType }) } });
  };
  const isBusy = change.isPending || isIncomplete;
  return { kind, example, hashType, setHashType, start, payload, typed, setTyped, fault, change, run, isBusy };
}

function Workbench() {
  const records = useRecords();
  const { t } = useTranslation('workbench');
  const { change, fault, payload, run, start, ...bench } = useWorkbench(records);
  const sent = change.variables?.body?.payload ?? '';
  const error = change.data?.error ?? null;
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Panel>
          <Choices {...bench} onChange={start} onHashType={bench.setHashType} />
          <RecordsNote {...records} />
          <PayloadEditor
            value={payload}
            onChange={bench.setTyped}
            onRun={run}
            faultLine={sent === payload ? faultPosition(error)?.line : undefined}
            error={fault && t(fault)}
          />
          <RunButtons
            isBusy={bench.isBusy}
            onRun={run}
            onReset={bench.typed === undefined ? undefined : () => start({})}
          />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Stack gap="md">
          {change.error !== null && <ErrorAlert error={change.error} />}
          <ResultPanel outcome={change.data} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

interface RunButtonsProps {
  readonly isBusy: boolean;
  readonly onRun: () => void;
  /** Undefined while the example is unchanged. */
  readonly onReset: (() => void) | undefined;
}

function RunButtons({ isBusy, onRun, onReset }: RunButtonsProps) {
  const { t } = useTranslation('workbench');
  return (
    <Group gap="sm">
      <Button onClick={onRun} loading={isBusy} leftSection={<Play size={16} aria-hidden />}>
        {t('run')}
      </Button>
      {onReset !== undefined && (
        <Button variant="subtle" color="gray" leftSection={<RotateCcw size={14} aria-hidden />} onClick={onReset}>
          {t('reset')}
        </Button>
      )}
      <Text size="xs" c="dimmed" visibleFrom="sm">
        {t('runKeys')}
      </Text>
    </Group>
  );
}

interface ChoicesProps {
  readonly kind: Kind;
  readonly example: ExampleName;
  readonly onChange: (next: { kind?: Kind; example?: ExampleName }) => void;
  readonly hashType: HashType;
  readonly onHashType: (type: HashType) => void;
}

function Choices({ kind, example, onChange, hashType, onHashType }: ChoicesProps) {
  const { t } = useTranslation('workbench');
  const id = useId();
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="md">
        <Stack gap={4} align="flex-start">
          <Input.Label labelElement="div" id={id}>
            {t('kind')}
          </Input.Label>
          <SegmentedControl
            aria-labelledby={id}
            value={kind}
            onChange={(value) => onChange({ kind: value as Kind })}
            data={KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
          />
        </Stack>
        <Select
          label={t('example')}
          w={250}
          allowDeselect={false}
          value={example}
          onChange={(value) => onChange({ example: value as ExampleName })}
          data={EXAMPLES.map((value) => ({ value, label: t(`examples.${value}`) }))}
        />
        {kind === 'hash' && (
          <Select
            label={t('hashType')}
            w={130}
            allowDeselect={false}
            value={hashType}
            onChange={(value) => onHashType(value as HashType)}
            data={[...HASH_TYPES]}
          />
        )}
      </Group>
      <Text size="sm" c="dimmed">
        {t(`about.${kind}`)}
      </Text>
    </Stack>
  );
}

/** Explains which records the examples use, or what is missing. */
function RecordsNote({ token, capture, areLoaded }: ReturnType<typeof useRecords>) {
  const { t } = useTranslation('workbench');
  if (!areLoaded) return null;
  return (
    <Text size="sm" c="dimmed">
      {token === undefined ? t('noToken') : t('newest')} {capture === undefined && t('noCapture')}
    </Text>
  );
}
