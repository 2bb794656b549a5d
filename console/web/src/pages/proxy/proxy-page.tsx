import { Button, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { removeProxy, showProxy } from '../../../../wire/proxy.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { useNotifyResult } from '../../parts/notifications.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { type Configuration, KeyPanels } from './key-panels.tsx';
import { SettingsPanel } from './settings-panel.tsx';
import { type KeyKind, UploadForm } from './upload-form.tsx';

const TITLES = {
  processor: 'upload.titleProcessor',
  merchant: 'upload.titleMerchant',
  certificate: 'upload.titleCertificate',
} as const;

const listKeys = (kind: KeyKind, configuration: Configuration): readonly unknown[] => {
  if (kind === 'processor') return configuration.processor_public_keys;
  return kind === 'merchant' ? configuration.merchant_private_keys : configuration.merchant_certificates;
};

export function ProxyPage() {
  const { t } = useTranslation('proxy');
  const { account, environment } = useTenant();
  const { data, error, refetch } = useRead(showProxy, { params: { account, environment } });
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        actions={data !== undefined && isConfigured(data) ? <RemoveButton /> : undefined}
      />
      {data !== undefined && <ProxyContent key={`${account}/${environment}`} configuration={data} />}
      {data === undefined && (error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />)}
    </>
  );
}

const isConfigured = ({ processor_public_keys, merchant_private_keys, settings }: Configuration): boolean =>
  processor_public_keys.length > 0 || merchant_private_keys.length > 0 || settings.some(({ is_set }) => is_set);

function ProxyContent({ configuration }: { readonly configuration: Configuration }) {
  const { t } = useTranslation('proxy');
  const { environment } = useTenant();
  const mayWrite = useCan()('proxy:write');
  const dialog = useDialog<KeyKind>();
  const { subject: kind } = dialog;
  return (
    <Stack gap="md">
      <KeyPanels configuration={configuration} onUpload={mayWrite ? dialog.open : undefined} />
      <SettingsPanel settings={configuration.settings} />
      <FormDialog
        opened={dialog.opened}
        onClose={dialog.close}
        title={kind === undefined ? '' : t(TITLES[kind])}
        environment={environment}
        production={t('upload.production')}
        size="lg"
      >
        {kind !== undefined && (
          <UploadForm kind={kind} isReplacing={listKeys(kind, configuration).length > 0} onDone={dialog.close} />
        )}
      </FormDialog>
    </Stack>
  );
}

function RemoveButton() {
  const { t } = useTranslation('proxy');
  const { account, environment } = useTenant();
  const mayWrite = useCan()('proxy:write');
  const notifyResult = useNotifyResult();
  const change = useChange(removeProxy);
  if (!mayWrite) return null;
  const remove = (close: () => void): void =>
    change.mutate(
      { params: { account, environment } },
      {
        onSuccess: ({ approval }) => {
          close();
          notifyResult(approval, t('remove.done'));
        },
      },
    );
  return (
    <ConfirmButton
      button={(open) => (
        <Button variant="default" onClick={open}>
          {t('remove.button')}
        </Button>
      )}
      title={t('remove.title')}
      environment={environment}
      confirmLabel={t('remove.confirm')}
      change={change}
      onConfirm={remove}
      isDangerous
      {...(environment === 'production' && { confirmText: t('remove.typed') })}
    >
      {t('remove.text')}
    </ConfirmButton>
  );
}

function Skeletons() {
  return (
    <Stack gap="md" aria-hidden>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Skeleton height={190} />
        <Skeleton height={190} />
        <Skeleton height={190} />
      </SimpleGrid>
      <Skeleton height={320} />
    </Stack>
  );
}
