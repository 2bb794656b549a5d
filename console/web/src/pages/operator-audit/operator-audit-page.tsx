import { useTranslation } from 'react-i18next';
import { exportServiceAudit, listServiceAudit, verifyServiceAudit } from '../../../../wire/audit.ts';
import { exportServiceAuditRecords } from '../../../../wire/exports.ts';
import { listAccounts } from '../../../../wire/operator.ts';
import { buildPath } from '../../api/call.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { ExportButton } from '../../parts/export-button.tsx';
import { ChoiceFilter } from '../../parts/filter-form.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { AuditLog } from '../audit/audit-log.tsx';
import { AUDIT_ROWS } from '../audit/audit-table.tsx';
import { toAuditQuery, useAuditFilters } from '../audit/filters.ts';

export function OperatorAuditPage() {
  const { t } = useTranslation('audit');
  const filters = useAuditFilters();
  const { values, apply } = filters;
  const sort = useSortOrder();
  const body = { ...toAuditQuery(values, useTimeZone()), ...toOrderField(sort.order) };
  const list = useReadPages(listServiceAudit, { body }, AUDIT_ROWS);
  const verify = useChange(verifyServiceAudit);
  const accounts = useRead(listAccounts);
  const { account } = values;
  return (
    <AuditLog
      title={t('serviceTitle')}
      description={t('serviceDescription')}
      filters={filters}
      list={list}
      sort={sort}
      verify={verify}
      onVerify={() => verify.mutate({})}
      actions={
        <ExportButton
          definition={exportServiceAuditRecords}
          params={{}}
          filter={body}
          name="audit"
          isFiltered={filters.isFiltered}
        />
      }
      exportHint={account === '' ? t('exportEverythingHint') : t('exportHint')}
      exportPath={buildPath(exportServiceAudit, {}, account === '' ? {} : { account })}
    >
      <ChoiceFilter
        label={t('filters.account')}
        placeholder={t('filters.noAccount')}
        w={{ base: '100%', xs: 230 }}
        searchable
        data={(accounts.data?.accounts ?? []).map(({ id, name }) => ({ value: id, label: `${name} (${id})` }))}
        value={account}
        onChoose={(chosen) => apply({ ...values, account: chosen })}
      />
    </AuditLog>
  );
}
