import { Alert, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Clock } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useNavigate } from 'react-router';
import { Unreachable } from '../../parts/unreachable.tsx';
import { LoadingScreen } from '../../session/require-sign-in.tsx';
import type { Methods } from '../../session/second-factor.tsx';
import { useSessionControls } from '../../session/session.tsx';
import { TwoColumns } from '../../shell/two-columns.tsx';
import { PasswordStep } from './password-step.tsx';
import { SecondStep } from './second-step.tsx';

/** Returns the page to open after sign-in, only within the console. */
function parseReturnPath(state: unknown): string {
  const back = (state as { back?: unknown } | null)?.back;
  if (typeof back !== 'string' || !back.startsWith('/')) return '/';
  const url = URL.parse(back, window.location.origin);
  return url?.origin === window.location.origin ? `${url.pathname}${url.search}` : '/';
}

export function SignInPage() {
  const { t } = useTranslation('signIn');
  const { visit, error, refresh, hasEnded } = useSessionControls();
  const navigate = useNavigate();
  const { state } = useLocation();
  const [methodsAfterPassword, setMethodsAfterPassword] = useState<Methods>();
  const isSignedIn = visit?.stage === 'signed-in';
  useEffect(() => {
    if (isSignedIn) void navigate(parseReturnPath(state), { replace: true });
  }, [isSignedIn, navigate, state]);

  // Notifications of the previous user are removed.
  useEffect(() => notifications.clean(), []);

  if (visit === undefined) return error ? <Unreachable error={error} onRetry={refresh} /> : <LoadingScreen />;
  if (isSignedIn) return <LoadingScreen />;
  // After a reload between the steps, the service still knows the first.
  const methods = methodsAfterPassword ?? (visit.stage === 'password-given' ? visit.methods : undefined);
  if (methods === undefined) {
    return (
      <TwoColumns title={t('title')} hint={hasEnded ? undefined : t('hint')}>
        <Stack gap="md">
          {hasEnded && (
            <Alert color="yellow" icon={<Clock size={18} aria-hidden />} role="status">
              {t('ended')}
            </Alert>
          )}
          <PasswordStep onAccepted={setMethodsAfterPassword} />
        </Stack>
      </TwoColumns>
    );
  }
  return (
    <TwoColumns title={t('second')} hint={t('secondHint')}>
      <SecondStep methods={methods} onBack={() => setMethodsAfterPassword(undefined)} />
    </TwoColumns>
  );
}
