import { Button, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { beginPasskeyStepUp, stepUpByCode, stepUpByPasskey } from '../../../wire/session.ts';
import { useActionName } from '../pages/approvals/action-name.ts';
import { Modal } from '../parts/dialogs.tsx';
import { SecondFactor } from './second-factor.tsx';
import { useSessionControls } from './session.tsx';

const STEP_UP_CALLS = { byCode: stepUpByCode, beginPasskey: beginPasskeyStepUp, byPasskey: stepUpByPasskey };

interface StepUpDialogProps {
  readonly opened: boolean;
  /** Action name of a change that needs approval. */
  readonly action: string | undefined;
  readonly onConfirmed: () => void;
  readonly onCancel: () => void;
}

/** Dialog that asks for the second factor again. */
export function StepUpDialog({ opened, action, onConfirmed, onCancel }: StepUpDialogProps) {
  const { t } = useTranslation('session');
  const actionName = useActionName();
  const { visit, setSession } = useSessionControls();
  return (
    <Modal
      opened={opened}
      onClose={onCancel}
      title={t('stepUpTitle')}
      size="sm"
      zIndex={400}
      closeButtonProps={{ 'aria-label': t('cancel') }}
    >
      <Stack gap="md">
        <div>
          {action !== undefined && (
            <Text size="sm" fw={600}>
              {actionName(action)}
            </Text>
          )}
          <Text size="sm" c="dimmed">
            {t('stepUpWhy')}
          </Text>
        </div>
        <SecondFactor
          methods={visit?.methods.length ? visit.methods : ['totp', 'passkey', 'recovery']}
          calls={STEP_UP_CALLS}
          onSuccess={(session) => {
            setSession(session);
            onConfirmed();
          }}
          submitLabel={t('confirm')}
        >
          <Group justify="flex-end">
            <Button variant="subtle" onClick={onCancel}>
              {t('cancel')}
            </Button>
          </Group>
        </SecondFactor>
      </Stack>
    </Modal>
  );
}
