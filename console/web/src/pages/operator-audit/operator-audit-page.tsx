import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { exportServiceAudit, listServiceAudit, verifyServiceAudit } from '../../../../wire/audit.ts';
import { listAccounts } from '../../../../wire/operator.ts';
import { buildPath } from '../../api/call.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { AuditLog } from '../audit/audit-log.tsx';
import { AUDIT_ROWS } from '../audit/audit-table.tsx';
import { toAuditQuery, useAuditFilters } from '../audit/filters.ts';

export function OperatorAuditPage() {
  const { t } = useTranslation('audit');
  const filters = useAuditFilters();
  const { values, apply } = filters;
  const list = useReadPages(listServiceAudit, { body: toAuditQuery(values, useTimeZone()) }, AUDIT_ROWS);
  const verify = useChange(verifyServiceAudit);
  const accounts = useRead(listAccounts);
  const { account } = values;
  return (
    <AuditLog
      title={t('serviceTitle')}
      description={t('serviceDescription')}
      filters={filters}
      list={list}
      verify={verify}
      onVerify={() => verify.mutate({})}
      exportHint={account === '' ? t('exportEverythingHint') : t('exportHint')}
      exportPath={buildPath(exportServiceAudit, {}, account === '' ? {} : { account })}
    >
      <Select
        label={t('filters.account')}
        placeholder={t('filters.noAccount')}
        w={{ base: '100%', xs: 230 }}
        clearable
        searchable
        data={(accounts.data?.accounts ?? []).map(({ id, name }) => ({ value: id, label: `${name} (${id})` }))}
        value={account || null}
        onChange={(chosen) => apply({ ...values, account: chosen ?? '' })}
      />
    </AuditLog>
  );
}
