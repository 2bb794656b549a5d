import { useEffect, useState } from 'react';

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

/** Removes the secret from the address immediately, so that no history and no screen shows it. */
function takeFromAddress(): string {
  const { hash, pathname } = window.location;
  if (hash.length > 1) {
    storedSecret = decodeSecret(hash.slice(1));
    window.history.replaceState(window.history.state, '', pathname);
  }
  return storedSecret;
}

export const forgetSecret = (): void => {
  storedSecret = '';
};

/** Returns the secret of the opened link; empty without one. */
export function useInvitationSecret(): string {
  const [secret, setSecret] = useState(takeFromAddress);
  useEffect(() => {
    // Opening another link in the same tab does not load the page again.
    const onHashChange = (): void => {
      if (window.location.hash.length > 1) setSecret(takeFromAddress());
    };
    window.addEventListener('hashchange', onHashChange);
    // It may have been opened before this listener was there.
    onHashChange();
    return () => window.removeEventListener('hashchange', onHashChange);
  }, []);
  return secret;
}
