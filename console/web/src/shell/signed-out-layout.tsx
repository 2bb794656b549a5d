import { Suspense } from 'react';
import { Outlet } from 'react-router';
import { LoadingScreen } from '../session/require-sign-in.tsx';
import { ErrorBoundary } from './error-boundary.tsx';

/** Around the pages of who is not signed in yet. */
export function SignedOutLayout() {
  return (
    <ErrorBoundary>
      <Suspense fallback={<LoadingScreen />}>
        <Outlet />
      </Suspense>
    </ErrorBoundary>
  );
}
