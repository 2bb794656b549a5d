import { Text } from '@mantine/core';
import { Timer } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { listCaptures } from '../../../../wire/records.ts';
import { useReadPages } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { ShortId } from '../../parts/short-id.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useTenant } from '../../session/tenant.ts';
import { SentAmount } from './sent-amount.tsx';
import { TimeLeft } from './time-left.tsx';

type CaptureRow = ValueOf<typeof listCaptures.data>['captures'][number];

function useColumns(): readonly Column<CaptureRow>[] {
  const { t } = useTranslation('captures');
  return [
    {
      name: 'id',
      header: t('list.id'),
      cell: ({ id }) => <ShortId id={id} />,
    },
    {
      name: 'card',
      header: t('list.card'),
      cell: ({ card, is_altered }) => <TruncatedCard card={card} isAltered={is_altered} />,
    },
    { name: 'left', header: t('list.left'), cell: ({ expires_at }) => <TimeLeft until={expires_at} /> },
    {
      name: 'kept',
      header: t('list.kept'),
      visibleFrom: 'md',
      cell: ({ has_sad }) => (has_sad ? <SensitiveBadge /> : '–'),
    },
    {
      name: 'amount',
      header: t('list.amount'),
      isNumber: true,
      visibleFrom: 'sm',
      cell: (row) => <SentAmount {...row} />,
    },
    {
      name: 'at',
      header: t('list.at'),
      visibleFrom: 'lg',
      cell: ({ created_at }) => <Time value={created_at} />,
    },
  ];
}

function SensitiveBadge() {
  const { t } = useTranslation('captures');
  return (
    <Badge tone="attention" title={t('sensitiveTitle')}>
      {t('sensitive')}
    </Badge>
  );
}

const rowKey = ({ id }: CaptureRow): string => id;

export function CapturesPage() {
  const { t } = useTranslation('captures');
  const { account, environment } = useTenant();
  const columns = useColumns();
  const { rows, live, error, retry, next } = useReadPages(
    listCaptures,
    { params: { account, environment }, body: {} },
    { rows: 'captures', key: rowKey },
  );
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} hasTimes />
      <DataTable
        caption={t('list.caption')}
        columns={columns}
        rows={rows}
        live={live}
        rowKey={rowKey}
        to={({ id }) => encodeURIComponent(id)}
        error={error}
        onRetry={retry}
        next={next}
        empty={<NoRecords icon={Timer} texts={t('empty', { returnObjects: true })} />}
      />
      {rows !== undefined && rows.length > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('list.amountNote', { note: t('amountNote') })}
        </Text>
      )}
    </>
  );
}
