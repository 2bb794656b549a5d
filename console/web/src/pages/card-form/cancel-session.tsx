import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { cancelSession } from '../../../../wire/card-form.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { useTenant } from '../../session/tenant.ts';
import type { SessionRow } from './session-row.ts';

interface CancelSessionProps {
  readonly opened: boolean;
  readonly session: SessionRow | undefined;
  readonly onClose: () => void;
  /** The session may have ended in the meantime, so the list is read again. */
  readonly onRefused: () => void;
}

/** Cancels an open session after a confirmation. */
export function CancelSession({ opened, session, onClose, onRefused }: CancelSessionProps) {
  const { t } = useTranslation('cardForm');
  const { account, environment } = useTenant();
  const change = useChange(cancelSession);
  const close = (): void => {
    change.reset();
    onClose();
  };
  const send = (id: string): void =>
    change.mutate(
      { params: { account, environment, id } },
      {
        onSuccess: () => {
          close();
          notifySuccess(t('cancel.done'));
        },
        onError: onRefused,
      },
    );
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t('cancel.title')}
      confirmLabel={t('cancel.confirm')}
      cancelLabel={t('cancel.keep')}
      onConfirm={() => session !== undefined && send(session.id)}
      isBusy={change.isPending}
      error={change.error}
      isDangerous
      environment={environment}
    >
      <Stack gap="sm">
        <Text size="sm" ff="monospace" fw={600}>
          {session?.id}
        </Text>
        {session !== undefined && session.description !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {session.description}
          </Text>
        )}
        <Text size="sm">{t('cancel.text')}</Text>
      </Stack>
    </ConfirmDialog>
  );
}
