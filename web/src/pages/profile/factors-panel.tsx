import { Button, Group, Text } from '@mantine/core';
import { Fingerprint, Plus, Smartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { removeFactor } from '../../../../src/console/wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { canUsePasskeys } from '../../session/passkey.ts';
import { AddAppDialog } from './add-app-dialog.tsx';
import { AddPasskeyDialog } from './add-passkey-dialog.tsx';
import type { Profile } from './profile-page.tsx';

type Factor = Profile['factors'][number];

export function FactorsPanel({ factors }: { readonly factors: readonly Factor[] }) {
  const { t } = useTranslation('profile');
  const [adding, setAdding] = useState<'app' | 'passkey'>();
  const [removing, setRemoving] = useState<Factor>();
  const close = (): void => setAdding(undefined);
  const hasApp = factors.some(({ kind }) => kind === 'totp');
  return (
    <Panel
      title={t('factors')}
      description={t('factorsHint')}
      actions={
        <>
          {canUsePasskeys() && (
            <Button variant="default" leftSection={<Plus size={16} aria-hidden />} onClick={() => setAdding('passkey')}>
              {t('addPasskey')}
            </Button>
          )}
          <Button variant="default" onClick={() => setAdding('app')}>
            {hasApp ? t('appReplaces') : t('addApp')}
          </Button>
        </>
      }
    >
      <DataTable
        caption={t('factors')}
        columns={useColumns(setRemoving, factors.length > 1)}
        rows={factors}
        rowKey={({ id }) => id}
        empty={<Text size="sm">{t('noFactors')}</Text>}
      />
      <AddAppDialog opened={adding === 'app'} onClose={close} />
      <AddPasskeyDialog opened={adding === 'passkey'} onClose={close} />
      <RemoveDialog factor={removing} onClose={() => setRemoving(undefined)} />
    </Panel>
  );
}

function useColumns(onRemove: (factor: Factor) => void, canRemove: boolean): Column<Factor>[] {
  const { t } = useTranslation('profile');
  return [
    { name: 'label', header: t('factor'), cell: (factor) => <Named factor={factor} /> },
    { name: 'added', header: t('added'), from: 'sm', cell: ({ created_at }) => <Time value={created_at} isDay /> },
    {
      name: 'used',
      header: t('lastUsed'),
      cell: ({ last_used_at }) => <Time value={last_used_at} isDay none={t('never')} />,
    },
    {
      name: 'action',
      header: t('action'),
      isHeaderHidden: true,
      isNumber: true,
      cell: (factor) => (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          // The last one has to stay.
          disabled={!canRemove}
          aria-label={t('removeWhat', { what: factor.label })}
          onClick={() => onRemove(factor)}
        >
          {t('remove')}
        </Button>
      ),
    },
  ];
}

function Named({ factor: { kind, label } }: { readonly factor: Factor }) {
  const { t } = useTranslation('profile');
  const Icon = kind === 'totp' ? Smartphone : Fingerprint;
  return (
    <Group gap={10} wrap="nowrap">
      <Icon size={18} strokeWidth={1.75} aria-hidden style={{ flex: 'none' }} />
      <div>
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          {kind === 'totp' ? t('app') : t('passkey')}
        </Text>
      </div>
    </Group>
  );
}

function RemoveDialog({ factor, onClose }: { readonly factor: Factor | undefined; readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const remove = useChange(removeFactor);
  const close = (): void => {
    remove.reset();
    onClose();
  };
  const confirm = (): void => {
    if (factor === undefined) return;
    const onSuccess = (): void => {
      noteDone(t('removed'));
      close();
    };
    remove.mutate({ params: { id: factor.id } }, { onSuccess });
  };
  return (
    <ConfirmDialog
      opened={factor !== undefined}
      onClose={close}
      title={t('removeTitle', { label: factor?.label ?? '' })}
      confirmLabel={t('remove')}
      onConfirm={confirm}
      isBusy={remove.isPending}
      error={remove.error}
      isDangerous
    >
      {t('removeHint')}
    </ConfirmDialog>
  );
}
