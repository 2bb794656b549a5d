/**
 * The cookie of a session: for this host alone and all of it, over TLS alone, out of reach of scripts, and never sent on the
 * way from another site (RFC 6265bis: `__Host-`, SameSite). It ends with the browser; the session itself ends before.
 */
const NAME = '__Host-cardvault-session';
const TRAITS = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** Undefined when there is none, or two: then somebody planted one. */
export function readCookie(header: string | undefined): string | undefined {
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${NAME}=`))
    .map((part) => part.slice(NAME.length + 1));
  return values.length === 1 && /^[\w-]{1,128}$/.test(values[0] ?? '') ? values[0] : undefined;
}

export const cookieOf = (secret: string): string => `${NAME}=${secret}; ${TRAITS}`;

export const NO_COOKIE = `${NAME}=; Max-Age=0; ${TRAITS}`;
