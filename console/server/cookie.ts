import { SECOND } from '../../src/kernel/clock.ts';
import { BROWSER_KNOWN_MS } from '../people/sign-in-state.ts';

/**
 * The cookies of the console: for this host alone and all its paths, over TLS alone, unreadable for scripts, and never
 * sent with requests of another site (RFC 6265bis: `__Host-`, SameSite). The session cookie ends with the browser; the
 * session itself expires earlier. The browser cookie outlasts sign-outs: failed sign-ins of other clients are not
 * counted for a browser that a user has signed in with. It gives no access.
 */
const SESSION = '__Host-cardvault-session';
const BROWSER = '__Host-cardvault-browser';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** Returns undefined without the cookie, and for two of one name: one of them was then planted by another site. */
function parseCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
  return values.length === 1 && /^[\w-]{1,128}$/.test(values[0] ?? '') ? values[0] : undefined;
}

export const parseSessionCookie = (header: string | undefined): string | undefined => parseCookie(header, SESSION);

export const parseBrowserCookie = (header: string | undefined): string | undefined => parseCookie(header, BROWSER);

export const formatSessionCookie = (secret: string): string => `${SESSION}=${secret}; ${ATTRIBUTES}`;

export const formatBrowserCookie = (secret: string): string =>
  `${BROWSER}=${secret}; Max-Age=${BROWSER_KNOWN_MS / SECOND}; ${ATTRIBUTES}`;

export const EXPIRED_SESSION_COOKIE = `${SESSION}=; Max-Age=0; ${ATTRIBUTES}`;
