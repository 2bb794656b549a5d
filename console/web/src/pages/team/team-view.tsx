import { Stack, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallError } from '../../api/call.ts';
import { FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { InvitationsTable } from './invitations-table.tsx';
import { InviteForm } from './invite-form.tsx';
import { LinkDialog, type PersonalLink } from './link-dialog.tsx';
import { PeopleTable, type PersonAction } from './people-table.tsx';
import { PersonDialogs } from './person-dialogs.tsx';
import type { Person, Team, TeamCalls } from './team-calls.ts';

interface TeamViewProps {
  readonly team: Pick<UseQueryResult<Team, CallError>, 'data' | 'error' | 'refetch'>;
  readonly calls: TeamCalls;
  /** The button that opens the form is elsewhere on the page. */
  readonly isInviting: boolean;
  readonly onInvited: () => void;
  /** Level of the heading above the invitations. */
  readonly order: 2 | 3;
}

function listActions(calls: TeamCalls, { may_reset, is_you }: Person): readonly PersonAction[] {
  return [
    ...(calls.changeRole ? (['change'] as const) : []),
    // Users change their own sign-in under Profile.
    ...(calls.reset && may_reset && !is_you ? (['reset'] as const) : []),
    ...(calls.remove ? (['remove'] as const) : []),
  ];
}

/** Shows users and pending invitations of an account or of the operators. */
export function TeamView({ team, calls, isInviting, onInvited, order }: TeamViewProps) {
  const { t } = useTranslation('team');
  const [link, setLink] = useState<PersonalLink>();
  const dialog = useDialog<{ action: PersonAction; person: Person }>();
  const { data, error, refetch } = team;
  const hasInvitations = (data?.invitations.length ?? 0) > 0;
  const openAction = (action: PersonAction, person: Person): void => {
    calls.changeRole?.reset();
    calls.remove?.reset();
    dialog.open({ action, person });
  };
  const onLink = (created: PersonalLink): void => {
    onInvited();
    setLink(created);
  };
  return (
    <Stack gap="xl">
      <PeopleTable
        isInvited={hasInvitations}
        people={data?.people}
        error={error}
        onRetry={refetch}
        actionsFor={(person) => listActions(calls, person)}
        onAction={openAction}
      />
      {hasInvitations && (
        <Stack gap="sm">
          <Title order={order} size="h3">
            {t('invitations')}
          </Title>
          <InvitationsTable invitations={data?.invitations ?? []} withdraw={calls.withdraw} />
        </Stack>
      )}
      <PersonDialogs calls={calls} opened={dialog.opened} {...dialog.subject} onClose={dialog.close} onLink={setLink} />
      {calls.invite && (
        <FormDialog opened={isInviting} onClose={onInvited} title={t('invite.title')}>
          <InviteForm invite={calls.invite} firstRole={calls.firstRole} onCancel={onInvited} onLink={onLink} />
        </FormDialog>
      )}
      <LinkDialog link={link} onClose={() => setLink(undefined)} />
    </Stack>
  );
}
