import { Skeleton, Stack, Title } from '@mantine/core';
import { Inbox } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { listActivationRequests } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { type Asked, type Decision, RequestCard } from './request-card.tsx';
import { RequestDialogs, useRequestDialog } from './request-dialogs.tsx';

export function OperatorRequestsPage() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useRead(listActivationRequests, {}, { anew: true });
  const dialog = useRequestDialog();
  const requests = data?.requests ?? [];
  const open = requests.filter(({ request }) => request.status === 'requested');
  const past = requests.filter(({ request }) => request.status !== 'requested');
  const decide = (decision: Decision, asked: Asked): void => dialog.open({ decision, asked });
  return (
    <>
      <PageHeader title={t('requests.title')} description={t('requests.description')} />
      {data === undefined && (error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />)}
      {data !== undefined && (
        <Stack gap="xl">
          {open.length === 0 ? (
            <EmptyState icon={Inbox} title={t('requests.emptyTitle')}>
              {t('requests.emptyText')}
            </EmptyState>
          ) : (
            <Cards title={t('requests.open')} requests={open} onDecide={decide} />
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
  readonly requests: readonly Asked[];
  readonly onDecide: (decision: Decision, asked: Asked) => void;
}

const Cards = ({ title, requests, onDecide }: CardsProps) => (
  <Stack component="section" gap="md">
    <Title order={2}>{title}</Title>
    {requests.map((asked) => (
      <RequestCard key={asked.request.id} asked={asked} onDecide={(decision) => onDecide(decision, asked)} />
    ))}
  </Stack>
);

const Skeletons = () => (
  <Stack gap="md" aria-hidden>
    <Skeleton height={150} />
    <Skeleton height={150} />
  </Stack>
);
