import { useEffect } from 'react';

const SCHEME = 'data-mantine-color-scheme';

/** Prints in the light scheme. */
export function usePrintInLight(): void {
  useEffect(() => {
    const page = document.documentElement;
    let before: string | null = null;
    const onBeforePrint = (): void => {
      before = page.getAttribute(SCHEME);
      page.setAttribute(SCHEME, 'light');
    };
    const onAfterPrint = (): void => {
      if (before !== null) page.setAttribute(SCHEME, before);
    };
    window.addEventListener('beforeprint', onBeforePrint);
    window.addEventListener('afterprint', onAfterPrint);
    return () => {
      window.removeEventListener('beforeprint', onBeforePrint);
      window.removeEventListener('afterprint', onAfterPrint);
    };
  }, []);
}
