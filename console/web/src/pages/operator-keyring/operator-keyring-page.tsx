import { Progress, Stack, Text } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { listAccounts, showKeyring } from '../../../../wire/operator.ts';
import { useRead } from '../../api/hooks.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { formatNumber } from '../../parts/number.ts';
import { PageHeader } from '../../parts/page-header.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { isEnvironment } from '../../session/tenant.ts';

type Key = ValueOf<typeof showKeyring.data>['keys'][number];

export function OperatorKeyringPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(showKeyring);
  return (
    <>
      <PageHeader title={t('keyring.title')} description={t('keyring.description')} />
      <DataTable
        caption={t('keyring.caption')}
        columns={useColumns()}
        rows={data?.keys}
        rowKey={({ account, environment, purpose }) => `${account}/${environment}/${purpose}`}
        error={error}
        onRetry={refetch}
        empty={
          <EmptyState icon={KeyRound} title={t('keyring.emptyTitle')}>
            {t('keyring.emptyText')}
          </EmptyState>
        }
      />
    </>
  );
}

function useColumns(): readonly Column<Key>[] {
  const { t, i18n } = useTranslation('operator');
  const names = useAccountNames();
  return [
    {
      name: 'purpose',
      header: t('keyring.columns.purpose'),
      cell: ({ purpose }) => <Purpose purpose={purpose} />,
    },
    {
      name: 'scope',
      header: t('keyring.columns.scope'),
      cell: ({ account }) => <Scope account={account} name={names.get(account)} />,
    },
    {
      name: 'environment',
      header: t('keyring.columns.environment'),
      cell: ({ environment }) =>
        isEnvironment(environment) ? (
          <EnvironmentBadge environment={environment} />
        ) : (
          <Badge tone="quiet">{t('environment.service')}</Badge>
        ),
    },
    { name: 'used', header: t('keyring.columns.used'), cell: (key) => <Usage {...key} />, width: 200 },
    {
      name: 'versions',
      header: t('keyring.columns.versions'),
      isNumber: true,
      visibleFrom: 'md',
      cell: ({ versions }) => formatNumber(versions, i18n.language),
    },
    {
      name: 'newest',
      header: t('keyring.columns.newest'),
      visibleFrom: 'lg',
      cell: ({ newest_at }) => <Time value={newest_at} isDay />,
    },
  ];
}

/** Returns account names by id. */
function useAccountNames(): ReadonlyMap<string, string> {
  const { data } = useRead(listAccounts);
  return new Map((data?.accounts ?? []).map(({ id, name }) => [id, name]));
}

function usePurposeText(): (purpose: string) => string {
  const { t, i18n } = useTranslation('operator');
  return (purpose) => {
    const key = `keyring.purpose.${purpose}`;
    return i18n.exists(`operator:${key}`) ? t(key as 'keyring.purpose.tokens') : purpose;
  };
}

function Purpose({ purpose }: Pick<Key, 'purpose'>) {
  const purposeText = usePurposeText();
  return (
    <Stack gap={0}>
      <Text span size="sm" fw={500}>
        {purposeText(purpose)}
      </Text>
      <Text span size="xs" c="dimmed" ff="monospace">
        {purpose}
      </Text>
    </Stack>
  );
}

function Scope({ account, name }: { readonly account: string; readonly name: string | undefined }) {
  const { t } = useTranslation('operator');
  if (account === '') {
    return (
      <Text span size="sm" c="dimmed">
        {t('keyring.whole')}
      </Text>
    );
  }
  return (
    <Text span size="sm" title={account}>
      {name ?? account}
    </Text>
  );
}

const MIN_SHOWN_SHARE = 0.001;

function Usage({ used, limit, purpose }: Key) {
  const { t, i18n } = useTranslation('operator');
  if (limit === 0) return null;
  const share = used / limit;
  const percentOf = (each: number): string =>
    formatNumber(each, i18n.language, { style: 'percent', maximumFractionDigits: 1 });
  // Uses are reserved in blocks, so a small share only means that the key exists.
  const percent =
    share > 0 && share < MIN_SHOWN_SHARE
      ? t('keyring.under', { percent: percentOf(MIN_SHOWN_SHARE) })
      : percentOf(share);
  const shownLimit = formatNumber(limit, i18n.language, { notation: 'compact' });
  return (
    <Stack gap={4}>
      <Progress.Root size="sm">
        <Progress.Section
          // Screen readers cannot read powers of ten, so the value is rounded.
          value={Math.round(share * 10_000) / 100}
          color={share > 0.9 ? 'yellow' : 'ink'}
          aria-label={`${purpose}: ${t('keyring.usedLabel', { percent })}`}
        />
      </Progress.Root>
      <Text span size="xs" c="dimmed">
        {t('keyring.usedValue', { percent, limit: shownLimit })}
      </Text>
    </Stack>
  );
}
