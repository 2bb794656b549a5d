import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Time } from '../../parts/time.tsx';
import type { Invitation, PlainChange } from './team-calls.ts';

interface InvitationsTableProps {
  readonly invitations: readonly Invitation[];
  readonly withdraw: PlainChange<string> | undefined;
}

export function InvitationsTable({ invitations, withdraw }: InvitationsTableProps) {
  const { t } = useTranslation('team');
  const [selected, setSelected] = useState<Invitation>();
  const [isConfirming, setConfirming] = useState(false);
  const recipient = ({ person, email }: Invitation): string => person ?? email ?? t('anyone');
  const openDialog = (invitation: Invitation): void => {
    withdraw?.reset();
    setSelected(invitation);
    setConfirming(true);
  };
  const columns: readonly Column<Invitation>[] = [
    {
      name: 'email',
      header: t('columns.email'),
      cell: (invitation) => (
        <Stack gap={0} miw={0}>
          <Text span size="sm" fw={500}>
            {recipient(invitation)}
          </Text>
          {invitation.person !== null && (
            <Text span size="xs" c="dimmed">
              {invitation.email}
            </Text>
          )}
        </Stack>
      ),
    },
    {
      name: 'role',
      header: t('columns.role'),
      visibleFrom: 'sm',
      cell: ({ role }) => (role === null ? t('signInReset') : t(`role.${role}`)),
    },
    { name: 'by', header: t('columns.by'), visibleFrom: 'md', cell: ({ invited_by }) => invited_by },
    {
      name: 'expires',
      header: t('columns.expires'),
      visibleFrom: 'sm',
      cell: ({ expires_at }) => <Time value={expires_at} />,
    },
    {
      name: 'actions',
      header: t('columns.actions'),
      isHeaderHidden: true,
      width: 110,
      cell: (invitation) =>
        withdraw && (
          <Button
            variant="default"
            size="xs"
            aria-label={t('withdraw.label', { email: recipient(invitation) })}
            onClick={() => openDialog(invitation)}
          >
            {t('withdraw.button')}
          </Button>
        ),
    },
  ];
  const done = (): void => {
    setConfirming(false);
    notifySuccess(t('withdraw.done'));
  };
  return (
    <>
      <DataTable
        caption={t('invitations')}
        columns={columns}
        rows={invitations}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed">
            {t('noInvitations')}
          </Text>
        }
      />
      <ConfirmDialog
        opened={isConfirming}
        onClose={() => setConfirming(false)}
        title={t('withdraw.title')}
        confirmLabel={t('withdraw.confirm')}
        onConfirm={() => selected !== undefined && withdraw?.send(selected.id, done)}
        isBusy={withdraw?.isBusy ?? false}
        error={withdraw?.error ?? null}
        isDangerous
      >
        {selected !== undefined && <strong>{recipient(selected)}</strong>} {t('withdraw.text')}
      </ConfirmDialog>
    </>
  );
}
