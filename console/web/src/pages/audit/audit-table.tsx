import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../parts/data-table.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { useRowDetails } from '../../parts/row-opener.tsx';
import { isEnvironment } from '../../session/tenant.ts';
import { type AuditRecord, useActionText } from './action-text.ts';
import { Outcome } from './outcome.tsx';
import { RawText } from './raw.tsx';
import { RecordDetail } from './record-detail.tsx';

const recordKey = ({ lane, sequence }: AuditRecord): string => `${lane}/${sequence}`;

/** The rows of a page of the log. */
export const AUDIT_ROWS = { rows: 'records', key: recordKey } as const;

/** Returns the properties of the table of the log, whose rows open. */
export function useAuditTable() {
  const { t } = useTranslation('audit');
  const textOf = useActionText();
  const columns = useColumns();
  const { opener, renderDetail } = useRowDetails<AuditRecord>({
    keyOf: recordKey,
    header: t('columns.at'),
    labelOf: (record) => t('detail.show', { action: textOf(record) }),
    render: (record) => <RecordDetail record={record} />,
  });
  return { caption: t('caption'), columns: [opener, ...columns], rowKey: recordKey, renderDetail, skeletonRows: 8 };
}

function useColumns(): readonly Column<AuditRecord>[] {
  const { t } = useTranslation('audit');
  const textOf = useActionText();
  return [
    {
      name: 'action',
      header: t('columns.action'),
      cell: (record) => <Action action={record.action} text={textOf(record)} />,
    },
    { name: 'actor', header: t('columns.actor'), cell: (record) => <Actor {...record} /> },
    { name: 'outcome', header: t('columns.outcome'), cell: (record) => <Outcome record={record} /> },
    {
      name: 'targets',
      header: t('columns.targets'),
      visibleFrom: 'lg',
      cell: ({ targets, environment }) => (
        <Stack gap={4} align="flex-start">
          <Targets targets={targets} />
          {isEnvironment(environment) && <EnvironmentBadge environment={environment} />}
        </Stack>
      ),
    },
  ];
}

function Action({ action, text }: { readonly action: string; readonly text: string }) {
  return (
    <Stack gap={0}>
      <Text span size="sm" fw={500}>
        {text === action ? <RawText>{action}</RawText> : text}
      </Text>
      {text !== action && (
        <Text span size="xs" c="dimmed" ff="monospace">
          {action}
        </Text>
      )}
    </Stack>
  );
}

const ACTORS = ['key', 'person', 'operator', 'service', 'buyer', 'unknown'] as const;
type ActorType = (typeof ACTORS)[number];

const isActor = (type: string): type is ActorType => (ACTORS as readonly string[]).includes(type);

function Actor({ actor_type, actor_name }: AuditRecord) {
  const { t } = useTranslation('audit');
  const type = isActor(actor_type) ? t(`actorType.${actor_type}`) : actor_type;
  return (
    <Stack gap={0}>
      <Text span size="sm" truncate maw={{ base: 200, md: 160, xl: 240 }} title={actor_name ?? ''}>
        {actor_name ?? type}
      </Text>
      {actor_name !== null && (
        <Text span size="xs" c="dimmed">
          {type}
        </Text>
      )}
    </Stack>
  );
}

function Targets({ targets }: { readonly targets: readonly string[] }) {
  const [first] = targets;
  if (first === undefined)
    return (
      <Text span c="dimmed" size="sm">
        –
      </Text>
    );
  return (
    <Text
      span
      size="xs"
      ff="monospace"
      truncate
      display="block"
      maw={{ base: '100%', xs: 190, xl: 280 }}
      title={targets.join('\n')}
    >
      {first}
      {targets.length > 1 && ` +${targets.length - 1}`}
    </Text>
  );
}
