import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { deleteToken } from '../../../../src/console/wire/records.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { noteDone, useNoteApproval } from '../../parts/notices.tsx';
import { useTenant } from '../../session/tenant.ts';

interface DeleteTokenProps {
  readonly opened: boolean;
  readonly token: string;
  /** Where to go on. */
  readonly list: string;
  readonly onClose: () => void;
}

/** In production the end of the token has to be typed: the card behind it is gone for good. */
export function DeleteToken({ opened, token, list, onClose }: DeleteTokenProps) {
  const { t } = useTranslation('tokens');
  const { account, environment } = useTenant();
  const navigate = useNavigate();
  const noteApproval = useNoteApproval();
  const remove = useChange(deleteToken);
  const close = (): void => {
    remove.reset();
    onClose();
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t('remove.title')}
      confirmLabel={t('remove.confirm')}
      isDangerous
      environment={environment}
      {...(environment === 'production' && { typed: token.slice(-4) })}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(
          { params: { account, environment, token } },
          {
            onSuccess: ({ approval }) => {
              close();
              if (approval !== null) return noteApproval(approval);
              noteDone(t('remove.done'));
              void navigate(list);
            },
          },
        )
      }
    >
      <Stack gap="sm">
        <Text size="sm" ff="monospace" fw={600}>
          {token}
        </Text>
        <Text size="sm">{t('remove.text')}</Text>
      </Stack>
    </ConfirmDialog>
  );
}
