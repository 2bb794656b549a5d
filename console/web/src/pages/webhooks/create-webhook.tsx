import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createWebhook } from '../../../../wire/webhooks.ts';
import { useChange } from '../../api/hooks.ts';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { SecretDialog, SecretOnce } from '../../parts/secret-once.tsx';
import { useTenant } from '../../session/tenant.ts';
import { WebhookFields } from './webhook-fields.tsx';
import { NEW_WEBHOOK, toAttributes } from './webhook-values.ts';

interface CreateWebhookProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Shows the form, then the secret, which cannot be closed by accident. */
export function CreateWebhook({ opened, onClose }: CreateWebhookProps) {
  const { t } = useTranslation('webhooks');
  const params = useTenant();
  const notifyResult = useNotifyResult();
  const create = useChange(createWebhook);
  const [secret, setSecret] = useState<string>();
  const isShown = secret !== undefined;
  return (
    <SecretDialog
      opened={opened || isShown}
      onClose={onClose}
      onClosed={create.reset}
      title={isShown ? t('secret.title') : t('form.createTitle')}
      size="lg"
      isPinned={isShown || create.isPending}
    >
      {isShown ? (
        <SecretOnce
          label={t('secret.label')}
          secret={secret}
          onStored={() => {
            setSecret(undefined);
            onClose();
          }}
        />
      ) : (
        <WebhookFields
          initial={NEW_WEBHOOK}
          label={t('create')}
          hasState={false}
          isBusy={create.isPending}
          onCancel={onClose}
          onSubmit={(values, onError) =>
            create.mutate(
              { params: { ...params }, body: toAttributes(values) },
              {
                onError,
                onSuccess: ({ approval, result }) => {
                  notifyResult(approval);
                  if (result === null) onClose();
                  else setSecret(result.secret);
                },
              },
            )
          }
        />
      )}
    </SecretDialog>
  );
}
