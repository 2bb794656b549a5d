import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { createKey } from '../../../../wire/keys.ts';
import type { CallError } from '../../api/call.ts';
import { useChange } from '../../api/hooks.ts';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { SecretDialog } from '../../parts/secret-once.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyFields } from './key-form.tsx';
import { type IssuedKey, KeySecret } from './key-secret.tsx';
import { type KeyAttributes, NEW_KEY } from './key-values.ts';

interface CreateKeyProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly yourAddress: string;
  /** The user came from the checklist, and goes back to it after the key. */
  readonly isFromChecklist: boolean;
}

/** Shows the form, then the key. The key cannot be closed by accident. */
export function CreateKey({ opened, onClose, yourAddress, isFromChecklist }: CreateKeyProps) {
  const { t } = useTranslation('keys');
  const params = useTenant();
  const navigate = useNavigate();
  const notifyResult = useNotifyResult();
  const [issued, setIssued] = useState<IssuedKey>();
  const create = useChange(createKey);
  const send = (body: KeyAttributes, onError: (error: CallError) => void): void =>
    create.mutate(
      { params: { ...params }, body },
      {
        onError,
        onSuccess: ({ approval, result }) => {
          if (result !== null) setIssued(result);
          else onClose();
          notifyResult(approval);
        },
      },
    );
  const onStored = (): void => {
    setIssued(undefined);
    if (isFromChecklist) void navigate(`/a/${params.account}/onboarding`);
    else onClose();
  };
  return (
    <SecretDialog
      opened={opened || issued !== undefined}
      onClose={onClose}
      onClosed={create.reset}
      title={issued === undefined ? t('form.createTitle') : t('secret.createdTitle')}
      size="xl"
      isPinned={issued !== undefined || create.isPending}
    >
      {issued !== undefined ? (
        <KeySecret
          issued={issued}
          onStored={onStored}
          {...(isFromChecklist && { doneLabel: t('secret.toChecklist') })}
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
          onSubmit={send}
        />
      )}
    </SecretDialog>
  );
}
