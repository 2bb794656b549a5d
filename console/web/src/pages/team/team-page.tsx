import { Alert, Button, Stack } from '@mantine/core';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  changeRole,
  inviteToTeam,
  removeFromTeam,
  resetMember,
  revokeInvitation,
  showTeam,
} from '../../../../wire/team.ts';
import { useRead } from '../../api/hooks.ts';
import { DualControlQuestion } from '../../parts/dual-control-question.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useMembership } from '../../session/tenant.ts';
import type { AccountRole } from './role-choice.tsx';
import type { TeamCalls } from './team-calls.ts';
import { TeamView } from './team-view.tsx';
import { useLinkCall, usePlainCall } from './use-calls.ts';

export function TeamPage() {
  const { t } = useTranslation('team');
  const { account } = useMembership();
  const mayWrite = useCan()('team:write');
  const [isInviting, setInviting] = useState(false);
  const team = useRead(showTeam, { params: { account } });
  const calls = useTeamCalls(account);
  const isAlone = team.data !== undefined && team.data.people.length === 1 && team.data.invitations.length === 0;
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        actions={
          mayWrite && (
            <Button leftSection={<UserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
              {t('invite.button')}
            </Button>
          )
        }
      />
      <Stack gap="md">
        {isAlone && mayWrite && (
          <Alert color="ink" title={t('alone.title')}>
            {t('alone.text')}
          </Alert>
        )}
        <DualControlQuestion />
        <TeamView
          team={team}
          calls={mayWrite ? calls : { removeText: 'remove.text' }}
          isInviting={isInviting}
          onInvited={() => setInviting(false)}
          order={2}
        />
      </Stack>
    </>
  );
}

function useTeamCalls(account: string): TeamCalls {
  const toParams = (person: string) => ({ params: { account, person } });
  return {
    firstRole: 'developer',
    removeText: 'remove.text',
    invite: useLinkCall(inviteToTeam, (body: { email: string; role: AccountRole }) => ({
      params: { account },
      body,
    })),
    withdraw: usePlainCall(revokeInvitation, (id: string) => ({ params: { account, id } })),
    changeRole: usePlainCall(changeRole, ({ person, role }: { person: string; role: AccountRole }) => ({
      ...toParams(person),
      body: { role },
    })),
    remove: usePlainCall(removeFromTeam, toParams),
    reset: useLinkCall(resetMember, toParams),
  };
}
