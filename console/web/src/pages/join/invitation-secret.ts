import { useLayoutEffect, useState } from 'react';

/** Stored in the memory of the tab only, so that it survives a visit to the sign-in page and nothing else. */
let storedSecret = '';

/** A truncated or altered secret stays as it is; the service rejects it. */
function decodeSecret(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const isInAddress = (): boolean => window.location.hash.length > 1;

/** Changes nothing: React may discard a render, and what that render took would be lost. */
const readSecret = (): string => (isInAddress() ? decodeSecret(window.location.hash.slice(1)) : storedSecret);

/** Removes the secret from the address immediately, so that no history and no screen shows it. */
function takeFromAddress(): void {
  storedSecret = readSecret();
  if (isInAddress()) window.history.replaceState(window.history.state, '', window.location.pathname);
}

export const forgetSecret = (): void => {
  storedSecret = '';
};

/** Returns the secret of the opened link; empty without one. */
export function useInvitationSecret(): string {
  const [secret, setSecret] = useState(readSecret);
  useLayoutEffect(() => {
    const take = (): void => {
      takeFromAddress();
      setSecret(storedSecret);
    };
    // Opening a link again, or another one, in the same tab does not load the page again.
    const onHashChange = (): void => {
      if (isInAddress()) take();
    };
    window.addEventListener('hashchange', onHashChange);
    take();
    return () => window.removeEventListener('hashchange', onHashChange);
  }, []);
  return secret;
}
