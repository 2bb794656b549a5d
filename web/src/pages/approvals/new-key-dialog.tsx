import { Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../parts/code-block.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useVisit } from '../../session/session.tsx';
import type { Made } from './made.ts';

interface NewKeyDialogProps {
  readonly made: Extract<Made, { kind: 'key' }> | undefined;
  readonly onStored: () => void;
}

/** The key that an approved change has made. Only the button closes it, so that a stray key does not lose it. */
export function NewKeyDialog({ made, onStored }: NewKeyDialogProps) {
  const { t } = useTranslation('approvals');
  const { visit } = useVisit();
  const url = visit?.environments.find(({ name }) => name === made?.environment)?.url;
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
          {url !== undefined && (
            <CodeBlock label={t('secret.tryIt')} code={`curl ${url}/v1/account \\\n  -H 'x-api-key: ${made.secret}'`} />
          )}
        </SecretOnce>
      )}
    </Modal>
  );
}
