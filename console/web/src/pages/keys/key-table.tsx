import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PERMISSIONS } from '../../../../../src/accounts/permission.ts';
import type { CallError } from '../../api/call.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Badge, StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import type { ListedKey } from './key-values.ts';
import classes from './keys.module.css';

interface KeyTableProps {
  /** Changes with the tenant. */
  readonly version: string;
  readonly keys: readonly ListedKey[] | undefined;
  readonly error: CallError | null;
  readonly onRetry: () => void;
  readonly empty: ReactNode;
}

function useColumns(): readonly Column<ListedKey>[] {
  const { t } = useTranslation('keys');
  return [
    {
      name: 'name',
      header: t('list.name'),
      cell: (key) => <Name {...key} />,
    },
    { name: 'state', header: t('list.state'), cell: ({ state }) => <StatusBadge status={state} /> },
    { name: 'permissions', header: t('list.permissions'), visibleFrom: 'lg', cell: (key) => <Permissions {...key} /> },
    { name: 'addresses', header: t('list.addresses'), visibleFrom: 'sm', cell: (key) => <Networks {...key} /> },
    {
      name: 'created',
      header: t('detail.made'),
      visibleFrom: 'lg',
      cell: ({ created_at }) => <Time value={created_at} isDay />,
    },
    {
      name: 'used',
      header: t('list.used'),
      visibleFrom: 'sm',
      cell: ({ last_used_at }) => <Time value={last_used_at} none={t('list.notUsed')} />,
    },
    {
      name: 'expires',
      header: t('list.expires'),
      visibleFrom: 'md',
      cell: ({ expires_at, revoked_at }) =>
        revoked_at === null ? <Time value={expires_at} isDay none={t('list.never')} /> : <Time value={null} />,
    },
  ];
}

export function KeyTable({ version, keys, error, onRetry, empty }: KeyTableProps) {
  const { t } = useTranslation('keys');
  return (
    <DataTable
      caption={t('list.caption')}
      columns={useColumns()}
      rows={keys}
      live={{ version, isDeep: false }}
      rowKey={({ id }) => id}
      to={({ id }) => `?key=${encodeURIComponent(id)}`}
      {...{ error, onRetry, empty }}
    />
  );
}

const Name = ({ name, prefix }: ListedKey) => (
  <>
    <span className={classes['name']} title={name}>
      {name}
    </span>
    <Text span size="xs" c="dimmed" ff="monospace">
      {prefix}…
    </Text>
  </>
);

function Permissions({ permissions }: ListedKey) {
  const { t } = useTranslation('keys');
  const total = PERMISSIONS.length;
  const isAll = permissions.length === total;
  return (
    <span title={permissions.join(', ')}>
      {isAll ? t('list.all') : t('list.count', { count: permissions.length, total })}
    </span>
  );
}

/** An empty allow-list is highlighted only while the key is active. */
function Networks({ networks, state }: ListedKey) {
  const { t } = useTranslation('keys');
  const isInactive = state === 'revoked' || state === 'expired';
  if (networks > 0 || isInactive) return networks;
  return (
    <Badge tone="attention" title={t('detail.addressesNone')}>
      {t('list.noAddress')}
    </Badge>
  );
}
