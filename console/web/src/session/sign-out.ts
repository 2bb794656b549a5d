import { useCallback } from 'react';
import { showSession, signOut } from '../../../wire/session.ts';
import { CallError, call, setCsrfToken } from '../api/call.ts';
import { useSessionControls } from './session.tsx';
import { postToTabs } from './tab-sync.ts';

/**
 * Ends the session at the service. If another tab has signed in since, the CSRF token here is outdated and is read
 * again.
 */
export async function endOwnSession(): Promise<void> {
  try {
    await call(signOut);
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 'cross_site') throw error;
    setCsrfToken((await call(showSession)).csrf_token ?? '');
    await call(signOut);
  }
}

/** Signs out here, in all tabs, and at the service. */
export function useSignOut(): () => Promise<void> {
  const { clearSession, refresh } = useSessionControls();
  return useCallback(async () => {
    try {
      await endOwnSession();
    } catch (error) {
      // An expired session counts as signed out; other errors must not.
      if (!(error instanceof CallError) || error.code !== 'not_signed_in') return void refresh();
    }
    clearSession(true);
    postToTabs('signed-out');
  }, [clearSession, refresh]);
}
