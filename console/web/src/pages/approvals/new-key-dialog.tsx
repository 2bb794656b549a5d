import { Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FirstCall } from '../../parts/first-call.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import type { ExecutionResult } from './execution-result.ts';

interface NewKeyDialogProps {
  readonly result: Extract<ExecutionResult, { kind: 'key' }> | undefined;
  readonly onStored: () => void;
}

/**
 * Shows the key that an approved change created. Only the button closes the dialog, so that the key is not lost by
 * accident.
 */
export function NewKeyDialog({ result, onStored }: NewKeyDialogProps) {
  const { t } = useTranslation('approvals');
  return (
    <Modal
      opened={result !== undefined}
      onClose={onStored}
      title={t('secret.title')}
      size="lg"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      {result !== undefined && (
        <SecretOnce label={t('secret.label')} secret={result.secret} onStored={onStored}>
          <FirstCall label={t('secret.tryIt')} environment={result.environment} secret={result.secret} />
        </SecretOnce>
      )}
    </Modal>
  );
}
