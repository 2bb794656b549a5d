import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { deleteCapture } from '../../../../src/console/wire/records.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { useTenant } from '../../session/tenant.ts';

interface DeleteCaptureProps {
  readonly opened: boolean;
  readonly id: string;
  /** Where to go on. */
  readonly list: string;
  readonly onClose: () => void;
}

export function DeleteCapture({ opened, id, list, onClose }: DeleteCaptureProps) {
  const { t } = useTranslation('captures');
  const { account, environment } = useTenant();
  const navigate = useNavigate();
  const remove = useChange(deleteCapture);
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
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(
          { params: { account, environment, id } },
          {
            onSuccess: () => {
              close();
              noteDone(t('remove.done'));
              void navigate(list);
            },
          },
        )
      }
    >
      <Stack gap="sm">
        <Text size="sm" ff="monospace" fw={600}>
          {id}
        </Text>
        <Text size="sm">{t('remove.text')}</Text>
      </Stack>
    </ConfirmDialog>
  );
}
