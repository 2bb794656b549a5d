import { Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FirstCall } from '../../parts/first-call.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import type { ExecutionResult } from './execution-result.ts';

interface NewKeyDialogProps {
  readonly result: Extract<ExecutionResult, { kind: 'key' }> | undefined;
  readonly onStored: () => void;
}

/** The key that an approved change has made. Only the button closes it, so that a stray key does not lose it. */
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
