import { useTranslation } from 'react-i18next';
import { exportRequests } from '../../../../wire/exports.ts';
import { listKeys } from '../../../../wire/keys.ts';
import { listRequests } from '../../../../wire/request-log.ts';
import { useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { ListActions } from '../../parts/list-actions.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { useTenant } from '../../session/tenant.ts';
import { toRequestQuery, useRequestFilters } from './filters.ts';
import { RequestLog, useLogDescription } from './request-log.tsx';
import { REQUEST_ROWS } from './request-table.tsx';

export function RequestsPage() {
  const { t } = useTranslation('requestLog');
  const { account, environment } = useTenant();
  const filters = useRequestFilters();
  const params = { account, environment };
  const sort = useSortOrder();
  const query = toRequestQuery({ ...filters.values, account: '', environment: '' }, useTimeZone());
  const body = { ...query, ...toOrderField(sort.order) };
  const list = useReadPages(listRequests, { params, body }, REQUEST_ROWS);
  const keys = useRead(listKeys, { params });
  return (
    <>
      <PageHeader
        title={t('title')}
        description={useLogDescription()}
        hasTimes
        actions={
          <ListActions
            list="requests"
            filters={filters}
            definition={exportRequests}
            params={params}
            filter={body}
            name={`requests-${environment}`}
          />
        }
      />
      <RequestLog
        filters={filters}
        list={list}
        sort={sort}
        keys={keys.data?.keys ?? []}
        keyPage={(id) => `/a/${account}/${environment}/keys?key=${encodeURIComponent(id)}`}
      />
    </>
  );
}
