import { Skeleton, Stack, Title } from '@mantine/core';
import { Inbox } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { listActivationRequests } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { NewRows, useHeldRows } from '../../parts/held-rows.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { type AccountRequest, type Decision, RequestCard } from './request-card.tsx';
import { RequestDialogs, useRequestDialog } from './request-dialogs.tsx';

export function OperatorRequestsPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(
    listActivationRequests,
    {},
    { refetchIntervalMs: LIST_POLL_MS, refetchOnMount: true },
  );
  const dialog = useRequestDialog();
  const requests = data?.requests ?? [];
  const pending = requests.filter(({ request }) => request.status === 'requested');
  const past = requests.filter(({ request }) => request.status !== 'requested');
  const decide = (decision: Decision, item: AccountRequest): void => dialog.open({ decision, item });
  return (
    <>
      <PageHeader title={t('requests.title')} description={t('requests.description')} />
      {data === undefined && (error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />)}
      {data !== undefined && (
        <Stack gap="xl">
          {pending.length === 0 ? (
            <EmptyState icon={Inbox} title={t('requests.emptyTitle')}>
              {t('requests.emptyText')}
            </EmptyState>
          ) : (
            <Cards title={t('requests.open')} requests={pending} onDecide={decide} />
          )}
          {past.length > 0 && <Cards title={t('requests.past')} requests={past} onDecide={decide} />}
        </Stack>
      )}
      <RequestDialogs {...dialog} />
    </>
  );
}

interface CardsProps {
  readonly title: string;
  readonly requests: readonly AccountRequest[];
  readonly onDecide: (decision: Decision, item: AccountRequest) => void;
}

function Cards({ title, requests, onDecide }: CardsProps) {
  const live = { version: title, isDeep: false };
  const { frame, rows, news } = useHeldRows(requests, { live, key: ({ request }) => request.id });
  return (
    <Stack component="section" gap="md" ref={frame} tabIndex={-1}>
      <NewRows {...news} />
      <Title order={2}>{title}</Title>
      {rows?.map((item) => (
        <RequestCard key={item.request.id} item={item} onDecide={(decision) => onDecide(decision, item)} />
      ))}
    </Stack>
  );
}

const Skeletons = () => (
  <Stack gap="md" aria-hidden>
    <Skeleton height={150} />
    <Skeleton height={150} />
  </Stack>
);
