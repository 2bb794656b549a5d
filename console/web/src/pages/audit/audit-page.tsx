import { useTranslation } from 'react-i18next';
import { exportAudit, listAudit, verifyAudit } from '../../../../wire/audit.ts';
import { exportAuditRecords } from '../../../../wire/exports.ts';
import { buildPath } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { ListActions } from '../../parts/list-actions.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { useMembership } from '../../session/tenant.ts';
import { AuditLog } from './audit-log.tsx';
import { AUDIT_ROWS } from './audit-table.tsx';
import { toAuditQuery, useAuditFilters } from './filters.ts';

export function AuditPage() {
  const { t } = useTranslation('audit');
  const { account } = useMembership();
  const filters = useAuditFilters();
  const params = { account };
  const sort = useSortOrder();
  const body = { ...toAuditQuery({ ...filters.values, account: '' }, useTimeZone()), ...toOrderField(sort.order) };
  const list = useReadPages(listAudit, { params, body }, AUDIT_ROWS);
  const verify = useChange(verifyAudit);
  return (
    <AuditLog
      title={t('title')}
      description={t('description')}
      filters={filters}
      list={list}
      sort={sort}
      verify={verify}
      onVerify={() => verify.mutate({ params })}
      actions={
        <ListActions
          list="audit"
          filters={filters}
          definition={exportAuditRecords}
          params={params}
          filter={body}
          name="audit"
        />
      }
      exportHint={t('exportHint')}
      exportPath={buildPath(exportAudit, params)}
    />
  );
}
