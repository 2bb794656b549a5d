import { Modal, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { AuthorityNote } from '../../parts/authority-note.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { useCurl } from '../../session/interface.ts';
import type { Made } from './made.ts';

type MadeKey = Extract<Made, { kind: 'key' }>;

interface NewKeyDialogProps {
  readonly made: MadeKey | undefined;
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
          <FirstCall {...made} />
        </SecretOnce>
      )}
    </Modal>
  );
}

function FirstCall({ environment, secret }: MadeKey) {
  const { t } = useTranslation('approvals');
  const curl = useCurl(environment);
  return (
    <Stack gap="xs">
      <CodeBlock label={t('secret.tryIt')} code={`${curl}/v1/account \\\n  -H 'x-api-key: ${secret}'`} />
      <AuthorityNote />
    </Stack>
  );
}
