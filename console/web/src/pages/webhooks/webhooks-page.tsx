import { Button } from '@mantine/core';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { listWebhooks } from '../../../../wire/webhooks.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useCan, useMembership, useTenant } from '../../session/tenant.ts';
import { CreateWebhook } from './create-webhook.tsx';
import type { Webhook } from './webhook-values.ts';

/** Where events are sent. The address holds what is open: `?create=1`. */
export function WebhooksPage() {
  const { t } = useTranslation('webhooks');
  const params = useTenant();
  const mayWrite = useCan()('webhooks:write');
  const isSuspended = useMembership().status === 'suspended';
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useRead(
    listWebhooks,
    { params: { ...params } },
    { refetchIntervalMs: LIST_POLL_MS },
  );
  const hasWebhooks = data !== undefined && data.webhooks.length > 0;
  const button = mayWrite && (
    <Button
      leftSection={<Plus size={16} aria-hidden />}
      disabled={isSuspended}
      onClick={() => setSearch({ create: '1' })}
    >
      {t('create')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={hasWebhooks && button} />
      <DataTable
        caption={t('title')}
        columns={useColumns()}
        rows={data?.webhooks}
        rowKey={({ id }) => id}
        to={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <EmptyState icon={WebhookIcon} title={t('empty.title')} action={button}>
            {t('empty.text')}
          </EmptyState>
        }
      />
      <CreateWebhook
        opened={mayWrite && !isSuspended && data !== undefined && search.has('create')}
        onClose={() => setSearch({})}
      />
    </>
  );
}

function useColumns(): readonly Column<Webhook>[] {
  const { t } = useTranslation('webhooks');
  return [
    { name: 'url', header: t('list.url'), cell: ({ url }) => url },
    {
      name: 'state',
      header: t('list.state'),
      cell: ({ state }) => <StatusBadge status={state === 'enabled' ? 'active' : 'disabled'} />,
    },
    { name: 'events', header: t('list.events'), visibleFrom: 'lg', cell: (webhook) => <Events {...webhook} /> },
    {
      name: 'last',
      header: t('list.last'),
      visibleFrom: 'sm',
      cell: ({ last_attempt_at }) => <Time value={last_attempt_at} none={t('list.never')} />,
    },
    {
      name: 'error',
      header: t('list.error'),
      visibleFrom: 'md',
      cell: ({ last_error }) => (last_error === null ? '' : t(`error.${last_error}`)),
    },
  ];
}

function Events({ events }: Webhook) {
  const { t } = useTranslation('webhooks');
  return <>{events.includes('*') ? t('list.all') : t('list.count', { count: events.length })}</>;
}
