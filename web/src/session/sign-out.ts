import { useCallback } from 'react';
import { signOut } from '../../../src/console/wire/session.ts';
import { CallError, call } from '../api/call.ts';
import { tellOtherTabs } from './other-tabs.ts';
import { useVisit } from './session.tsx';

/** Ends the session here, in all tabs, and at the service. */
export function useSignOut(): () => Promise<void> {
  const { forget, refresh } = useVisit();
  return useCallback(async () => {
    try {
      await call(signOut);
    } catch (error) {
      // The session may have ended by itself; anything else must not look as if it had.
      if (!(error instanceof CallError) || error.code !== 'not_signed_in') return void refresh();
    }
    forget(true);
    tellOtherTabs('signed-out');
  }, [forget, refresh]);
}
