import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Json } from '../../../../../src/kernel/json.ts';
import { approve, decline, executeApproval, withdrawApproval } from '../../../../wire/approvals.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { useMembership } from '../../session/tenant.ts';
import { useActionName } from './action-name.ts';
import type { Approval } from './approvals-page.tsx';
import { type Made, madeBy } from './made.ts';
import { whoIs } from './who-is.ts';
import { useWholeSummary, WholeSummary } from './whole-summary.tsx';

export type Decision = 'approve' | 'decline' | 'withdraw' | 'carryOut';

/** Nobody agrees to what they cannot see. */
const NEEDS_ALL_SEEN: readonly Decision[] = ['approve', 'carryOut'];

interface DecisionDialogProps {
  readonly opened: boolean;
  readonly about: { readonly decision: Decision; readonly approval: Approval } | undefined;
  readonly onClose: () => void;
  /** What was carried out has made something that is shown once. */
  readonly onMade: (made: Made) => void;
}

export function DecisionDialog({ opened, about, onClose, onMade }: DecisionDialogProps) {
  const { t } = useTranslation('approvals');
  const nameOf = useActionName();
  const decisions = useDecisions(about?.approval);
  const whole = useWholeSummary(about?.approval, opened);
  if (about === undefined) return null;
  const { decision, approval } = about;
  const { change, name } = decisions[decision];
  const isByOperator = decision === 'approve' && approval.by_operator;
  const close = (): void => {
    change.reset();
    onClose();
  };
  const confirm = (): void =>
    decisions[decision].send((result) => {
      close();
      const made = madeBy(approval, result);
      if (made === undefined) noteDone(isByOperator ? t('approve.doneOperator') : t(`${decision}.done`, { name }));
      else onMade(made);
    });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t(`${decision}.title`)}
      environment={approval.environment}
      confirmLabel={t(`${decision}.confirm`)}
      onConfirm={confirm}
      isReady={whole.lines !== undefined || !NEEDS_ALL_SEEN.includes(decision)}
      isBusy={change.isPending}
      error={change.error}
    >
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          {nameOf(approval.action)}
        </Text>
        <WholeSummary {...whole} />
        <Text size="sm">{isByOperator ? t('approve.textOperator') : t(`${decision}.text`, { name })}</Text>
      </Stack>
    </ConfirmDialog>
  );
}

/** All four, each with whom its words name. */
function useDecisions(approval: Approval | undefined) {
  const { account } = useMembership();
  const args = { params: { account, id: approval?.id ?? '' } };
  const asker = whoIs(approval?.requested_by, approval?.requested_by_email);
  const approving = useChange(approve);
  const declining = useChange(decline);
  const withdrawing = useChange(withdrawApproval);
  const doing = useChange(executeApproval);
  type Then = (result?: Json) => void;
  return {
    approve: {
      change: approving,
      name: asker,
      send: (then: Then) => approving.mutate(args, { onSuccess: () => then() }),
    },
    decline: {
      change: declining,
      name: asker,
      send: (then: Then) => declining.mutate(args, { onSuccess: () => then() }),
    },
    withdraw: {
      change: withdrawing,
      name: asker,
      send: (then: Then) => withdrawing.mutate(args, { onSuccess: () => then() }),
    },
    carryOut: {
      change: doing,
      name: whoIs(approval?.decided_by, approval?.decided_by_email),
      send: (then: Then) => doing.mutate(args, { onSuccess: ({ result }) => then(result) }),
    },
  };
}
