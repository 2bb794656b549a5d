import { Button, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'react-router';
import { showInvitation } from '../../../../wire/session.ts';
import { type CallError, call } from '../../api/call.ts';
import { Unreachable } from '../../parts/unreachable.tsx';
import { LoadingScreen } from '../../session/require-sign-in.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { AcceptInvitation } from './accept-invitation.tsx';
import type { InvitationView } from './enrollment.ts';
import { useInvitationSecret } from './invitation-secret.ts';
import { hasEnrolled, JoinSteps } from './join-steps.tsx';

/** Returns true for any rejection: the service does not reveal what is wrong with a link. */
const isInvalidLink = ({ status, code }: CallError): boolean =>
  status >= 400 && status < 500 && code !== 'rate_limited';

export function JoinPage() {
  const secret = useInvitationSecret();
  return <InvitationLoader key={secret} secret={secret} />;
}

function InvitationLoader({ secret }: { readonly secret: string }) {
  const { visit, error: failure, refresh } = useSessionControls();
  // The data stays during the steps: they use up the link, and reading it again would fail.
  const [invitation, setInvitation] = useState<InvitationView>();
  const { data, error, refetch } = useQuery<InvitationView, CallError>({
    queryKey: ['invitation', secret],
    queryFn: () => call(showInvitation, { body: { invitation: secret } }),
    // Enrollment drops all loaded data, which would read the invitation again.
    enabled: secret !== '' && invitation === undefined,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  useEffect(() => {
    if (data !== undefined) setInvitation(data);
  }, [data]);
  if (invitation !== undefined && visit !== undefined)
    return <ValidInvitation secret={secret} invitation={invitation} />;
  if (failure && visit === undefined) return <Unreachable error={failure} onRetry={refresh} />;
  if (secret === '') return <MissingLink />;
  if (error && isInvalidLink(error)) return <InvalidLink />;
  if (error) return <Unreachable error={error} onRetry={() => void refetch()} />;
  return <LoadingScreen />;
}

const ValidInvitation = ({ secret, invitation }: { readonly secret: string; readonly invitation: InvitationView }) =>
  invitation.is_known && invitation.kind === 'invite' ? (
    <AcceptInvitation secret={secret} invitation={invitation} />
  ) : (
    <JoinSteps secret={secret} invitation={invitation} />
  );

function InvalidLink() {
  const { t } = useTranslation('join');
  return (
    <TwoColumns title={t('deadTitle')} hint={t('deadHint')}>
      <StartButton />
    </TwoColumns>
  );
}

/** Shown after a reload, which loses the secret. The link stays valid unless enrollment was completed. */
function MissingLink() {
  const { t } = useTranslation('join');
  if (!hasEnrolled(useLocation().state)) {
    return (
      <TwoColumns title={t('againTitle')} hint={t('againHint')}>
        <StartButton />
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={t('joinedTitle')} hint={t('joinedHint')}>
      <Stack>
        <Button component={Link} to="/profile" replace size="md">
          {t('toProfile')}
        </Button>
        <Button component={Link} to="/" replace variant="default" size="md">
          {t('goOn')}
        </Button>
      </Stack>
    </TwoColumns>
  );
}

function StartButton() {
  const { t } = useTranslation('join');
  return (
    <Stack align="flex-start">
      <Button component={Link} to="/" variant="default" size="md">
        {t('toStart')}
      </Button>
    </Stack>
  );
}
