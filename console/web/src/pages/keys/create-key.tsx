import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createKey } from '../../../../wire/keys.ts';
import { useChange } from '../../api/hooks.ts';
import { useNotifyApproval } from '../../parts/notifications.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyFields } from './key-form.tsx';
import { type IssuedKey, KeySecret } from './key-secret.tsx';
import { NEW_KEY } from './key-values.ts';

interface CreateKeyProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly yourAddress: string;
}

/** Shows the form, then the key. The key cannot be closed by accident. */
export function CreateKey({ opened, onClose, yourAddress }: CreateKeyProps) {
  const { t } = useTranslation('keys');
  const { t: tParts } = useTranslation('parts');
  const params = useTenant();
  const noteApproval = useNotifyApproval();
  const [issued, setIssued] = useState<IssuedKey>();
  const create = useChange(createKey);
  const isPinned = issued !== undefined || create.isPending;
  return (
    <Modal
      opened={opened || issued !== undefined}
      onClose={onClose}
      onExitTransitionEnd={() => create.reset()}
      title={issued === undefined ? t('form.createTitle') : t('secret.createdTitle')}
      size="xl"
      closeOnClickOutside={false}
      closeOnEscape={!isPinned}
      withCloseButton={!isPinned}
      closeButtonProps={{ 'aria-label': tParts('close') }}
    >
      {issued !== undefined ? (
        <KeySecret
          issued={issued}
          onStored={() => {
            setIssued(undefined);
            onClose();
          }}
        />
      ) : (
        <KeyFields
          isClosing={!opened}
          initial={NEW_KEY}
          environment={params.environment}
          yourAddress={yourAddress}
          submitLabel={t('form.create')}
          isBusy={create.isPending}
          onCancel={onClose}
          onSubmit={(body, onError) =>
            create.mutate(
              { params: { ...params }, body },
              {
                onError,
                onSuccess: ({ approval, result }) => {
                  if (result !== null) setIssued(result);
                  else onClose();
                  if (approval !== null) noteApproval(approval);
                },
              },
            )
          }
        />
      )}
    </Modal>
  );
}
