import { Suspense } from 'react';
import { Outlet } from 'react-router';
import { LoadingScreen } from '../session/require-sign-in.tsx';
import { ErrorBoundary } from './error-boundary.tsx';

/** Layout of the pages before sign-in. */
export function SignedOutLayout() {
  return (
    <ErrorBoundary>
      <Suspense fallback={<LoadingScreen />}>
        <Outlet />
      </Suspense>
    </ErrorBoundary>
  );
}
