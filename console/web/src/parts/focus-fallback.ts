import { useEffect, useRef } from 'react';

/** Longer than the closing animation of a dialog. */
const CLOSING_MS = 400;

/**
 * Moves the focus into an element when the focused button has disappeared. `change`: what can remove such a button; undefined
 * while there is nothing that has.
 */
export function useFocusFallback(change: string | undefined) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (change === undefined) return;
    const timer = setTimeout(() => {
      if (document.activeElement === document.body) element.current?.focus({ preventScroll: true });
    }, CLOSING_MS);
    return () => clearTimeout(timer);
  }, [change]);
  return element;
}
