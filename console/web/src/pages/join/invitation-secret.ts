import { useEffect, useState } from 'react';

/** Kept in the memory of the tab alone, so that it outlives a visit to the sign-in page and nothing else. */
let storedSecret = '';

/** What was cut off or changed on its way stays as it is: no link has such a secret, and the service says so. */
function decodeSecret(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes the secret out of the address at once: it shall stand in no history and on no screen. */
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

/** Of the link that was followed; empty without one. */
export function useInvitationSecret(): string {
  const [secret, setSecret] = useState(takeFromAddress);
  useEffect(() => {
    // Another link in the same tab loads no new page.
    const onHashChange = (): void => {
      if (window.location.hash.length > 1) setSecret(takeFromAddress());
    };
    window.addEventListener('hashchange', onHashChange);
    return () => window.removeEventListener('hashchange', onHashChange);
  }, []);
  return secret;
}
