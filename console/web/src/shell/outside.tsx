import { Suspense } from 'react';
import { Outlet } from 'react-router';
import { Waiting } from '../session/signed-in.tsx';
import { Boundary } from './boundary.tsx';

/** Around the pages of who is not signed in yet. */
export function Outside() {
  return (
    <Boundary>
      <Suspense fallback={<Waiting />}>
        <Outlet />
      </Suspense>
    </Boundary>
  );
}
