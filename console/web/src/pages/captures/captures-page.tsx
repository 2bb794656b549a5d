import { Text } from '@mantine/core';
import { Timer } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { exportCaptures } from '../../../../wire/exports.ts';
import { listCaptures } from '../../../../wire/records.ts';
import { useReadPages } from '../../api/pages.ts';
import type { Column } from '../../parts/data-table.tsx';
import { ListActions } from '../../parts/list-actions.tsx';
import { NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SearchedTable } from '../../parts/searched-table.tsx';
import { ShortId } from '../../parts/short-id.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useTenant } from '../../session/tenant.ts';
import { CaptureFilters } from './capture-filters.tsx';
import { toCaptureQuery, useCaptureFilters } from './filters.ts';
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
      visibleFrom: 'lg',
      cell: ({ has_sad }) => (has_sad ? <SensitiveBadge /> : '–'),
    },
    {
      name: 'amount',
      header: t('list.amount'),
      isNumber: true,
      visibleFrom: 'md',
      cell: (row) => <SentAmount {...row} />,
    },
    { name: 'at', header: t('list.at'), cell: ({ created_at }) => <Time value={created_at} /> },
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
  const params = { ...useTenant() };
  const filters = useCaptureFilters();
  const sort = useSortOrder();
  const body = { ...toCaptureQuery(filters.values, useTimeZone()), ...toOrderField(sort.order) };
  const list = useReadPages(listCaptures, { params, body }, { rows: 'captures', key: rowKey });
  const texts = t('empty', { returnObjects: true });
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        hasTimes
        actions={
          <ListActions
            list="captures"
            filters={filters}
            definition={exportCaptures}
            params={params}
            filter={body}
            name={`captures-${params.environment}`}
          />
        }
      />
      <CaptureFilters {...filters} onRepeat={list.refresh} />
      <SearchedTable
        caption={t('list.caption')}
        columns={useColumns()}
        list={list}
        filters={filters}
        sort={{ column: 'at', ...sort }}
        rowKey={rowKey}
        to={({ id }) => encodeURIComponent(id)}
        texts={texts}
        empty={<NoRecords icon={Timer} texts={texts} />}
      />
      {list.rows !== undefined && list.rows.length > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('list.amountNote', { note: t('amountNote') })}
        </Text>
      )}
    </>
  );
}
