import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createRecoveryCodes } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RecoveryCodes } from '../../parts/recovery-codes.tsx';
import { SecretDialog } from '../../parts/secret-once.tsx';
import { Badge } from '../../parts/status-badge.tsx';

/** Number of codes from which on new ones are suggested. */
const FEW_CODES = 3;

export function RecoveryPanel({ left }: { readonly left: number }) {
  const { t } = useTranslation('profile');
  const [codes, setCodes] = useState<readonly string[]>();
  return (
    <Panel title={t('recovery')} description={t('recoveryHint')} actions={<CreateCodesButton onCreated={setCodes} />}>
      <Group gap="sm">
        <Badge tone={left > FEW_CODES ? 'quiet' : 'attention'}>{t('codesLeft', { count: left })}</Badge>
        {left <= FEW_CODES && <Text size="sm">{t('fewCodes')}</Text>}
      </Group>
      <SecretDialog opened={codes !== undefined} title={t('codesMade')} size="md">
        {codes !== undefined && <RecoveryCodes codes={codes} onStored={() => setCodes(undefined)} />}
      </SecretDialog>
    </Panel>
  );
}

function CreateCodesButton({ onCreated }: { readonly onCreated: (codes: readonly string[]) => void }) {
  const { t } = useTranslation('profile');
  const change = useChange(createRecoveryCodes);
  const confirm = (close: () => void): void =>
    change.mutate(
      {},
      {
        onSuccess: ({ recovery_codes }) => {
          onCreated(recovery_codes);
          close();
        },
      },
    );
  return (
    <ConfirmButton
      button={(open) => (
        <Button variant="default" onClick={open}>
          {t('makeCodes')}
        </Button>
      )}
      title={t('makeCodesTitle')}
      confirmLabel={t('makeCodes')}
      change={change}
      onConfirm={confirm}
    >
      {t('makeCodesHint')}
    </ConfirmButton>
  );
}
