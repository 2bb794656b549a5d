import { Button, Flex, Group, Text } from '@mantine/core';
import { Fingerprint, Plus, Smartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { removeFactor } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { canUsePasskeys } from '../../session/passkey.ts';
import { AddAppDialog } from './add-app-dialog.tsx';
import { AddPasskeyDialog } from './add-passkey-dialog.tsx';
import type { Profile } from './profile.ts';
import { RenamePasskeyDialog } from './rename-passkey-dialog.tsx';

type Factor = Profile['factors'][number];

export function FactorsPanel({ factors }: { readonly factors: readonly Factor[] }) {
  const { t } = useTranslation('profile');
  const [adding, setAdding] = useState<'app' | 'passkey'>();
  const renaming = useDialog<Factor>();
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
        columns={useColumns({ onRename: renaming.open, onRemove: setRemoving, canRemove: factors.length > 1 })}
        rows={factors}
        rowKey={({ id }) => id}
        empty={<Text size="sm">{t('noFactors')}</Text>}
      />
      <AddAppDialog opened={adding === 'app'} onClose={close} />
      <AddPasskeyDialog opened={adding === 'passkey'} onClose={close} />
      <RenamePasskeyDialog opened={renaming.opened} passkey={renaming.subject} onClose={renaming.close} />
      <RemoveDialog factor={removing} onClose={() => setRemoving(undefined)} />
    </Panel>
  );
}

interface FactorActions {
  readonly onRename: (factor: Factor) => void;
  readonly onRemove: (factor: Factor) => void;
  /** False for the last factor, which has to stay. */
  readonly canRemove: boolean;
}

/** Returns the name of a factor. There is one app only, so it needs no label. */
function useFactorName(): (factor: Factor) => string {
  const { t } = useTranslation('profile');
  return ({ kind, label }) => (kind === 'totp' ? t('app') : label);
}

function useColumns(actions: FactorActions): Column<Factor>[] {
  const { t } = useTranslation('profile');
  return [
    { name: 'label', header: t('factor'), cell: (factor) => <FactorName factor={factor} /> },
    {
      name: 'added',
      header: t('added'),
      visibleFrom: 'sm',
      cell: ({ created_at }) => <Time value={created_at} isDay />,
    },
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
      cell: (factor) => <Actions factor={factor} {...actions} />,
    },
  ];
}

function Actions({ factor, onRename, onRemove, canRemove }: FactorActions & { readonly factor: Factor }) {
  const { t } = useTranslation('profile');
  const name = useFactorName()(factor);
  const style = { variant: 'subtle', color: 'gray', size: 'compact-sm' } as const;
  return (
    <Flex direction={{ base: 'column', sm: 'row' }} gap={4} align="flex-end" justify="flex-end">
      {factor.kind === 'passkey' && (
        <Button {...style} aria-label={t('renameWhat', { what: name })} onClick={() => onRename(factor)}>
          {t('rename')}
        </Button>
      )}
      <Button
        {...style}
        disabled={!canRemove}
        aria-label={t('removeWhat', { what: name })}
        onClick={() => onRemove(factor)}
      >
        {t('remove')}
      </Button>
    </Flex>
  );
}

function FactorName({ factor }: { readonly factor: Factor }) {
  const { t } = useTranslation('profile');
  const name = useFactorName()(factor);
  const { kind } = factor;
  const Icon = kind === 'totp' ? Smartphone : Fingerprint;
  return (
    <Group gap={10} wrap="nowrap">
      <Icon size={18} strokeWidth={1.75} aria-hidden style={{ flex: 'none' }} />
      <div>
        <Text size="sm" fw={500}>
          {name}
        </Text>
        {kind === 'passkey' && (
          <Text size="xs" c="dimmed">
            {t('passkey')}
          </Text>
        )}
      </div>
    </Group>
  );
}

function RemoveDialog({ factor, onClose }: { readonly factor: Factor | undefined; readonly onClose: () => void }) {
  const { t } = useTranslation('profile');
  const nameOf = useFactorName();
  const remove = useChange(removeFactor);
  const close = (): void => {
    remove.reset();
    onClose();
  };
  const confirm = (): void => {
    if (factor === undefined) return;
    const onSuccess = (): void => {
      notifySuccess(t('removed'));
      close();
    };
    remove.mutate({ params: { id: factor.id } }, { onSuccess });
  };
  return (
    <ConfirmDialog
      opened={factor !== undefined}
      onClose={close}
      title={t('removeTitle', { label: factor === undefined ? '' : nameOf(factor) })}
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
