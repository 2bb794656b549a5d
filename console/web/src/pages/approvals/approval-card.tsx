import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useActionName } from './action-name.ts';
import type { Approval } from './approval.ts';
import type { Decision } from './decision-dialog.tsx';
import { ExpandableSummary } from './full-summary.tsx';
import { formatPersonLabel } from './person-label.ts';

interface ApprovalCardProps {
  readonly approval: Approval;
  readonly onDecide: (decision: Decision, approval: Approval) => void;
}

export function ApprovalCard({ approval, onDecide }: ApprovalCardProps) {
  const { t } = useTranslation('approvals');
  const actionName = useActionName();
  const id = useId();
  const { environment, action, status, requested_by, is_yours, by_operator, decided_by } = approval;
  const requester = formatPersonLabel(requested_by, approval.requested_by_email);
  const approver = formatPersonLabel(decided_by, approval.decided_by_email);
  return (
    <Paper component="article" withBorder p={{ base: 'md', sm: 'lg' }} aria-labelledby={id}>
      <Stack gap="sm">
        <Group justify="space-between" gap="sm">
          <Group gap="sm">
            <Text id={id} fw={600}>
              {actionName(action)}
            </Text>
            <EnvironmentBadge environment={environment} />
          </Group>
          <StatusBadge status={status} />
        </Group>
        <Text size="sm" c="dimmed" component="div">
          {is_yours ? t('askedByYou') : t(by_operator ? 'askedByOperator' : 'askedBy', { name: requester })}
          {' · '}
          <Time value={approval.created_at} />
          {decided_by !== null && ` · ${t('decidedBy', { name: approver })}`}
        </Text>
        <ExpandableSummary approval={approval} />
        <Buttons approval={approval} onDecide={onDecide} />
      </Stack>
    </Paper>
  );
}

function Buttons({ approval, onDecide }: ApprovalCardProps) {
  const { t } = useTranslation('approvals');
  const actionName = useActionName();
  const { status, is_yours, may_decide, action, expires_at } = approval;
  if (status !== 'waiting' && status !== 'approved') return null;
  const button = (decision: Decision, isMain: boolean) => (
    <Button
      size="sm"
      variant={isMain ? 'filled' : 'default'}
      onClick={() => onDecide(decision, approval)}
      aria-label={`${t(`${decision}.button`)}: ${actionName(action)}`}
    >
      {t(`${decision}.button`)}
    </Button>
  );
  return (
    <Group justify="space-between" gap="sm">
      <Text size="sm" c="dimmed" component="div">
        {status === 'waiting' && !may_decide && `${t('waitsForOther')} `}
        {t('ends')} <Time value={expires_at} />
      </Text>
      <Group gap="xs">
        {may_decide && button('decline', false)}
        {may_decide && button('approve', true)}
        {is_yours && button('withdraw', false)}
        {is_yours && status === 'approved' && button('execute', true)}
      </Group>
    </Group>
  );
}
