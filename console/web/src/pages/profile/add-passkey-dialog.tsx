import { Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { addPasskey, beginPasskey } from '../../../../wire/profile.ts';
import { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { Modal } from '../../parts/dialogs.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { FormButtons } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { registerPasskey } from '../../session/passkey.ts';
import { useUserAgentText } from './user-agent.ts';

interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function AddPasskeyDialog({ opened, onClose }: DialogProps) {
  const { t } = useTranslation('profile');
  return (
    <Modal opened={opened} onClose={onClose} title={t('addPasskey')} closeButtonProps={{ 'aria-label': t('cancel') }}>
      <PasskeyForm onClose={onClose} />
    </Modal>
  );
}

/** Registers a passkey in three steps: the options, the ceremony of the browser, and its result. */
function useRegistration(onRegistered: () => void) {
  const begin = useChange(beginPasskey);
  const add = useChange(addPasskey);
  const [failure, setFailure] = useState<CallError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const register = async (label: string): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    try {
      const { options } = await begin.mutateAsync({});
      await add.mutateAsync({ body: { credential: await registerPasskey(options), label } });
      onRegistered();
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return { register, failure, isBusy };
}

function PasskeyForm({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const agentText = useUserAgentText();
  const [label, setLabel] = useState(() => agentText(navigator.userAgent));
  const { register, failure, isBusy } = useRegistration(() => {
    notifySuccess(t('passkeyAdded'));
    onClose();
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void register(label.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {failure && <ErrorAlert error={failure} isFocused />}
        <TextInput
          label={t('label')}
          description={t('labelHint')}
          required
          withAsterisk={false}
          maxLength={LIMITS.factorLabelCharacters}
          data-autofocus
          value={label}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
        <FormButtons onCancel={onClose} label={t('addPasskey')} isBusy={isBusy} />
      </Stack>
    </form>
  );
}
