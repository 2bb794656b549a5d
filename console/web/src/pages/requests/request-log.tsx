import { ListX } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import type { listRequests } from '../../../../wire/request-log.ts';
import type { CallError } from '../../api/call.ts';
import type { LiveList } from '../../api/pages.ts';
import type { Column } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { NoMatches } from '../../parts/no-records.tsx';
import { SearchDepth } from '../../parts/search-depth.tsx';
import type { useRequestFilters } from './filters.ts';
import { type KeyChoice, RequestFilters } from './request-filters.tsx';
import { type LoggedRequest, RequestTable } from './request-table.tsx';

interface RequestLogProps {
  readonly filters: ReturnType<typeof useRequestFilters>;
  readonly list: {
    readonly pages: readonly ValueOf<typeof listRequests.data>[] | undefined;
    readonly rows: readonly LoggedRequest[] | undefined;
    readonly live: LiveList;
    readonly refresh: () => void;
    readonly error: CallError | null;
    readonly retry: () => void;
    readonly next: { readonly onClick: () => void; readonly isLoading: boolean } | undefined;
  };
  readonly keys: readonly KeyChoice[];
  readonly keyPage?: (id: string) => string;
  readonly columns?: readonly Column<LoggedRequest>[];
  /** Additional filters. */
  readonly children?: ReactNode;
}

/** Shows the request log of an account in one environment, or of the service. */
export function RequestLog({ filters, list, keys, keyPage, columns, children }: RequestLogProps) {
  const { t } = useTranslation('requestLog');
  const { pages, rows, live, error, retry, next, refresh } = list;
  const { isFiltered, clear } = filters;
  return (
    <>
      <RequestFilters {...filters} onRepeat={refresh} keys={keys} routes={pages?.[0]?.routes ?? []}>
        {children}
      </RequestFilters>
      <RequestTable
        requests={rows}
        live={live}
        error={error}
        onRetry={retry}
        empty={<NoRequests isFiltered={isFiltered} onClear={clear} />}
        next={next && { ...next, label: isFiltered ? t('searchEarlier') : t('older') }}
        keyPage={keyPage}
        {...(columns && { columns })}
      />
      {isFiltered && <SearchDepth to={pages?.at(-1)?.searched_back_to ?? null} />}
    </>
  );
}

/** Returns the sentences about what the log contains. */
export function useLogDescription(): string {
  const { t } = useTranslation('requestLog');
  const { requestLogSuccessesPerSecond: successes, requestLogDaysKept: days } = LIMITS;
  return t('description', { successes, days });
}

function NoRequests({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const { t } = useTranslation('requestLog');
  if (!isFiltered)
    return (
      <EmptyState icon={ListX} title={t('empty.title')}>
        {t('empty.text')}
      </EmptyState>
    );
  return (
    <NoMatches
      title={t('empty.filteredTitle')}
      text={t('empty.filteredText')}
      clearLabel={t('filters.clear')}
      onClear={onClear}
    />
  );
}
