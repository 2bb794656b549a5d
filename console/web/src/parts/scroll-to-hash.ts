import { useEffect } from 'react';
import { useLocation } from 'react-router';

/** Scrolls to the part of the page that the address names, which exists only after loading. */
export function useScrollToHash(isLoaded: boolean): void {
  const { hash } = useLocation();
  useEffect(() => {
    if (isLoaded && hash !== '') document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [isLoaded, hash]);
}
