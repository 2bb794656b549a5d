import { Button, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { acceptInvitation } from '../../../../wire/session.ts';
import { useChange } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useVisit } from '../../session/session.tsx';
import { useSignOut } from '../../session/sign-out.ts';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { forgetSecret } from './invitation-secret.ts';
import type { Invited } from './join-page.tsx';
import { useInvitedWords } from './words.ts';

interface AcceptInvitationProps {
  readonly secret: string;
  readonly invited: Invited;
}

/** For who has a sign-in already. */
export function AcceptInvitation({ secret, invited }: AcceptInvitationProps) {
  const { t } = useTranslation('join');
  const { visit, adopt } = useVisit();
  const { account, title } = useInvitedWords(invited);
  const accept = useChange(acceptInvitation);
  const signOut = useSignOut();
  const navigate = useNavigate();
  const session = visit?.session;
  if (!session) {
    return (
      <TwoColumns title={title} hint={t('knownHint', { account })}>
        <Button component={Link} to="/sign-in" state={{ back: '/join' }} size="md">
          {t('signIn')}
        </Button>
      </TwoColumns>
    );
  }
  const join = (): void =>
    accept.mutate(
      { body: { invitation: secret } },
      {
        onSuccess: (now) => {
          const before = session.memberships.map((each) => each.account);
          const joined = now.memberships.find((each) => !before.includes(each.account));
          forgetSecret();
          adopt(now);
          void navigate(joined ? `/a/${joined.account}/onboarding` : '/', { replace: true });
        },
      },
    );
  return (
    <TwoColumns title={title} hint={t('acceptHint', { email: session.person.email })}>
      <Stack gap="md">
        {accept.error && <ErrorAlert error={accept.error} isFocused />}
        <Button size="md" onClick={join} loading={accept.isPending}>
          {t('accept')}
        </Button>
        <Button variant="subtle" color="gray" onClick={() => void signOut()}>
          {t('signOutFirst')}
        </Button>
      </Stack>
    </TwoColumns>
  );
}
