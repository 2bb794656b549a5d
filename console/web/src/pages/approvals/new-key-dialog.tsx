import { useTranslation } from 'react-i18next';
import { FirstCall } from '../../parts/first-call.tsx';
import { SecretDialog, SecretOnce } from '../../parts/secret-once.tsx';
import type { ExecutionResult } from './execution-result.ts';

interface NewKeyDialogProps {
  readonly result: Extract<ExecutionResult, { kind: 'key' }> | undefined;
  readonly onStored: () => void;
}

/** Shows the key that an approved change created. */
export function NewKeyDialog({ result, onStored }: NewKeyDialogProps) {
  const { t } = useTranslation('approvals');
  return (
    <SecretDialog opened={result !== undefined} title={t('secret.title')} size="lg">
      {result !== undefined && (
        <SecretOnce label={t('secret.label')} secret={result.secret} onStored={onStored}>
          <FirstCall label={t('secret.tryIt')} environment={result.environment} secret={result.secret} />
        </SecretOnce>
      )}
    </SecretDialog>
  );
}
