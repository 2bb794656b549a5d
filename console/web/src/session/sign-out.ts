import { useCallback } from 'react';
import { showSession, signOut } from '../../../wire/session.ts';
import { CallError, call, setCsrfToken } from '../api/call.ts';
import { useSessionControls } from './session.tsx';
import { postToTabs } from './tab-sync.ts';

/** At the service. Where another tab has signed in since, the token here is of the session before: it is read anew. */
export async function endOwnSession(): Promise<void> {
  try {
    await call(signOut);
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 'cross_site') throw error;
    setCsrfToken((await call(showSession)).csrf_token ?? '');
    await call(signOut);
  }
}

/** Ends the session here, in all tabs, and at the service. */
export function useSignOut(): () => Promise<void> {
  const { clearSession, refresh } = useSessionControls();
  return useCallback(async () => {
    try {
      await endOwnSession();
    } catch (error) {
      // The session may have ended by itself; anything else must not look as if it had.
      if (!(error instanceof CallError) || error.code !== 'not_signed_in') return void refresh();
    }
    clearSession(true);
    postToTabs('signed-out');
  }, [clearSession, refresh]);
}
