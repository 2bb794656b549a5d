import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { revokeOtherSessions, revokeSession } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import type { Profile } from './profile.ts';
import { useUserAgentText } from './user-agent.ts';

type SessionRow = Profile['sessions'][number];

export function SessionsPanel({ sessions }: { readonly sessions: readonly SessionRow[] }) {
  const { t } = useTranslation('profile');
  const revoke = useChange(revokeSession);
  const onSuccess = (): void => notifySuccess(t('ended'));
  const columns = useColumns(({ id }) => revoke.mutate({ params: { id } }, { onSuccess }), revoke.isPending);
  return (
    <Panel
      title={t('sessions')}
      description={t('sessionsHint')}
      actions={<RevokeOthersButton hasOthers={sessions.length > 1} />}
    >
      {revoke.error && <ErrorAlert error={revoke.error} />}
      <DataTable caption={t('sessions')} columns={columns} rows={sessions} rowKey={({ id }) => id} empty={null} />
    </Panel>
  );
}

/** The dialog stays while it closes, although its button disappears when no other session is left. */
function RevokeOthersButton({ hasOthers }: { readonly hasOthers: boolean }) {
  const { t } = useTranslation('profile');
  const change = useChange(revokeOtherSessions);
  const confirm = (close: () => void): void => {
    const onSuccess = (): void => {
      close();
      notifySuccess(t('ended'));
    };
    change.mutate({}, { onSuccess });
  };
  return (
    <ConfirmButton
      button={(open) =>
        hasOthers && (
          <Button variant="default" onClick={open}>
            {t('endOthers')}
          </Button>
        )
      }
      title={t('endOthersTitle')}
      confirmLabel={t('endOthers')}
      change={change}
      onConfirm={confirm}
    >
      {t('endOthersHint')}
    </ConfirmButton>
  );
}

function useColumns(onRevoke: (session: SessionRow) => void, isBusy: boolean): Column<SessionRow>[] {
  const { t } = useTranslation('profile');
  const agentText = useUserAgentText();
  return [
    {
      name: 'agent',
      header: t('session'),
      cell: (session) => <Agent session={session} />,
    },
    { name: 'since', header: t('since'), visibleFrom: 'sm', cell: ({ created_at }) => <Time value={created_at} /> },
    {
      name: 'seen',
      header: t('seen'),
      visibleFrom: 'sm',
      cell: ({ last_active_at }) => <Time value={last_active_at} isRelative />,
    },
    {
      name: 'action',
      header: t('action'),
      isHeaderHidden: true,
      isNumber: true,
      cell: (session) =>
        !session.is_current && (
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            disabled={isBusy}
            aria-label={t('endWhat', { what: `${agentText(session.agent)}, ${session.address}` })}
            onClick={() => onRevoke(session)}
          >
            {t('end')}
          </Button>
        ),
    },
  ];
}

function Agent({ session: { agent, address, is_current } }: { readonly session: SessionRow }) {
  const { t } = useTranslation('profile');
  const agentText = useUserAgentText();
  return (
    <>
      <Group gap="xs">
        <Text size="sm" fw={500} title={agent}>
          {agentText(agent)}
        </Text>
        {is_current && <Badge tone="good">{t('thisOne')}</Badge>}
      </Group>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {address}
      </Text>
    </>
  );
}
