import { Text } from '@mantine/core';
import { Timer } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { exportCaptures } from '../../../../wire/exports.ts';
import { listCaptures } from '../../../../wire/records.ts';
import { useReadPages } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { ListCount } from '../../parts/list-count.tsx';
import { NoMatches, NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { SearchDepth } from '../../parts/search-depth.tsx';
import { ShortId } from '../../parts/short-id.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
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
  const params = useTenant();
  const columns = useColumns();
  const filters = useCaptureFilters();
  const body = toCaptureQuery(filters.values, useTimeZone());
  const { pages, rows, live, error, retry, next, refresh } = useReadPages(
    listCaptures,
    { params: { ...params }, body },
    { rows: 'captures', key: rowKey },
  );
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        hasTimes
        actions={<Actions filters={filters} body={body} />}
      />
      <CaptureFilters {...filters} onRepeat={refresh} />
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
        empty={<NoCaptures isFiltered={filters.isFiltered} onClear={filters.clear} />}
      />
      <ListCount shown={rows?.length} count={pages?.[0]?.count} hasNext={next !== undefined} />
      {filters.isFiltered && <SearchDepth to={pages?.at(-1)?.searched_back_to ?? null} />}
      {rows !== undefined && rows.length > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('list.amountNote', { note: t('amountNote') })}
        </Text>
      )}
    </>
  );
}

interface ActionsProps {
  readonly filters: ReturnType<typeof useCaptureFilters>;
  readonly body: ReturnType<typeof toCaptureQuery>;
}

function Actions({ filters: { values, isFiltered, applyView }, body }: ActionsProps) {
  const params = useTenant();
  const may = useCan();
  return (
    <>
      <SavedViews list="captures" values={values} onApply={applyView} />
      {may('records:export') && (
        <ExportButton
          definition={exportCaptures}
          params={{ ...params }}
          filter={body}
          name={`captures-${params.environment}`}
          isFiltered={isFiltered}
        />
      )}
    </>
  );
}

function NoCaptures({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const { t } = useTranslation('captures');
  if (!isFiltered) return <NoRecords icon={Timer} texts={t('empty', { returnObjects: true })} />;
  return (
    <NoMatches
      title={t('empty.filteredTitle')}
      text={t('empty.filteredText')}
      clearLabel={t('filters.clear')}
      onClear={onClear}
    />
  );
}
