import { Alert, Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { disablePayments, enablePayments } from '../../../../wire/operator.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { Details } from '../../parts/details.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { SettingName } from '../../parts/setting-name.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { EnableForm, type PaymentsView, type Setting } from '../operator-payments/enable-form.tsx';
import type { Account } from './account.ts';

interface PaymentsPanelProps {
  readonly account: Account;
  readonly payments: PaymentsView;
}

/** Shows the processor and its settings for one environment. */
export function PaymentsPanel({ account, payments }: PaymentsPanelProps) {
  const { t } = useTranslation('operator');
  const { environment, enabled, processor, settings, is_altered } = payments;
  const [isChanging, setChanging] = useState(false);
  const title = t('account.enableTitle', { environment: t(`environment.${environment}`) });
  return (
    <Panel
      title={title}
      actions={
        <>
          <EnvironmentBadge environment={environment} />
          <Badge tone={enabled ? 'good' : 'quiet'}>{enabled ? t('account.enabled') : t('account.disabled')}</Badge>
        </>
      }
    >
      {is_altered && <Alert color="red">{t('account.paymentsAltered')}</Alert>}
      <ProcessorDetails processor={processor} settings={settings} />
      <Group gap="xs">
        <Button size="sm" variant={enabled ? 'default' : 'filled'} onClick={() => setChanging(true)}>
          {enabled ? t('account.change') : t('account.enable')}
        </Button>
        {enabled && <DisableButton account={account} payments={payments} />}
      </Group>
      <FormDialog
        opened={isChanging}
        onClose={() => setChanging(false)}
        title={title}
        environment={environment}
        production={t('enable.production')}
        size="lg"
      >
        <ChangeForm account={account} payments={payments} onDone={() => setChanging(false)} />
      </FormDialog>
    </Panel>
  );
}

function ProcessorDetails({ processor, settings }: Pick<PaymentsView, 'processor' | 'settings'>) {
  const { t } = useTranslation('operator');
  if (processor === null) {
    return (
      <Text size="sm" c="dimmed">
        {t('account.paymentsText')}
      </Text>
    );
  }
  const items = settings.filter(isVisible).map((setting) => ({
    name: setting.name,
    label: <SettingName name={setting.name} />,
    value: <SettingValue {...setting} />,
  }));
  return <Details items={[{ label: t('account.processor'), value: processor }, ...items]} />;
}

const isVisible = ({ is_set, is_required }: Setting): boolean => is_set || is_required;

function SettingValue({ value, is_set, is_secret }: Setting) {
  const { t } = useTranslation('operator');
  if (!is_set) return <Badge tone="bad">{t('account.settingMissing')}</Badge>;
  return is_secret ? <Badge tone="good">{t('account.settingSet')}</Badge> : (value ?? '–');
}

function ChangeForm({ account, payments, onDone }: PaymentsPanelProps & { readonly onDone: () => void }) {
  const { t } = useTranslation('operator');
  const change = useChange(enablePayments);
  return (
    <EnableForm
      environment={payments.environment}
      current={payments}
      processor={payments.processor}
      onSubmit={(body) =>
        change.mutate(
          { params: { id: account.id, where: payments.environment }, body },
          {
            onSuccess: ({ approval }) => {
              onDone();
              notifySuccess(t(approval === null ? 'account.enabledDone' : 'account.approvalNeeded'));
            },
          },
        )
      }
      onCancel={onDone}
      label={payments.enabled ? t('enable.save') : t('account.enable')}
      isBusy={change.isPending}
      error={change.error}
    />
  );
}

function DisableButton({ account, payments: { environment } }: PaymentsPanelProps) {
  const { t } = useTranslation('operator');
  const change = useChange(disablePayments);
  const confirm = (close: () => void): void =>
    change.mutate(
      { params: { id: account.id, where: environment } },
      {
        onSuccess: ({ approval }) => {
          close();
          notifySuccess(t(approval === null ? 'account.disabledDone' : 'account.approvalNeeded'));
        },
      },
    );
  return (
    <ConfirmButton
      button={(open) => (
        <Button size="sm" variant="subtle" color="gray" onClick={open}>
          {t('account.disable')}
        </Button>
      )}
      title={t('account.disableTitle', { environment: t(`environment.${environment}`) })}
      environment={environment}
      confirmLabel={t('account.disableConfirm')}
      change={change}
      onConfirm={confirm}
      isDangerous
    >
      {t('account.disableText')}
    </ConfirmButton>
  );
}
