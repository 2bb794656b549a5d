import { Alert, Button, NativeSelect, Skeleton, Stack } from '@mantine/core';
import { CircleAlert, Inbox, SearchX } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../../../src/webhooks/webhook.ts';
import { listDeliveries, replayDelivery, showEvent } from '../../../../wire/webhooks.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { useReadPages } from '../../api/pages.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Details } from '../../parts/details.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge, StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import type { Delivery, Webhook } from '../webhooks/webhook-values.ts';
import { WebhookActions } from './webhook-actions.tsx';

const ROWS = { rows: 'deliveries', key: ({ event_id }: Delivery) => event_id } as const;
const TONES = { waiting: 'attention', delivered: 'good', failed: 'bad' } as const;

/** One webhook, and the deliveries of the last 30 days. */
export function WebhookPage() {
  const { t } = useTranslation('webhooks');
  const { account, environment } = useTenant();
  const { id = '' } = useParams();
  const params = { account, environment, id };
  const mayWrite = useCan()('webhooks:write');
  const [status, setStatus] = useState<DeliveryStatus | ''>('');
  const [shown, setShown] = useState<string>();
  const columns = useColumns(setShown);
  const list = useReadPages(listDeliveries, { params, query: status === '' ? {} : { status } }, ROWS);
  const webhook = list.pages?.[0]?.webhook;
  const isGone = list.error?.status === 404;
  return (
    <>
      <PageHeader
        title={t('detail.title')}
        back={{ to: `/a/${account}/${environment}/webhooks`, label: t('title') }}
        actions={mayWrite && webhook !== undefined && <WebhookActions webhook={webhook} />}
      />
      <Stack gap="md">
        {isGone && (
          <EmptyState icon={SearchX} title={t('gone.title')}>
            {t('gone.text')}
          </EmptyState>
        )}
        {webhook === undefined ? !isGone && !list.error && <Skeleton height={200} /> : <Facts {...webhook} />}
        {!isGone && (
          <Panel title={t('deliveries.title')}>
            <Stack gap="sm">
              <NativeSelect
                label={t('deliveries.filter')}
                w={220}
                data={[
                  { value: '', label: t('deliveries.any') },
                  ...DELIVERY_STATUSES.map((value) => ({ value, label: t(`deliveries.${value}`) })),
                ]}
                value={status}
                onChange={(event) => setStatus(event.currentTarget.value as DeliveryStatus | '')}
              />
              <DataTable
                caption={t('deliveries.title')}
                columns={columns}
                rows={list.rows}
                rowKey={ROWS.key}
                next={list.next}
                error={list.error}
                onRetry={list.retry}
                empty={
                  <EmptyState icon={Inbox} title={t('deliveries.emptyTitle')} order={3}>
                    {t('deliveries.emptyText')}
                  </EmptyState>
                }
              />
            </Stack>
          </Panel>
        )}
      </Stack>
      <EventDialog params={params} event={shown} mayWrite={mayWrite} onClose={() => setShown(undefined)} />
    </>
  );
}

function Facts({ url, events, description, state, disabled_reason, created_at }: Webhook) {
  const { t } = useTranslation('webhooks');
  return (
    <Panel title={t('detail.facts')}>
      <Stack gap="sm">
        {disabled_reason !== null && (
          <Alert color="yellow" icon={<CircleAlert size={18} aria-hidden />}>
            {t(`disabled.${disabled_reason}`)}
          </Alert>
        )}
        <Details
          items={[
            { label: t('list.url'), value: url },
            { label: t('list.state'), value: <StatusBadge status={state === 'enabled' ? 'active' : 'disabled'} /> },
            { label: t('list.events'), value: events.includes('*') ? t('list.all') : events.join(', ') },
            description === null ? undefined : { label: t('form.description'), value: description },
            { label: t('detail.created'), value: <Time value={created_at} /> },
          ]}
        />
      </Stack>
    </Panel>
  );
}

function useColumns(onShow: (event: string) => void): readonly Column<Delivery>[] {
  const { t } = useTranslation('webhooks');
  return [
    { name: 'type', header: t('deliveries.type'), cell: ({ type }) => type },
    {
      name: 'state',
      header: t('list.state'),
      cell: ({ state }) => <Badge tone={TONES[state]}>{t(`deliveries.${state}`)}</Badge>,
    },
    { name: 'created', header: t('deliveries.at'), cell: ({ created_at }) => <Time value={created_at} /> },
    {
      name: 'attempts',
      header: t('deliveries.attempts'),
      isNumber: true,
      visibleFrom: 'sm',
      cell: ({ attempts }) => attempts,
    },
    {
      name: 'response',
      header: t('deliveries.response'),
      visibleFrom: 'sm',
      cell: ({ last_status_code, last_error }) =>
        last_status_code ?? (last_error === null ? '' : t(`error.${last_error}`)),
    },
    {
      name: 'next',
      header: t('deliveries.next'),
      visibleFrom: 'md',
      cell: ({ next_attempt_at }) => <Time value={next_attempt_at} />,
    },
    {
      name: 'show',
      header: t('deliveries.show'),
      isHeaderHidden: true,
      isControl: true,
      cell: ({ event_id, type }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          aria-label={`${t('deliveries.show')}: ${type}`}
          onClick={() => onShow(event_id)}
        >
          {t('deliveries.show')}
        </Button>
      ),
    },
  ];
}

interface EventDialogProps {
  readonly params: { readonly account: string; readonly environment: 'production' | 'sandbox'; readonly id: string };
  readonly event: string | undefined;
  readonly mayWrite: boolean;
  readonly onClose: () => void;
}

/** The body as it is sent, and the button that sends it again. */
function EventDialog({ params, event, mayWrite, onClose }: EventDialogProps) {
  const { t } = useTranslation('webhooks');
  const of = { ...params, event: event ?? '' };
  const { data, error } = useRead(showEvent, { params: of }, { enabled: event !== undefined });
  const replay = useChange(replayDelivery);
  return (
    <FormDialog opened={event !== undefined} onClose={onClose} title={t('event.title')} size="lg">
      {error !== null && <ErrorAlert error={error} />}
      {data !== undefined && <CodeBlock label={t('event.body')} code={data.body} maxHeight={360} isWrapped />}
      {replay.error !== null && <ErrorAlert error={replay.error} />}
      {mayWrite && (
        <Button
          loading={replay.isPending}
          onClick={() =>
            replay.mutate(
              { params: of },
              {
                onSuccess: () => {
                  notifySuccess(t('event.replayed'));
                  onClose();
                },
              },
            )
          }
        >
          {t('event.replay')}
        </Button>
      )}
    </FormDialog>
  );
}
