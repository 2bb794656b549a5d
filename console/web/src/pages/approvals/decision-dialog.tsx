import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Json } from '../../../../../src/kernel/json.ts';
import { approve, decline, executeApproval, withdrawApproval } from '../../../../wire/approvals.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { useMembership } from '../../session/tenant.ts';
import { useActionName } from './action-name.ts';
import type { Approval } from './approval.ts';
import { type ExecutionResult, parseExecutionResult } from './execution-result.ts';
import { FullSummary, useFullSummary } from './full-summary.tsx';
import { formatPersonLabel } from './person-label.ts';

export type Decision = 'approve' | 'decline' | 'withdraw' | 'execute';

/** A change of an operator that a command makes after the approval. */
const EXPORT = 'account.export';

/** Decisions that require the full summary on the screen. */
const NEEDS_FULL_SUMMARY: readonly Decision[] = ['approve', 'execute'];

interface DecisionDialogProps {
  readonly opened: boolean;
  readonly subject: { readonly decision: Decision; readonly approval: Approval } | undefined;
  readonly onClose: () => void;
  /** The executed change returned a secret that is shown once. */
  readonly onResult: (made: ExecutionResult) => void;
}

export function DecisionDialog({ opened, subject, onClose, onResult }: DecisionDialogProps) {
  const { t } = useTranslation('approvals');
  const actionName = useActionName();
  const decisions = useDecisions(subject?.approval);
  const full = useFullSummary(subject?.approval, opened);
  if (subject === undefined) return null;
  const { decision, approval } = subject;
  const { change, name } = decisions[decision];
  const isByOperator = decision === 'approve' && approval.by_operator;
  const operatorChange = approval.action === EXPORT ? 'Export' : 'Operator';
  const close = (): void => {
    change.reset();
    onClose();
  };
  const confirm = (): void =>
    decisions[decision].send((result) => {
      close();
      const shownOnce = parseExecutionResult(approval, result);
      if (shownOnce === undefined)
        notifySuccess(isByOperator ? t(`approve.done${operatorChange}`) : t(`${decision}.done`, { name }));
      else onResult(shownOnce);
    });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t(`${decision}.title`)}
      environment={approval.environment}
      confirmLabel={t(`${decision}.confirm`)}
      onConfirm={confirm}
      isReady={full.lines !== undefined || !NEEDS_FULL_SUMMARY.includes(decision)}
      isBusy={change.isPending}
      error={change.error}
    >
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          {actionName(approval.action)}
        </Text>
        <FullSummary {...full} />
        <Text size="sm">{isByOperator ? t(`approve.text${operatorChange}`) : t(`${decision}.text`, { name })}</Text>
      </Stack>
    </ConfirmDialog>
  );
}

/** Returns the four decisions, each with the user that its text names. */
function useDecisions(approval: Approval | undefined) {
  const { account } = useMembership();
  const args = { params: { account, id: approval?.id ?? '' } };
  const requester = formatPersonLabel(approval?.requested_by, approval?.requested_by_email);
  const approving = useChange(approve);
  const declining = useChange(decline);
  const withdrawing = useChange(withdrawApproval);
  const executing = useChange(executeApproval);
  type OnSuccess = (result?: Json) => void;
  return {
    approve: {
      change: approving,
      name: requester,
      send: (onSuccess: OnSuccess) => approving.mutate(args, { onSuccess: () => onSuccess() }),
    },
    decline: {
      change: declining,
      name: requester,
      send: (onSuccess: OnSuccess) => declining.mutate(args, { onSuccess: () => onSuccess() }),
    },
    withdraw: {
      change: withdrawing,
      name: requester,
      send: (onSuccess: OnSuccess) => withdrawing.mutate(args, { onSuccess: () => onSuccess() }),
    },
    execute: {
      change: executing,
      name: formatPersonLabel(approval?.decided_by, approval?.decided_by_email),
      send: (onSuccess: OnSuccess) => executing.mutate(args, { onSuccess: ({ result }) => onSuccess(result) }),
    },
  };
}
