import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { approve, carryOut, decline, withdrawApproval } from '../../../../src/console/wire/approvals.ts';
import type { Json } from '../../../../src/kernel/json.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { useMembership } from '../../session/tenant.ts';
import { useActionName } from './action-name.ts';
import type { Approval } from './approvals-page.tsx';
import { Summary } from './summary.tsx';

export type Decision = 'approve' | 'decline' | 'withdraw' | 'carryOut';

interface DecisionDialogProps {
  readonly opened: boolean;
  readonly about: { readonly decision: Decision; readonly approval: Approval } | undefined;
  readonly onClose: () => void;
  /** What was carried out has made a key. */
  readonly onSecret: (secret: string, environment: string) => void;
}

/** The key in the answer of a change that makes one. */
function secretIn(result: Json): string | undefined {
  if (typeof result !== 'object' || result === null || !('secret' in result)) return undefined;
  const { secret } = result as { readonly secret: Json };
  return typeof secret === 'string' ? secret : undefined;
}

export function DecisionDialog({ opened, about, onClose, onSecret }: DecisionDialogProps) {
  const { t } = useTranslation('approvals');
  const nameOf = useActionName();
  const decisions = useDecisions(about?.approval);
  if (about === undefined) return null;
  const { decision, approval } = about;
  const { change, name } = decisions[decision];
  const close = (): void => {
    change.reset();
    onClose();
  };
  const confirm = (): void =>
    decisions[decision].send((result) => {
      close();
      const secret = result === undefined ? undefined : secretIn(result);
      if (secret === undefined) noteDone(t(`${decision}.done`, { name }));
      else onSecret(secret, approval.environment);
    });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t(`${decision}.title`)}
      environment={approval.environment}
      confirmLabel={t(`${decision}.confirm`)}
      onConfirm={confirm}
      isBusy={change.isPending}
      error={change.error}
    >
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          {nameOf(approval.action)}
        </Text>
        <Summary lines={approval.summary} />
        <Text size="sm">{t(`${decision}.text`, { name })}</Text>
      </Stack>
    </ConfirmDialog>
  );
}

/** All four, each with whom its words name. */
function useDecisions(approval: Approval | undefined) {
  const { account } = useMembership();
  const args = { params: { account, id: approval?.id ?? '' } };
  const asker = approval?.requested_by ?? '';
  const approving = useChange(approve);
  const declining = useChange(decline);
  const withdrawing = useChange(withdrawApproval);
  const doing = useChange(carryOut);
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
      name: approval?.decided_by ?? '',
      send: (then: Then) => doing.mutate(args, { onSuccess: ({ result }) => then(result) }),
    },
  };
}
