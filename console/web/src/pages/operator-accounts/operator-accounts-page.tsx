import { Button, Stack, Text, TextInput } from '@mantine/core';
import { Building2, Plus, Search, SearchX } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { exportAccounts } from '../../../../wire/exports.ts';
import { findAccounts } from '../../../../wire/find-accounts.ts';
import { listAccounts } from '../../../../wire/operator.ts';
import { useRead } from '../../api/hooks.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Badge, StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { LinkDialog, type PersonalLink } from '../team/link-dialog.tsx';
import { CreateForm } from './create-form.tsx';
import { JoinAccount } from './join-account.tsx';

type Account = ValueOf<typeof listAccounts.data>['accounts'][number];

export function OperatorAccountsPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(listAccounts);
  const [search, setSearch] = useState('');
  const [isCreating, setCreating] = useState(false);
  const [link, setLink] = useState<PersonalLink>();
  const isFiltered = search.trim() !== '';
  const accounts = data && findAccounts(data.accounts, search);
  const [only, ...others] = data?.accounts ?? [];
  const actions = (
    <>
      {data !== undefined && data.accounts.length > 0 && (
        <ExportButton
          definition={exportAccounts}
          params={{}}
          filter={{ ...(isFiltered && { search }) }}
          name="accounts"
          isFiltered={isFiltered}
        />
      )}
      <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
        {t('accounts.create')}
      </Button>
    </>
  );
  return (
    <>
      <PageHeader title={t('accounts.title')} description={t('accounts.description')} actions={actions} />
      <Stack gap="md">
        {only !== undefined && others.length === 0 && <JoinAccount account={only} />}
        {(data?.accounts.length ?? 0) > 0 && <SearchField value={search} onChange={setSearch} />}
        <DataTable
          caption={t('accounts.caption')}
          columns={useColumns()}
          rows={accounts}
          rowKey={({ id }) => id}
          to={({ id }) => `/operator/accounts/${encodeURIComponent(id)}`}
          error={error}
          onRetry={refetch}
          empty={<NoAccounts isFiltered={isFiltered} />}
        />
      </Stack>
      <FormDialog opened={isCreating} onClose={() => setCreating(false)} title={t('accounts.createTitle')}>
        <CreateForm onDone={() => setCreating(false)} onLink={setLink} />
      </FormDialog>
      <LinkDialog link={link} onClose={() => setLink(undefined)} />
    </>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function SearchField({ value, onChange }: SearchFieldProps) {
  const { t } = useTranslation('operator');
  return (
    <TextInput
      label={t('accounts.search')}
      placeholder={t('accounts.searchHint')}
      leftSection={<Search size={16} aria-hidden />}
      w={{ base: '100%', xs: 320 }}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
    />
  );
}

function useColumns(): readonly Column<Account>[] {
  const { t } = useTranslation('operator');
  return [
    {
      name: 'name',
      header: t('accounts.columns.name'),
      cell: ({ name }) => <Name name={name} />,
    },
    {
      name: 'status',
      header: t('accounts.columns.status'),
      cell: ({ status, is_altered }) => <StatusBadge status={is_altered ? 'altered' : status} />,
    },
    {
      name: 'payments',
      header: t('accounts.columns.payments'),
      visibleFrom: 'md',
      cell: (account) => <Processors {...account} />,
    },
    {
      name: 'people',
      header: t('accounts.columns.people'),
      isNumber: true,
      visibleFrom: 'lg',
      cell: ({ people }) => people,
    },
    {
      name: 'requests',
      header: t('accounts.columns.requests'),
      cell: ({ open_requests: count }) => <OpenRequests count={count} />,
    },
    {
      name: 'created',
      header: t('accounts.columns.created'),
      visibleFrom: 'md',
      cell: ({ created_at }) => <Time value={created_at} isDay />,
    },
  ];
}

function Processors({ production_processor, sandbox_processor }: Account) {
  const { t } = useTranslation('operator');
  if (production_processor !== null) return <Badge tone="good">{production_processor}</Badge>;
  if (sandbox_processor !== null)
    return <Badge tone="quiet">{`${t('environment.sandbox')}: ${sandbox_processor}`}</Badge>;
  return (
    <Text span size="sm" c="dimmed">
      {t('accounts.none')}
    </Text>
  );
}

function NoAccounts({ isFiltered }: { readonly isFiltered: boolean }) {
  const { t } = useTranslation('operator');
  return isFiltered ? (
    <EmptyState icon={SearchX} title={t('accounts.notFoundTitle')}>
      {t('accounts.notFoundText')}
    </EmptyState>
  ) : (
    <EmptyState icon={Building2} title={t('accounts.emptyTitle')}>
      {t('accounts.emptyText')}
    </EmptyState>
  );
}

const Name = ({ name }: { readonly name: string }) => (
  <Text span inherit display="block" maw={280} truncate title={name}>
    {name}
  </Text>
);

function OpenRequests({ count }: { readonly count: number }) {
  const { t } = useTranslation('operator');
  if (count > 0) return <Badge tone="attention">{t('accounts.waiting', { count })}</Badge>;
  return (
    <Text span size="sm" c="dimmed">
      –
    </Text>
  );
}
