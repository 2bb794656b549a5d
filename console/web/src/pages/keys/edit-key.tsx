import { Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { editKey } from '../../../../wire/keys.ts';
import type { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { Modal } from '../../parts/dialogs.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyFields } from './key-form.tsx';
import { KeyName } from './key-name.tsx';
import { type Key, type KeyAttributes, toFormValues } from './key-values.ts';

interface EditKeyProps {
  readonly opened: boolean;
  readonly apiKey: Key;
  readonly onClose: () => void;
  readonly yourAddress: string;
  readonly onReload: () => void;
}

function useEdit({ apiKey, onClose, onReload }: EditKeyProps) {
  const { t } = useTranslation('keys');
  const params = useTenant();
  const notifyResult = useNotifyResult();
  const edit = useChange(editKey);
  /** The key has changed since the form was opened, so it is loaded again. */
  const reload = (): void => {
    notifications.show({ message: t('form.changed'), color: 'yellow', autoClose: false });
    onReload();
    onClose();
  };
  const send = (attributes: KeyAttributes, onError: (error: CallError) => void): void =>
    edit.mutate(
      { params: { ...params, id: apiKey.id }, body: { ...attributes, revision: apiKey.revision } },
      {
        onError: (error) => (error.code === 'changed_meanwhile' ? reload() : onError(error)),
        onSuccess: ({ approval }) => {
          notifyResult(approval, t('form.saved'));
          onClose();
        },
      },
    );
  return { send, isBusy: edit.isPending };
}

export function EditKey(props: EditKeyProps) {
  const { opened, apiKey, onClose, yourAddress } = props;
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const { environment } = useTenant();
  const { send, isBusy } = useEdit(props);
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('form.editTitle')}
      size="xl"
      closeOnClickOutside={false}
      closeOnEscape={!isBusy}
      closeButtonProps={{ 'aria-label': tParts('close') }}
    >
      <Stack gap="md">
        <KeyName apiKey={apiKey} />
        <KeyFields
          isClosing={!opened}
          initial={toFormValues(apiKey)}
          expiresAt={apiKey.expires_at}
          environment={environment}
          yourAddress={yourAddress}
          submitLabel={t('form.save')}
          isBusy={isBusy}
          onCancel={onClose}
          onSubmit={send}
        />
      </Stack>
    </Modal>
  );
}
