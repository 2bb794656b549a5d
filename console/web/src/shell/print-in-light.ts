import { useEffect } from 'react';

const SCHEME = 'data-mantine-color-scheme';

/** Paper is light, whatever the screen is. */
export function usePrintInLight(): void {
  useEffect(() => {
    const page = document.documentElement;
    let before: string | null = null;
    const lighten = (): void => {
      before = page.getAttribute(SCHEME);
      page.setAttribute(SCHEME, 'light');
    };
    const restore = (): void => {
      if (before !== null) page.setAttribute(SCHEME, before);
    };
    window.addEventListener('beforeprint', lighten);
    window.addEventListener('afterprint', restore);
    return () => {
      window.removeEventListener('beforeprint', lighten);
      window.removeEventListener('afterprint', restore);
    };
  }, []);
}
