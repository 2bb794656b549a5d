import { Button, Group, NativeSelect } from '@mantine/core';
import { Pencil, RefreshCw, Send, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { deleteWebhook, editWebhook, rotateWebhook, testWebhook } from '../../../../wire/webhooks.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { DialogForm, FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess, useNotifyResult } from '../../parts/notifications.tsx';
import { SecretDialog, SecretOnce } from '../../parts/secret-once.tsx';
import { useTenant } from '../../session/tenant.ts';
import { WebhookFields } from '../webhooks/webhook-fields.tsx';
import { toAttributes, toForm, type Webhook } from '../webhooks/webhook-values.ts';

const OVERLAPS = { now: 0, h1: 60, h24: 1440 } as const;
type Overlap = keyof typeof OVERLAPS;

export function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  return (
    <Group gap="xs">
      <TestButton webhook={webhook} />
      <EditButton webhook={webhook} />
      <RotateButton webhook={webhook} />
      <DeleteButton webhook={webhook} />
    </Group>
  );
}

/** Sends a test event, and says how that went. */
function TestButton({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  const params = { ...useTenant(), id: webhook.id };
  const test = useChange(testWebhook);
  const [result, setResult] = useState('');
  return (
    <>
      <Button
        variant="default"
        leftSection={<Send size={16} aria-hidden />}
        loading={test.isPending}
        onClick={() =>
          test.mutate(
            { params },
            {
              onSuccess: ({ delivered, status_code, error, duration_ms: ms }) =>
                setResult(
                  delivered
                    ? t('test.delivered', { status: status_code, ms })
                    : t('test.failed', { reason: t(`error.${error ?? 'status'}`), ms }),
                ),
              onError: () => setResult(t('test.refused')),
            },
          )
        }
      >
        {t('test.button')}
      </Button>
      <span role="status">{result}</span>
    </>
  );
}

function EditButton({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  const tenant = useTenant();
  const notifyResult = useNotifyResult();
  const edit = useChange(editWebhook);
  const [isOpen, setOpen] = useState(false);
  const close = (): void => {
    edit.reset();
    setOpen(false);
  };
  return (
    <>
      <Button variant="default" leftSection={<Pencil size={16} aria-hidden />} onClick={() => setOpen(true)}>
        {t('edit.button')}
      </Button>
      <FormDialog opened={isOpen} onClose={close} title={t('edit.title')} environment={tenant.environment} size="lg">
        <WebhookFields
          initial={toForm(webhook)}
          label={t('edit.confirm')}
          hasState
          isBusy={edit.isPending}
          onCancel={close}
          onSubmit={(values, onError) =>
            edit.mutate(
              {
                params: { ...tenant, id: webhook.id },
                body: {
                  ...toAttributes(values),
                  state: values.isEnabled ? 'enabled' : 'disabled',
                  revision: webhook.revision,
                },
              },
              {
                onError,
                onSuccess: ({ approval }) => {
                  notifyResult(approval, t('edit.done'));
                  close();
                },
              },
            )
          }
        />
      </FormDialog>
    </>
  );
}

function RotateButton({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  const tenant = useTenant();
  const notifyResult = useNotifyResult();
  const rotate = useChange(rotateWebhook);
  const [isOpen, setOpen] = useState(false);
  const [overlap, setOverlap] = useState<Overlap>('h1');
  const [secret, setSecret] = useState<string>();
  const close = (): void => {
    rotate.reset();
    setOpen(false);
  };
  const send = (): void =>
    rotate.mutate(
      { params: { ...tenant, id: webhook.id }, body: { overlap_minutes: OVERLAPS[overlap] } },
      {
        onSuccess: ({ approval, result }) => {
          notifyResult(approval);
          if (result === null) close();
          else setSecret(result.secret);
        },
      },
    );
  return (
    <>
      <Button variant="default" leftSection={<RefreshCw size={16} aria-hidden />} onClick={() => setOpen(true)}>
        {t('rotate.button')}
      </Button>
      <SecretDialog
        opened={isOpen}
        onClose={close}
        onClosed={() => setSecret(undefined)}
        title={t('rotate.title')}
        size="lg"
        isPinned={secret !== undefined || rotate.isPending}
      >
        {secret !== undefined ? (
          <SecretOnce label={t('secret.label')} secret={secret} onStored={close} />
        ) : (
          <DialogForm
            label={t('rotate.confirm')}
            isBusy={rotate.isPending}
            error={rotate.error}
            onCancel={close}
            onSubmit={send}
          >
            <NativeSelect
              label={t('rotate.overlap')}
              description={t('rotate.hint')}
              data={(Object.keys(OVERLAPS) as Overlap[]).map((value) => ({ value, label: t(`rotate.${value}`) }))}
              value={overlap}
              onChange={(event) => setOverlap(event.currentTarget.value as Overlap)}
              data-autofocus
            />
          </DialogForm>
        )}
      </SecretDialog>
    </>
  );
}

function DeleteButton({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  const tenant = useTenant();
  const navigate = useNavigate();
  const remove = useChange(deleteWebhook);
  return (
    <ConfirmButton
      button={(open) => (
        <Button variant="light" color="red" leftSection={<Trash2 size={16} aria-hidden />} onClick={open}>
          {t('remove.button')}
        </Button>
      )}
      title={t('remove.title')}
      confirmLabel={t('remove.confirm')}
      isDangerous
      environment={tenant.environment}
      change={remove}
      onConfirm={(close) =>
        remove.mutate(
          { params: { ...tenant, id: webhook.id } },
          {
            onSuccess: () => {
              close();
              notifySuccess(t('remove.done'));
              void navigate(`/a/${tenant.account}/${tenant.environment}/webhooks`);
            },
          },
        )
      }
    >
      {t('remove.text', { url: webhook.url })}
    </ConfirmButton>
  );
}
