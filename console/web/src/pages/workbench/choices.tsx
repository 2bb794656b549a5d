import { Group, Input, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { HASH_TYPES, OPERATIONS, type Operation } from '../../../../wire/workbench.ts';
import {
  EXAMPLES,
  type ExampleName,
  findPathRecord,
  findUsedRecord,
  GROUP_NAMES,
  type Group as GroupName,
  isProxy,
  OPERATION_GROUPS,
} from './examples.ts';
import type { HashType, useRecords, WorkbenchState } from './use-workbench.ts';

interface ChoicesProps {
  readonly bench: WorkbenchState;
  readonly records: ReturnType<typeof useRecords>;
}

/** Chooses the endpoint, the record in its path and the example. */
export function Choices({ bench, records }: ChoicesProps) {
  const { t } = useTranslation('workbench');
  const { group, operation, start } = bench;
  const { method, path } = OPERATIONS[operation];
  const id = useId();
  return (
    <Stack gap="sm">
      <Stack gap={4} align="flex-start">
        <Input.Label labelElement="div" id={id}>
          {t('group')}
        </Input.Label>
        <SegmentedControl
          aria-labelledby={id}
          maw="100%"
          // On a telephone the names take two lines.
          styles={{ label: { whiteSpace: 'normal' } }}
          value={group}
          onChange={(value) => start({ group: value as GroupName })}
          data={GROUP_NAMES.map((value) => ({ value, label: t(`groups.${value}`) }))}
        />
      </Stack>
      <Group align="flex-end" gap="md">
        <Select
          label={t('operation')}
          w={250}
          allowDeselect={false}
          value={operation}
          onChange={(value) => start({ operation: value as Operation })}
          data={OPERATION_GROUPS[group].map((value) => ({ value, label: t(`operations.${value}`) }))}
        />
        {isProxy(operation) && <ProxyChoices bench={bench} />}
      </Group>
      <Text size="sm" c="dimmed">
        {t(`about.${operation}`)} <code>{`${method} ${path.replace(/:([a-z]+)/, '{$1}')}`}</code>
      </Text>
      <PathParameter bench={bench} />
      <RecordsNote bench={bench} records={records} />
    </Stack>
  );
}

function ProxyChoices({
  bench: { operation, example, start, hashType, setHashType },
}: {
  readonly bench: WorkbenchState;
}) {
  const { t } = useTranslation('workbench');
  return (
    <>
      <Select
        label={t('example')}
        w={250}
        allowDeselect={false}
        value={example}
        onChange={(value) => start({ example: value as ExampleName })}
        data={EXAMPLES.map((value) => ({ value, label: t(`examples.${value}`) }))}
      />
      {operation === 'proxyHash' && (
        <Select
          label={t('hashType')}
          w={130}
          allowDeselect={false}
          value={hashType}
          onChange={(value) => setHashType(value as HashType)}
          data={[...HASH_TYPES]}
        />
      )}
    </>
  );
}

function PathParameter({ bench: { operation, group, request, edit, fault } }: { readonly bench: WorkbenchState }) {
  const { t } = useTranslation('workbench');
  const record = findPathRecord(OPERATIONS[operation].path, group);
  if (record === undefined) return null;
  return (
    <TextInput
      label={t(`parameter.${record}`)}
      maw={420}
      value={request.parameter}
      onChange={(event) => edit({ parameter: event.currentTarget.value })}
      error={fault === 'parameterMissing' && request.parameter.trim() === '' ? t('parameterMissing') : undefined}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

const MISSING = { token: 'noToken', capture: 'noCapture', payment: 'noPayment' } as const;

/** Explains which record the example uses, or that there is none. */
function RecordsNote({ bench: { operation, group, example }, records }: ChoicesProps) {
  const { t } = useTranslation('workbench');
  const used = findUsedRecord({ operation, group, example }, OPERATIONS[operation].path);
  if (!records.areLoaded || used === undefined) return null;
  return (
    <Text size="sm" c="dimmed">
      {records[used] === undefined ? t(MISSING[used]) : t('newest')}
    </Text>
  );
}
