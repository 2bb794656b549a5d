import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { sumByCurrency } from '../payments/run-batch.ts';
import { useActionName } from './action-name.ts';
import type { Approval } from './approval.ts';
import { type ApprovalGroup, type GroupDecision, groupApprovals } from './decide-each.ts';
import { GroupDialog } from './group-dialog.tsx';
import { formatPersonLabel } from './person-label.ts';

/** Offers one confirmation for the requests that one user made for several payments. */
export function GroupBars({ pending }: { readonly pending: readonly Approval[] }) {
  const dialog = useDialog<{ readonly decision: GroupDecision; readonly group: ApprovalGroup }>();
  const groups = groupApprovals(pending);
  return (
    <>
      {groups.map((group) => (
        <GroupBar key={group.key} group={group} onDecide={(decision) => dialog.open({ decision, group })} />
      ))}
      {dialog.subject !== undefined && (
        <GroupDialog {...dialog.subject} opened={dialog.opened} onClose={dialog.close} />
      )}
    </>
  );
}

interface GroupBarProps {
  readonly group: ApprovalGroup;
  readonly onDecide: (decision: GroupDecision) => void;
}

function GroupBar({ group, onDecide }: GroupBarProps) {
  const { t } = useTranslation('approvals');
  const actionName = useActionName();
  const { approvals, decisions } = group;
  const [{ action, environment, is_yours, requested_by, requested_by_email }] = approvals;
  const number = approvals.length;
  const name = formatPersonLabel(requested_by, requested_by_email);
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} role="group" aria-label={t('group.label', { number })}>
      <Group justify="space-between" gap="sm">
        <Stack gap={4}>
          <Group gap="sm">
            <Text fw={600}>{t('group.of', { number, action: actionName(action) })}</Text>
            <EnvironmentBadge environment={environment} />
          </Group>
          <Text size="sm" c="dimmed">
            {is_yours ? t('askedByYou') : t('askedBy', { name })}
            <Total approvals={approvals} />
          </Text>
        </Stack>
        <Group gap="xs">
          {decisions.toReversed().map((decision) => (
            <Button
              key={decision}
              size="sm"
              variant={decision === 'decline' ? 'default' : 'filled'}
              onClick={() => onDecide(decision)}
            >
              {t(`group.${decision}.button`, { number })}
            </Button>
          ))}
        </Group>
      </Group>
    </Paper>
  );
}

/** Sum of the amounts by currency. */
export function Total({ approvals }: Pick<ApprovalGroup, 'approvals'>) {
  const { i18n } = useTranslation();
  const amounts = approvals.flatMap(({ summary }) => {
    const [, amount, currency] =
      /^([0-9.]+) ([A-Z]{3})$/.exec(summary.find(({ name }) => name === 'amount')?.value ?? '') ?? [];
    return amount === undefined || currency === undefined ? [] : [{ amount, currency }];
  });
  if (amounts.length !== approvals.length) return null;
  const sums = sumByCurrency(amounts).map(({ amount, currency }) => formatMoney(amount, currency, i18n.language));
  return ` · ${sums.join(' + ')}`;
}
