import { Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listActivationRequests } from '../../../../wire/onboarding.ts';
import { Details } from '../../parts/details.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';

export type AccountRequest = ValueOf<typeof listActivationRequests.data>['requests'][number];
export type Decision = 'approve' | 'decline';

interface RequestCardProps {
  readonly item: AccountRequest;
  readonly onDecide: (decision: Decision) => void;
  /** True on the page of the account, which needs no link to itself. */
  readonly isOnAccountPage?: boolean;
}

export function RequestCard({ item, onDecide, isOnAccountPage = false }: RequestCardProps) {
  const { t } = useTranslation('operator');
  const id = useId();
  const { request, account_name } = item;
  const { environment, processor, status, requested_by, created_at } = request;
  return (
    <Paper component="article" withBorder p="md" aria-labelledby={id}>
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <Group gap="sm">
            <Text id={id} fw={600}>
              {isOnAccountPage ? processor : `${account_name}: ${processor}`}
            </Text>
            <EnvironmentBadge environment={environment} />
          </Group>
          <StatusBadge status={status} />
        </Group>
        <Group gap="0 8px" fz="sm" c="dimmed">
          <span>{t('requests.askedBy', { name: requested_by })}</span>
          <Time value={created_at} isRelative />
        </Group>
        <Notes request={request} />
        <Group justify="space-between" gap="sm">
          {isOnAccountPage ? (
            <span />
          ) : (
            <Anchor component={Link} to={`/operator/accounts/${encodeURIComponent(item.account)}`} size="sm">
              {t('requests.toAccount')}
            </Anchor>
          )}
          {status === 'requested' && <Buttons name={account_name} onDecide={onDecide} />}
        </Group>
      </Stack>
    </Paper>
  );
}

function Notes({ request }: Pick<AccountRequest, 'request'>) {
  const { t } = useTranslation('operator');
  const { note, decision_note, decided_by: name, decided_at } = request;
  if (note === '' && decision_note === '' && name === null) return null;
  return (
    <Details
      items={[
        note === '' ? undefined : { label: t('requests.note'), value: note },
        decision_note === '' ? undefined : { label: t('requests.decisionNote'), value: decision_note },
        name === null ? undefined : { label: t('requests.decidedBy', { name }), value: <Time value={decided_at} /> },
      ]}
    />
  );
}

function Buttons({ name, onDecide }: { readonly name: string } & Pick<RequestCardProps, 'onDecide'>) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="xs">
      <Button
        variant="default"
        onClick={() => onDecide('decline')}
        aria-label={t('requests.declineTitle', { account: name })}
      >
        {t('requests.decline')}
      </Button>
      <Button onClick={() => onDecide('approve')} aria-label={t('requests.approveTitle', { account: name })}>
        {t('requests.approve')}
      </Button>
    </Group>
  );
}
