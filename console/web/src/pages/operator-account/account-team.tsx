import { Button } from '@mantine/core';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { inviteOwner, resetAccountMember, revokeAccountInvitation, showAccountTeam } from '../../../../wire/team.ts';
import { useRead } from '../../api/hooks.ts';
import { Panel } from '../../parts/panel.tsx';
import type { AccountRole } from '../team/role-choice.tsx';
import type { TeamCalls } from '../team/team-calls.ts';
import { TeamView } from '../team/team-view.tsx';
import { useLinkCall, usePlainCall } from '../team/use-calls.ts';

/** Shows the users of the merchant, as far as operators administer them. */
export function AccountTeam({ account }: { readonly account: string }) {
  const { t } = useTranslation('operator');
  const [isInviting, setInviting] = useState(false);
  const team = useRead(showAccountTeam, { params: { id: account } });
  return (
    <Panel
      title={t('account.team')}
      description={t('account.teamText')}
      actions={
        <Button
          variant="default"
          size="xs"
          leftSection={<UserPlus size={14} aria-hidden />}
          onClick={() => setInviting(true)}
        >
          {t('account.inviteOwner')}
        </Button>
      }
    >
      <TeamView
        team={team}
        calls={useAccountTeamCalls(account)}
        isInviting={isInviting}
        onInvited={() => setInviting(false)}
        order={3}
      />
    </Panel>
  );
}

const useAccountTeamCalls = (id: string): TeamCalls => ({
  firstRole: 'owner',
  removeText: 'remove.text',
  invite: useLinkCall(inviteOwner, (body: { email: string; role: AccountRole }) => ({ params: { id }, body })),
  withdraw: usePlainCall(revokeAccountInvitation, (invitation: string) => ({ params: { id, invitation } })),
  reset: useLinkCall(resetAccountMember, (person: string) => ({ params: { id, person } })),
});
