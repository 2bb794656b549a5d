import { Button, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { showInvitation } from '../../../../wire/session.ts';
import { type CallError, call } from '../../api/call.ts';
import { Unreachable } from '../../parts/unreachable.tsx';
import { useVisit } from '../../session/session.tsx';
import { Waiting } from '../../session/signed-in.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { AcceptInvitation } from './accept-invitation.tsx';
import { useInvitationSecret } from './invitation-secret.ts';
import { hasJoined, JoinSteps } from './join-steps.tsx';

export type Invited = ValueOf<typeof showInvitation.data>;

/** The service tells nobody what exactly is wrong with a link. */
const isDead = ({ status, code }: CallError): boolean => status >= 400 && status < 500 && code !== 'rate_limited';

export function JoinPage() {
  const secret = useInvitationSecret();
  return <Invitation key={secret} secret={secret} />;
}

function Invitation({ secret }: { readonly secret: string }) {
  const { visit, error: failure, refresh } = useVisit();
  // Stays while the steps are taken, for the link is used up on the way: read again, it would be dead.
  const [invited, setInvited] = useState<Invited>();
  const { data, error, refetch } = useQuery<Invited, CallError>({
    queryKey: ['invitation', secret],
    queryFn: () => call(showInvitation, { body: { invitation: secret } }),
    // Whoever has joined drops what was read before, and that would read it again.
    enabled: secret !== '' && invited === undefined,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  useEffect(() => {
    if (data !== undefined) setInvited(data);
  }, [data]);
  if (invited !== undefined && visit !== undefined) return <Open secret={secret} invited={invited} />;
  if (failure && visit === undefined) return <Unreachable error={failure} onRetry={refresh} />;
  if (secret === '') return <NoLink />;
  if (error && isDead(error)) return <DeadLink />;
  if (error) return <Unreachable error={error} onRetry={() => void refetch()} />;
  return <Waiting />;
}

const Open = ({ secret, invited }: { readonly secret: string; readonly invited: Invited }) =>
  invited.is_known && invited.kind === 'invite' ? (
    <AcceptInvitation secret={secret} invited={invited} />
  ) : (
    <JoinSteps secret={secret} invited={invited} />
  );

function DeadLink() {
  const { t } = useTranslation('join');
  return (
    <TwoColumns title={t('deadTitle')} hint={t('deadHint')}>
      <ToStart />
    </TwoColumns>
  );
}

/** The page was loaded anew, and its secret is gone: the link is as good as it was, unless joining was over by then. */
function NoLink() {
  const { t } = useTranslation('join');
  if (!hasJoined(useLocation().state)) {
    return (
      <TwoColumns title={t('againTitle')} hint={t('againHint')}>
        <ToStart />
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

function ToStart() {
  const { t } = useTranslation('join');
  return (
    <Stack align="flex-start">
      <Button component={Link} to="/" variant="default" size="md">
        {t('toStart')}
      </Button>
    </Stack>
  );
}
