import { useEffect } from 'react';

/** Where in the history of the tab a page stands, as the router counts. */
const historyIndex = (state: unknown): number => (state as { readonly idx?: number } | null)?.idx ?? 0;

/**
 * While something is shown that nobody can see again, and it was not stored yet: the browser asks before it leaves or loads
 * anew, and its buttons for back and forward do nothing, as a key or a click beside the dialog does nothing.
 */
export function useLeaveGuard(isEnabled: boolean): void {
  useEffect(() => {
    if (!isEnabled) return;
    const index = historyIndex(window.history.state);
    const onBeforeUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const onPopState = (event: PopStateEvent): void => {
      // Before the router hears of it; what brings the address back is not for the router either.
      event.stopImmediatePropagation();
      const delta = index - historyIndex(event.state);
      if (delta !== 0) window.history.go(delta);
    };
    window.addEventListener('beforeunload', onBeforeUnload);
    window.addEventListener('popstate', onPopState, { capture: true });
    return () => {
      window.removeEventListener('beforeunload', onBeforeUnload);
      window.removeEventListener('popstate', onPopState, { capture: true });
    };
  }, [isEnabled]);
}
