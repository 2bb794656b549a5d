import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { beginPasskeyStepUp, stepUpByCode, stepUpByPasskey } from '../../../wire/session.ts';
import { call } from '../api/call.ts';
import { useOnce } from '../api/hooks.ts';
import { useActionName } from '../pages/approvals/action-name.ts';
import { authenticateWithPasskey } from './passkey.ts';
import { SecondFactor } from './second-factor.tsx';
import { type Session, useSessionControls } from './session.tsx';

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
        <FactorForm onConfirmed={onConfirmed} onCancel={onCancel} />
      </Stack>
    </Modal>
  );
}

function FactorForm({ onConfirmed, onCancel }: Omit<StepUpDialogProps, 'opened' | 'action'>) {
  const { t } = useTranslation('session');
  const { visit, setSession } = useSessionControls();
  const options = {
    onSuccess: (session: Session) => {
      setSession(session);
      onConfirmed();
    },
  };
  const byCode = useOnce<Session, string>({
    mutationFn: (code) => call(stepUpByCode, { body: { code } }),
    ...options,
  });
  const byPasskey = useOnce<Session>({
    mutationFn: async () => {
      const { options } = await call(beginPasskeyStepUp);
      return call(stepUpByPasskey, { body: { credential: await authenticateWithPasskey(options) } });
    },
    ...options,
  });
  const busy = byCode.isPending ? 'code' : byPasskey.isPending ? 'passkey' : undefined;
  return (
    <SecondFactor
      methods={visit?.methods.length ? visit.methods : ['totp', 'passkey', 'recovery']}
      error={byCode.error ?? byPasskey.error}
      busy={busy}
      onCode={(code) => {
        byPasskey.reset();
        byCode.mutate(code);
      }}
      onPasskey={() => {
        byCode.reset();
        byPasskey.mutate();
      }}
      submitLabel={t('confirm')}
    >
      <Group justify="flex-end">
        <Button variant="subtle" onClick={onCancel}>
          {t('cancel')}
        </Button>
      </Group>
    </SecondFactor>
  );
}
