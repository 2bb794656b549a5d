import { ListX } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import type { listRequests } from '../../../../wire/request-log.ts';
import type { ReadList } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { SearchedTable } from '../../parts/searched-table.tsx';
import type { useSortOrder } from '../../parts/sort-order.ts';
import type { useRequestFilters } from './filters.ts';
import { type KeyChoice, RequestFilters } from './request-filters.tsx';
import { type LoggedRequest, type RequestTableOptions, useRequestTable } from './request-table.tsx';

interface RequestLogProps extends RequestTableOptions {
  readonly filters: ReturnType<typeof useRequestFilters>;
  readonly list: ReadList<ValueOf<typeof listRequests.data>, LoggedRequest>;
  readonly sort: ReturnType<typeof useSortOrder>;
  readonly keys: readonly KeyChoice[];
  /** Additional filters. */
  readonly children?: ReactNode;
}

/** Shows the request log of an account in one environment, or of the service. */
export function RequestLog({ filters, list, sort, keys, children, ...table }: RequestLogProps) {
  const { t } = useTranslation('requestLog');
  const texts = t('empty', { returnObjects: true });
  return (
    <>
      <RequestFilters {...filters} onRepeat={list.refresh} keys={keys} routes={list.pages?.[0]?.routes ?? []}>
        {children}
      </RequestFilters>
      <SearchedTable
        {...useRequestTable(table)}
        list={list}
        filters={filters}
        sort={{ column: 'at', ...sort }}
        texts={texts}
        empty={
          <EmptyState icon={ListX} title={texts.title}>
            {texts.text}
          </EmptyState>
        }
      />
    </>
  );
}

/** Returns the sentences about what the log contains. */
export function useLogDescription(): string {
  const { t } = useTranslation('requestLog');
  const { requestLogSuccessesPerSecond: successes, requestLogDaysKept: days } = LIMITS;
  return t('description', { successes, days });
}
