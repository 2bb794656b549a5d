import { Modal, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { editKey } from '../../../../wire/keys.ts';
import { useChange } from '../../api/hooks.ts';
import { notifySuccess, useNotifyApproval } from '../../parts/notifications.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyFields } from './key-form.tsx';
import { KeyName } from './key-name.tsx';
import { type Key, toFormValues } from './key-values.ts';

interface EditKeyProps {
  readonly opened: boolean;
  readonly apiKey: Key;
  readonly onClose: () => void;
  readonly yourAddress: string;
  readonly onReload: () => void;
}

export function EditKey({ opened, apiKey, onClose, yourAddress, onReload }: EditKeyProps) {
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const params = useTenant();
  const noteApproval = useNotifyApproval();
  const edit = useChange(editKey);
  /** The key has changed since the form was opened, so it is loaded again. */
  const reload = (): void => {
    notifications.show({ message: t('form.changed'), color: 'yellow', autoClose: false });
    onReload();
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('form.editTitle')}
      size="xl"
      closeOnClickOutside={false}
      closeOnEscape={!edit.isPending}
      closeButtonProps={{ 'aria-label': tParts('close') }}
    >
      <Stack gap="md">
        <KeyName apiKey={apiKey} />
        <KeyFields
          isClosing={!opened}
          initial={toFormValues(apiKey)}
          expiresAt={apiKey.expires_at}
          environment={params.environment}
          yourAddress={yourAddress}
          submitLabel={t('form.save')}
          isBusy={edit.isPending}
          onCancel={onClose}
          onSubmit={(attributes, onError) =>
            edit.mutate(
              { params: { ...params, id: apiKey.id }, body: { ...attributes, revision: apiKey.revision } },
              {
                onError: (error) => (error.code === 'changed_meanwhile' ? reload() : onError(error)),
                onSuccess: ({ approval }) => {
                  if (approval === null) notifySuccess(t('form.saved'));
                  else noteApproval(approval);
                  onClose();
                },
              },
            )
          }
        />
      </Stack>
    </Modal>
  );
}
