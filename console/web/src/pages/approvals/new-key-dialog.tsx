import { Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FirstCall } from '../../parts/first-call.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import type { Made } from './made.ts';

interface NewKeyDialogProps {
  readonly made: Extract<Made, { kind: 'key' }> | undefined;
  readonly onStored: () => void;
}

/** The key that an approved change has made. Only the button closes it, so that a stray key does not lose it. */
export function NewKeyDialog({ made, onStored }: NewKeyDialogProps) {
  const { t } = useTranslation('approvals');
  return (
    <Modal
      opened={made !== undefined}
      onClose={onStored}
      title={t('secret.title')}
      size="lg"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      {made !== undefined && (
        <SecretOnce what={t('secret.label')} secret={made.secret} onStored={onStored}>
          <FirstCall label={t('secret.tryIt')} environment={made.environment} secret={made.secret} />
        </SecretOnce>
      )}
    </Modal>
  );
}
