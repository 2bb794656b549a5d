import { Skeleton } from '@mantine/core';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { addTotp, beginTotp } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { Modal } from '../../parts/dialogs.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { TotpEnrollment } from '../../session/totp-enrollment.tsx';

interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function AddAppDialog({ opened, onClose }: DialogProps) {
  const { t } = useTranslation('profile');
  return (
    <Modal opened={opened} onClose={onClose} title={t('app')} closeButtonProps={{ 'aria-label': t('cancel') }}>
      <AppEnrollment onClose={onClose} />
    </Modal>
  );
}

function AppEnrollment({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const begin = useChange(beginTotp);
  const add = useChange(addTotp);
  const { mutate } = begin;
  useEffect(() => mutate({}), [mutate]);
  // Canceling the step-up cancels the enrollment.
  const isCancelled = begin.error?.code === 'cancelled';
  useEffect(() => {
    if (isCancelled) onClose();
  }, [isCancelled, onClose]);
  if (begin.error) return <ErrorAlert error={begin.error} onRetry={() => mutate({})} />;
  if (begin.data === undefined) return <Skeleton height={300} />;
  const confirm = (code: string): void =>
    add.mutate(
      { body: { code } },
      {
        onSuccess: () => {
          notifySuccess(t('appAdded'));
          onClose();
        },
      },
    );
  return (
    <TotpEnrollment
      totp={begin.data.totp}
      isBusy={add.isPending}
      error={add.error}
      onCode={confirm}
      onCancel={onClose}
    />
  );
}
