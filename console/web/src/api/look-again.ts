import { useEffect, useRef } from 'react';
import { showSession } from '../../../wire/session.ts';
import { CallError, call, mayPass } from './call.ts';

const FIRST_MS = 2000;
const LONGEST_MS = 15_000;

/** Does the service answer now? Asking does not keep a session alive. */
export async function isAnswering(): Promise<boolean> {
  try {
    await call(showSession, {}, true);
    return true;
  } catch (error) {
    // Any other answer is one, too.
    return error instanceof CallError && !mayPass(error);
  }
}

/**
 * Looks again and again while it is on: after a few seconds, later less often, and at once when the person comes back to
 * the page or the network does.
 */
export function useLookAgain(isOn: boolean, look: () => Promise<void>): void {
  const latest = useRef(look);
  useEffect(() => {
    latest.current = look;
  }, [look]);
  useEffect(() => {
    if (!isOn) return;
    let wait = FIRST_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLooking = false;
    let isOver = false;
    const plan = (): void => {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(lookNow, wait);
      wait = Math.min(wait * 2, LONGEST_MS);
    };
    const lookNow = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      // Nobody sees it; there is a look when they do.
      if (!document.hidden) await latest.current();
      isLooking = false;
      plan();
    };
    const onReturn = (): void => void lookNow();
    window.addEventListener('focus', onReturn);
    window.addEventListener('online', onReturn);
    document.addEventListener('visibilitychange', onReturn);
    plan();
    return () => {
      isOver = true;
      clearTimeout(timer);
      window.removeEventListener('focus', onReturn);
      window.removeEventListener('online', onReturn);
      document.removeEventListener('visibilitychange', onReturn);
    };
  }, [isOn]);
}
