import { Button } from '@mantine/core';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  inviteOperator,
  removeOperator,
  resetOperator,
  revokeOperatorInvitation,
  showOperators,
} from '../../../../wire/team.ts';
import { useRead } from '../../api/hooks.ts';
import { PageHeader } from '../../parts/page-header.tsx';
import type { AccountRole } from '../team/role-choice.tsx';
import type { TeamCalls } from '../team/team-calls.ts';
import { TeamView } from '../team/team-view.tsx';
import { useLinkCall, usePlainCall } from '../team/use-calls.ts';

export function OperatorTeamPage() {
  const { t } = useTranslation('team');
  const [isInviting, setInviting] = useState(false);
  const team = useRead(showOperators);
  return (
    <>
      <PageHeader
        title={t('operatorsTitle')}
        description={t('operatorsDescription')}
        actions={
          <Button leftSection={<UserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
            {t('invite.button')}
          </Button>
        }
      />
      <TeamView
        team={team}
        calls={useOperatorCalls()}
        isInviting={isInviting}
        onInvited={() => setInviting(false)}
        order={2}
      />
    </>
  );
}

const useOperatorCalls = (): TeamCalls => ({
  removeText: 'remove.operatorText',
  invite: useLinkCall(inviteOperator, ({ email }: { email: string; role: AccountRole }) => ({ body: { email } })),
  withdraw: usePlainCall(revokeOperatorInvitation, (id: string) => ({ params: { id } })),
  remove: usePlainCall(removeOperator, (person: string) => ({ params: { person } })),
  reset: useLinkCall(resetOperator, (person: string) => ({ params: { person } })),
});
