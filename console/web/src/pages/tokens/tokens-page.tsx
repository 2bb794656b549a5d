import { Text } from '@mantine/core';
import { Coins, SearchX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { exportTokens } from '../../../../wire/exports.ts';
import { listTokens } from '../../../../wire/records.ts';
import { useReadPages } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { useErrorText } from '../../parts/error-alert.tsx';
import { ListActions } from '../../parts/list-actions.tsx';
import { ListCount } from '../../parts/list-count.tsx';
import { NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { ShortId } from '../../parts/short-id.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useTenant } from '../../session/tenant.ts';
import { parseSearch } from './search.ts';
import { Tags } from './tags.tsx';
import type { TokenRow } from './token-row.ts';
import { TokenSearch } from './token-search.tsx';
import classes from './tokens.module.css';
import { useSearch } from './use-search.ts';

function useColumns(): readonly Column<TokenRow>[] {
  const { t } = useTranslation('tokens');
  const clipped = (text: string | null) => (
    <span className={classes['foreign']} title={text ?? undefined}>
      {text ?? '–'}
    </span>
  );
  return [
    {
      name: 'token',
      header: t('list.token'),
      cell: ({ token }) => <ShortId id={token} />,
    },
    {
      name: 'card',
      header: t('list.card'),
      cell: ({ card, is_altered }) => <TruncatedCard card={card} isAltered={is_altered} />,
    },
    { name: 'name', header: t('list.name'), visibleFrom: 'md', cell: ({ name }) => clipped(name) },
    { name: 'tags', header: t('list.tags'), visibleFrom: 'sm', cell: ({ tags }) => <Tags tags={tags} max={1} /> },
    {
      name: 'at',
      header: t('list.at'),
      visibleFrom: 'sm',
      cell: ({ created_at, created_by }) => (
        <div className={classes['made']}>
          <Time value={created_at} />
          <Text size="xs" c="dimmed" title={created_by} truncate className={classes['foreign'] ?? ''}>
            {created_by}
          </Text>
        </div>
      ),
    },
  ];
}

const rowKey = ({ token }: TokenRow): string => token;

export function TokensPage() {
  const { t } = useTranslation('tokens');
  const params = { ...useTenant() };
  const { environment } = params;
  const columns = useColumns();
  const [search, setSearch] = useSearch();
  const { order, toggle } = useSortOrder();
  const textOf = useErrorText();
  const body = { ...search, ...(search === undefined && toOrderField(order)) };
  const { pages, rows, live, error, retry, next, refresh } = useReadPages(
    listTokens,
    { params, body },
    { rows: 'tokens', key: rowKey },
  );
  const isInvalidSearch = error?.field === 'value' || error?.field === 'by';
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        hasTimes
        actions={
          <ListActions
            list="tokens"
            filters={{
              values: { ...search },
              isFiltered: search !== undefined,
              applyView: (view) => setSearch(parseSearch(view)),
            }}
            definition={exportTokens}
            params={params}
            filter={body}
            name={`tokens-${environment}`}
          />
        }
      />
      <TokenSearch
        // Another environment or a saved view starts a new search.
        key={`${environment} ${JSON.stringify(search)}`}
        search={search}
        onSearch={(next) => {
          if (JSON.stringify(next) === JSON.stringify(search)) void refresh();
          else setSearch(next);
        }}
        serviceError={isInvalidSearch && error ? textOf(error) : undefined}
      />
      {!isInvalidSearch && (
        <DataTable
          caption={t('list.caption')}
          columns={columns}
          rows={rows}
          live={live}
          {...(search === undefined && { sort: { column: 'at', order, toggle } })}
          rowKey={rowKey}
          to={({ token }) => encodeURIComponent(token)}
          error={error}
          onRetry={retry}
          next={next}
          empty={
            search === undefined ? (
              <NoRecords icon={Coins} texts={t('empty', { returnObjects: true })} />
            ) : (
              <NothingFound />
            )
          }
        />
      )}
      {!isInvalidSearch && <ListCount shown={rows?.length} count={pages?.[0]?.count} hasNext={next !== undefined} />}
    </>
  );
}

function NothingFound() {
  const { t } = useTranslation('tokens');
  return (
    <EmptyState icon={SearchX} title={t('empty.noneFound')}>
      {t('empty.noneFoundText')}
    </EmptyState>
  );
}
