import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { revokeOtherSessions, revokeSession } from '../../../../wire/profile.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { noteDone } from '../../parts/notices.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useAgentText } from './agent.ts';
import type { Profile } from './profile-page.tsx';

type OneSession = Profile['sessions'][number];

export function SessionsPanel({ sessions }: { readonly sessions: readonly OneSession[] }) {
  const { t } = useTranslation('profile');
  const [isAsking, setAsking] = useState(false);
  const end = useChange(revokeSession);
  const endOthers = useChange(revokeOtherSessions);
  const onSuccess = (): void => {
    setAsking(false);
    noteDone(t('ended'));
  };
  const columns = useColumns(({ id }) => end.mutate({ params: { id } }, { onSuccess }), end.isPending);
  return (
    <Panel
      title={t('sessions')}
      description={t('sessionsHint')}
      actions={
        sessions.length > 1 && (
          <Button variant="default" onClick={() => setAsking(true)}>
            {t('endOthers')}
          </Button>
        )
      }
    >
      {end.error && <ErrorAlert error={end.error} />}
      <DataTable caption={t('sessions')} columns={columns} rows={sessions} rowKey={({ id }) => id} empty={null} />
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('endOthersTitle')}
        confirmLabel={t('endOthers')}
        onConfirm={() => endOthers.mutate({}, { onSuccess })}
        isBusy={endOthers.isPending}
        error={endOthers.error}
      >
        {t('endOthersHint')}
      </ConfirmDialog>
    </Panel>
  );
}

function useColumns(onEnd: (session: OneSession) => void, isBusy: boolean): Column<OneSession>[] {
  const { t } = useTranslation('profile');
  const agentText = useAgentText();
  return [
    {
      name: 'agent',
      header: t('session'),
      cell: ({ agent, address, is_current }) => (
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
      ),
    },
    { name: 'since', header: t('since'), from: 'sm', cell: ({ created_at }) => <Time value={created_at} /> },
    { name: 'seen', header: t('seen'), from: 'sm', cell: ({ seen_at }) => <Time value={seen_at} isRelative /> },
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
            onClick={() => onEnd(session)}
          >
            {t('end')}
          </Button>
        ),
    },
  ];
}
