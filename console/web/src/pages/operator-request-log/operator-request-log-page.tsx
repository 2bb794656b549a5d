import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import { exportAllRequests } from '../../../../wire/exports.ts';
import { listAccounts } from '../../../../wire/operator.ts';
import { listAllRequests } from '../../../../wire/request-log.ts';
import { useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import type { Column } from '../../parts/data-table.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { ChoiceFilter } from '../../parts/filter-form.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { isEnvironment } from '../../session/tenant.ts';
import { toRequestQuery, useRequestFilters } from '../requests/filters.ts';
import { RequestLog, useLogDescription } from '../requests/request-log.tsx';
import { type LoggedRequest, REQUEST_ROWS } from '../requests/request-table.tsx';

/** The value of the account filter for requests of an unknown account. */
const NO_ACCOUNT = 'none';

export function OperatorRequestLogPage() {
  const { t } = useTranslation('requestLog');
  const { t: partsText } = useTranslation('parts');
  const filters = useRequestFilters();
  const { values, apply } = filters;
  const sort = useSortOrder();
  const body = { ...toRequestQuery(values, useTimeZone()), ...toOrderField(sort.order) };
  const list = useReadPages(listAllRequests, { body }, REQUEST_ROWS);
  const accounts = useRead(listAccounts).data?.accounts ?? [];
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  return (
    <>
      <PageHeader
        title={t('title')}
        description={`${t('allAccounts')} ${useLogDescription()}`}
        hasTimes
        actions={
          <ExportButton
            definition={exportAllRequests}
            params={{}}
            filter={body}
            name="requests"
            isFiltered={filters.isFiltered}
          />
        }
      />
      <RequestLog filters={filters} list={list} sort={sort} keys={listSeenKeys(list.pages)} columns={useColumns(names)}>
        <ChoiceFilter
          label={t('filters.account')}
          searchable
          data={[
            { value: NO_ACCOUNT, label: t('unknownAccount') },
            ...accounts.map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
          ]}
          value={values.account}
          onChoose={(account) => apply({ ...values, account })}
        />
        <ChoiceFilter
          label={t('filters.environment')}
          searchable
          data={ENVIRONMENTS.map((value) => ({ value, label: partsText(value) }))}
          value={values.environment}
          onChoose={(environment) => apply({ ...values, environment })}
        />
      </RequestLog>
    </>
  );
}

/** An operator has no list of the keys of all accounts, so those of the shown requests can be chosen. */
const listSeenKeys = (pages: readonly { readonly requests: readonly LoggedRequest[] }[] | undefined) =>
  (pages ?? [])
    .flatMap(({ requests }) => requests.flatMap(({ api_key }) => api_key ?? []))
    .map(({ id, name }) => ({ id, name: name ?? id }));

function useColumns(names: ReadonlyMap<string, string>): readonly Column<LoggedRequest>[] {
  const { t } = useTranslation('requestLog');
  return [
    {
      name: 'account',
      header: t('columns.account'),
      visibleFrom: 'md',
      cell: ({ account, environment }) => (
        <>
          <Text span size="sm" display="block" c={account === null ? 'dimmed' : ''}>
            {account === null ? t('unknownAccount') : (names.get(account) ?? account)}
          </Text>
          {isEnvironment(environment) && <EnvironmentBadge environment={environment} />}
        </>
      ),
    },
  ];
}
