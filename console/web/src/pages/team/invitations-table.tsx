import { Button, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Time } from '../../parts/time.tsx';
import type { Invitation, PlainChange } from './team-calls.ts';

interface InvitationsTableProps {
  readonly invitations: readonly Invitation[];
  readonly withdraw: PlainChange<string> | undefined;
}

export function InvitationsTable({ invitations, withdraw }: InvitationsTableProps) {
  const { t } = useTranslation('team');
  const dialog = useDialog<Invitation>();
  const openDialog = (invitation: Invitation): void => {
    withdraw?.reset();
    dialog.open(invitation);
  };
  return (
    <>
      <DataTable
        caption={t('invitations')}
        columns={useColumns(withdraw && openDialog)}
        rows={invitations}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed">
            {t('noInvitations')}
          </Text>
        }
      />
      {withdraw && (
        <WithdrawDialog opened={dialog.opened} invitation={dialog.subject} withdraw={withdraw} onClose={dialog.close} />
      )}
    </>
  );
}

/** Returns the name or address of the invited user. */
function useRecipient(): (invitation: Invitation) => string {
  const { t } = useTranslation('team');
  return ({ person, email }) => person ?? email ?? t('anyone');
}

function useColumns(onWithdraw: ((invitation: Invitation) => void) | undefined): readonly Column<Invitation>[] {
  const { t } = useTranslation('team');
  const recipient = useRecipient();
  return [
    { name: 'email', header: t('columns.email'), cell: (invitation) => <Recipient invitation={invitation} /> },
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
        onWithdraw && (
          <Button
            variant="default"
            size="xs"
            aria-label={t('withdraw.label', { email: recipient(invitation) })}
            onClick={() => onWithdraw(invitation)}
          >
            {t('withdraw.button')}
          </Button>
        ),
    },
  ];
}

function Recipient({ invitation }: { readonly invitation: Invitation }) {
  const recipient = useRecipient();
  return (
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
  );
}

interface WithdrawDialogProps {
  readonly opened: boolean;
  readonly invitation: Invitation | undefined;
  readonly withdraw: PlainChange<string>;
  readonly onClose: () => void;
}

function WithdrawDialog({ opened, invitation, withdraw, onClose }: WithdrawDialogProps) {
  const { t } = useTranslation('team');
  const recipient = useRecipient();
  const done = (): void => {
    onClose();
    notifySuccess(t('withdraw.done'));
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('withdraw.title')}
      confirmLabel={t('withdraw.confirm')}
      onConfirm={() => invitation !== undefined && withdraw.send(invitation.id, done)}
      isBusy={withdraw.isBusy}
      error={withdraw.error}
      isDangerous
    >
      {invitation !== undefined && <strong>{recipient(invitation)}</strong>} {t('withdraw.text')}
    </ConfirmDialog>
  );
}
