import { useEffect, useRef } from 'react';
import { showSession } from '../../../wire/session.ts';
import { CallError, call, isTransient } from './call.ts';

const FIRST_DELAY_MS = 2000;
const MAX_DELAY_MS = 15_000;

/** Returns true when the service responds. The call does not extend the session. */
export async function isServiceAvailable(): Promise<boolean> {
  try {
    await call(showSession, {}, true);
    return true;
  } catch (error) {
    // Any other response shows that the service is available.
    return error instanceof CallError && !isTransient(error);
  }
}

/** Retries while enabled: after 2 seconds, then less often, and immediately when the user or the network returns. */
export function useRetryWhileOffline(isEnabled: boolean, retry: () => Promise<void>): void {
  const latest = useRef(retry);
  useEffect(() => {
    latest.current = retry;
  }, [retry]);
  useEffect(() => {
    if (!isEnabled) return;
    let delayMs = FIRST_DELAY_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isRetrying = false;
    let isStopped = false;
    const schedule = (): void => {
      clearTimeout(timer);
      if (!isStopped) timer = setTimeout(retryNow, delayMs);
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
    };
    const retryNow = async (): Promise<void> => {
      if (isRetrying) return;
      isRetrying = true;
      // A hidden page retries when it becomes visible.
      if (!document.hidden) await latest.current();
      isRetrying = false;
      schedule();
    };
    const onReturn = (): void => void retryNow();
    window.addEventListener('focus', onReturn);
    window.addEventListener('online', onReturn);
    document.addEventListener('visibilitychange', onReturn);
    schedule();
    return () => {
      isStopped = true;
      clearTimeout(timer);
      window.removeEventListener('focus', onReturn);
      window.removeEventListener('online', onReturn);
      document.removeEventListener('visibilitychange', onReturn);
    };
  }, [isEnabled]);
}
