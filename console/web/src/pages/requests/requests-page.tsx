import { useTranslation } from 'react-i18next';
import { exportRequests } from '../../../../wire/exports.ts';
import { listKeys } from '../../../../wire/keys.ts';
import { listRequests } from '../../../../wire/request-log.ts';
import { useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { ExportButton } from '../../parts/export-button.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
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
  const body = toRequestQuery({ ...filters.values, account: '', environment: '' }, useTimeZone());
  const list = useReadPages(listRequests, { params, body }, REQUEST_ROWS);
  const keys = useRead(listKeys, { params });
  return (
    <>
      <PageHeader
        title={t('title')}
        description={useLogDescription()}
        hasTimes
        actions={
          <>
            <SavedViews list="requests" values={filters.values} onApply={filters.applyView} />
            <ExportButton
              definition={exportRequests}
              params={params}
              filter={body}
              name={`requests-${environment}`}
              isFiltered={filters.isFiltered}
            />
          </>
        }
      />
      <RequestLog
        filters={filters}
        list={list}
        keys={keys.data?.keys ?? []}
        keyPage={(id) => `/a/${account}/${environment}/keys?key=${encodeURIComponent(id)}`}
      />
    </>
  );
}
