import { Button, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { acceptInvitation } from '../../../../wire/session.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { type Session, useSessionControls } from '../../session/session.tsx';
import { useSignOut } from '../../session/sign-out.ts';
import { TwoColumns } from '../../shell/two-columns.tsx';
import type { InvitationView } from './enrollment.ts';
import { forgetSecret } from './invitation-secret.ts';
import { useInvitationText } from './invitation-text.ts';

interface AcceptInvitationProps {
  readonly secret: string;
  readonly invitation: InvitationView;
}

/** Accepts an invitation as a user who already has a sign-in. */
export function AcceptInvitation({ secret, invitation }: AcceptInvitationProps) {
  const { t } = useTranslation('join');
  const { session } = useSessionControls().visit ?? {};
  const { account, title } = useInvitationText(invitation);
  if (!session) {
    return (
      <TwoColumns title={title} hint={t('knownHint', { account })}>
        <Button component={Link} to="/sign-in" state={{ back: '/join' }} size="md">
          {t('signIn')}
        </Button>
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={title} hint={t('acceptHint', { email: session.person.email })}>
      <Acceptance secret={secret} session={session} />
    </TwoColumns>
  );
}

function Acceptance({ secret, session }: { readonly secret: string; readonly session: Session }) {
  const { t } = useTranslation('join');
  const { setSession } = useSessionControls();
  const accept = useChange(acceptInvitation);
  const signOut = useSignOut();
  const navigate = useNavigate();
  const joinAccount = (): void =>
    accept.mutate(
      { body: { invitation: secret } },
      {
        onSuccess: (now) => {
          const before = session.memberships.map((each) => each.account);
          const joined = now.memberships.find((each) => !before.includes(each.account));
          forgetSecret();
          setSession(now);
          void navigate(joined ? `/a/${joined.account}/onboarding` : '/', { replace: true });
        },
      },
    );
  return (
    <Stack gap="md">
      {accept.error && <ErrorAlert error={accept.error} isFocused />}
      <Button size="md" onClick={joinAccount} loading={accept.isPending}>
        {t('accept')}
      </Button>
      <Button variant="subtle" color="gray" onClick={() => void signOut()}>
        {t('signOutFirst')}
      </Button>
    </Stack>
  );
}
