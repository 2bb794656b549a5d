import { Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createRecoveryCodes } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RecoveryCodes } from '../../parts/recovery-codes.tsx';
import { Badge } from '../../parts/status-badge.tsx';

/** Number of codes from which on new ones are suggested. */
const FEW_CODES = 3;

export function RecoveryPanel({ left }: { readonly left: number }) {
  const { t } = useTranslation('profile');
  const [isConfirming, setConfirming] = useState(false);
  const [codes, setCodes] = useState<readonly string[]>();
  const generate = useChange(createRecoveryCodes);
  const close = (): void => {
    generate.reset();
    setConfirming(false);
  };
  const confirm = (): void =>
    generate.mutate(
      {},
      {
        onSuccess: ({ recovery_codes }) => {
          setCodes(recovery_codes);
          close();
        },
      },
    );
  return (
    <Panel
      title={t('recovery')}
      description={t('recoveryHint')}
      actions={
        <Button variant="default" onClick={() => setConfirming(true)}>
          {t('makeCodes')}
        </Button>
      }
    >
      <Group gap="sm">
        <Badge tone={left > FEW_CODES ? 'quiet' : 'attention'}>{t('codesLeft', { count: left })}</Badge>
        {left <= FEW_CODES && <Text size="sm">{t('fewCodes')}</Text>}
      </Group>
      <ConfirmDialog
        opened={isConfirming}
        onClose={close}
        title={t('makeCodesTitle')}
        confirmLabel={t('makeCodes')}
        onConfirm={confirm}
        isBusy={generate.isPending}
        error={generate.error}
      >
        {t('makeCodesHint')}
      </ConfirmDialog>
      {/* The dialog closes only after the user confirms that the codes are stored. */}
      <Modal
        opened={codes !== undefined}
        onClose={() => undefined}
        title={t('codesMade')}
        withCloseButton={false}
        closeOnClickOutside={false}
        closeOnEscape={false}
      >
        {codes !== undefined && <RecoveryCodes codes={codes} onStored={() => setCodes(undefined)} />}
      </Modal>
    </Panel>
  );
}
