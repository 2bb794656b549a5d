import { useTranslation } from 'react-i18next';
import type { ReadList } from '../api/pages.ts';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { ListCount, type ListCountProps } from './list-count.tsx';
import { NoMatches } from './no-records.tsx';
import { SearchDepth } from './search-depth.tsx';

interface SearchedPage {
  /** Absent where the service counts no records. */
  readonly count?: ListCountProps['count'];
  readonly searched_back_to: string | null;
}

interface SearchedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'live' | 'error' | 'onRetry' | 'next'> {
  readonly list: Omit<ReadList<SearchedPage, Row>, 'refresh'>;
  readonly filters: { readonly isFiltered: boolean; readonly clear: () => void };
  /** Shown when no record matches the filters; `empty` is shown without filters. */
  readonly texts: { readonly filteredTitle: string; readonly filteredText: string };
}

/** The table of a list that is searched step by step, with the number of records and the time up to which it was searched. */
export function SearchedTable<Row>({ list, filters, texts, empty, ...table }: SearchedTableProps<Row>) {
  const { t } = useTranslation('lists');
  const { pages, rows, live, error, retry, next } = list;
  const { isFiltered, clear } = filters;
  const order = table.sort?.order ?? 'newest';
  const count = pages?.[0]?.count;
  return (
    <>
      <DataTable
        {...table}
        rows={rows}
        live={live}
        error={error}
        onRetry={retry}
        empty={isFiltered ? <NoMatches title={texts.filteredTitle} text={texts.filteredText} onClear={clear} /> : empty}
        next={next && { ...next, label: isFiltered ? t(`search.${order}`) : t(`next.${order}`) }}
      />
      {count !== undefined && <ListCount shown={rows?.length} count={count} hasNext={next !== undefined} />}
      {isFiltered && <SearchDepth order={order} to={pages?.at(-1)?.searched_back_to ?? null} />}
    </>
  );
}
