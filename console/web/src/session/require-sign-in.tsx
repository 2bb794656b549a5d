import { Center, Loader } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation } from 'react-router';
import { resolveTimeZone, TimeZoneContext } from '../parts/time-zone.tsx';
import { Unreachable } from '../parts/unreachable.tsx';
import { IdleWarning } from './idle-warning.tsx';
import { useSessionControls } from './session.tsx';
import { UserLanguage } from './user-language.tsx';

/** Shows its routes to signed-in users. Others sign in first and return to the page. */
export function RequireSignIn() {
  const { visit, error, refresh, hasSignedOut } = useSessionControls();
  const location = useLocation();
  if (visit === undefined) return error ? <Unreachable error={error} onRetry={refresh} /> : <LoadingScreen />;
  if (visit.stage !== 'signed-in' || visit.session === null) {
    const back = hasSignedOut ? undefined : `${location.pathname}${location.search}`;
    return <Navigate to="/sign-in" replace state={{ back }} />;
  }
  return (
    <TimeZoneContext value={resolveTimeZone(visit.session.person.time_zone)}>
      <UserLanguage />
      <IdleWarning />
      <Outlet />
    </TimeZoneContext>
  );
}

export function LoadingScreen() {
  const { t } = useTranslation();
  return (
    <Center mih="100dvh">
      <Loader aria-label={t('loading')} role="status" />
    </Center>
  );
}
