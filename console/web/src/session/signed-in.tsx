import { Center, Loader } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useLocation } from 'react-router';
import { Unreachable } from '../parts/unreachable.tsx';
import { IdleWarning } from './idle-warning.tsx';
import { PersonsLanguage } from './persons-language.tsx';
import { useVisit } from './session.tsx';

/** What only those see who are signed in. Others sign in first, and come back to where they wanted to go. */
export function SignedIn() {
  const { visit, error, refresh, wasLeft } = useVisit();
  const location = useLocation();
  if (visit === undefined) return error ? <Unreachable error={error} onRetry={refresh} /> : <Waiting />;
  if (visit.stage !== 'signed-in' || visit.session === null) {
    const back = wasLeft ? undefined : `${location.pathname}${location.search}`;
    return <Navigate to="/sign-in" replace state={{ back }} />;
  }
  return (
    <>
      <PersonsLanguage />
      <IdleWarning />
      <Outlet />
    </>
  );
}

export function Waiting() {
  const { t } = useTranslation();
  return (
    <Center mih="100dvh">
      <Loader aria-label={t('loading')} role="status" />
    </Center>
  );
}
