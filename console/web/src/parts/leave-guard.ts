import { useEffect } from 'react';

/** Returns the position of a page in the history of the tab, as the router counts. */
const historyIndex = (state: unknown): number => (state as { readonly idx?: number } | null)?.idx ?? 0;

/**
 * Keeps the page while an unsaved secret is shown: the browser asks before it closes or reloads, and its back and
 * forward buttons do nothing.
 */
export function useLeaveGuard(isEnabled: boolean): void {
  useEffect(() => {
    if (!isEnabled) return;
    const index = historyIndex(window.history.state);
    const onBeforeUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    const onPopState = (event: PopStateEvent): void => {
      // Stops the event before the router sees it, also for the entry that restores the address.
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
