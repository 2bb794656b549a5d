import { useEffect } from 'react';

/** Where in the history of the tab a page stands, as the router counts. */
const placeOf = (state: unknown): number => (state as { readonly idx?: number } | null)?.idx ?? 0;

/**
 * While something is shown that nobody can see again, and it was not stored yet: the browser asks before it leaves or loads
 * anew, and its buttons for back and forward do nothing, as a key or a click beside the dialog does nothing.
 */
export function useHeldPage(isHeld: boolean): void {
  useEffect(() => {
    if (!isHeld) return;
    const place = placeOf(window.history.state);
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    const goBack = (event: PopStateEvent): void => {
      // Before the router hears of it; what brings the address back is not for the router either.
      event.stopImmediatePropagation();
      const delta = place - placeOf(event.state);
      if (delta !== 0) window.history.go(delta);
    };
    window.addEventListener('beforeunload', ask);
    window.addEventListener('popstate', goBack, { capture: true });
    return () => {
      window.removeEventListener('beforeunload', ask);
      window.removeEventListener('popstate', goBack, { capture: true });
    };
  }, [isHeld]);
}
