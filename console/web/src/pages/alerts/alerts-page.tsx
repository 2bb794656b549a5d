import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { BellOff } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { listAlerts, markAlertsSeen } from '../../../../wire/alerts.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time, useFormatTime } from '../../parts/time.tsx';
import { type ListedAlert, toAddress } from './alert-address.ts';
import { MailsPanel } from './mails-panel.tsx';

const REFRESH_MS = 60_000;

/** Lists the alerts of all accounts of the user. */
export function AlertsPage() {
  const { t } = useTranslation('alerts');
  const { data, error, refetch } = useRead(listAlerts, {}, { refetchIntervalMs: REFRESH_MS, refetchOnMount: true });
  const change = useChange(markAlertsSeen);
  const markSeen = (alerts: readonly string[]): void => change.mutate({ body: { alerts: [...alerts] } });
  const notSeen = data?.alerts.filter(({ is_seen }) => !is_seen).map(({ id }) => id) ?? [];
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        hasTimes
        actions={
          notSeen.length > 1 && (
            <Button variant="default" loading={change.isPending} onClick={() => markSeen(notSeen)}>
              {t('markAll')}
            </Button>
          )
        }
      />
      <Stack gap="xl">
        <DataTable
          caption={t('list')}
          rows={data?.alerts}
          rowKey={({ id }) => id}
          error={error}
          onRetry={() => void refetch()}
          empty={
            <EmptyState icon={BellOff} title={t('empty.title')}>
              {t('empty.text')}
            </EmptyState>
          }
          columns={[
            { name: 'alert', header: t('columns.alert'), cell: (alert) => <Sentence alert={alert} /> },
            {
              name: 'severity',
              header: t('columns.severity'),
              cell: ({ severity }) => <SeverityBadge {...{ severity }} />,
            },
            { name: 'account', header: t('columns.account'), cell: (alert) => <AccountCell alert={alert} /> },
            { name: 'since', header: t('columns.since'), cell: ({ since }) => <Time value={since} /> },
            {
              name: 'action',
              header: t('columns.action'),
              isHeaderHidden: true,
              cell: ({ id, is_seen }) =>
                is_seen ? (
                  <Text size="sm" c="dimmed">
                    {t('seen')}
                  </Text>
                ) : (
                  <Button size="xs" variant="subtle" onClick={() => markSeen([id])}>
                    {t('markSeen')}
                  </Button>
                ),
            },
          ]}
        />
        <MailsPanel />
      </Stack>
    </>
  );
}

function Sentence({ alert }: { readonly alert: ListedAlert }) {
  const { t } = useTranslation('alerts');
  const formatTime = useFormatTime();
  const { kind, number, label, expires_at, is_seen } = alert;
  const date = expires_at === null ? '' : formatTime(expires_at, 'day');
  return (
    <Anchor component={Link} to={toAddress(alert)} inherit fw={is_seen ? 400 : 600}>
      {t(`kind.${kind}`, { count: number, label, date })}
    </Anchor>
  );
}

function SeverityBadge({ severity }: Pick<ListedAlert, 'severity'>) {
  const { t } = useTranslation('alerts');
  return <Badge tone={severity === 'high' ? 'bad' : 'attention'}>{t(`severity.${severity}`)}</Badge>;
}

function AccountCell({ alert: { account, account_name, environment } }: { readonly alert: ListedAlert }) {
  const { t } = useTranslation('alerts');
  return (
    <Group gap="xs">
      <span>{account === '' ? t('service') : account_name}</span>
      {environment !== null && <EnvironmentBadge environment={environment} />}
    </Group>
  );
}
