import { Failure } from '../../src/kernel/failure.ts';

/** Headers by which a browser names the origin of a request. */
interface OriginHeaders {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header Sec-Fetch-Site. */
  readonly site: string | undefined;
}

/**
 * Returns the origin of the console as the browser sees it. Throws `cross_site` when a page of another origin sent the
 * request, or caused the browser to send it. The cookie is SameSite=Strict and each change carries a token; this check
 * helps when either fails. Another port of the same host is another origin here, though not another site.
 *
 * `consoleUrl`: the configured address of the console, if any; no other origin is then accepted.
 */
export function assertSameOrigin(
  { method, host, origin, site }: OriginHeaders,
  consoleUrl: string | undefined,
): string {
  const consoleOrigin = consoleUrl ?? toOrigin(host);
  if (site !== undefined && site !== 'same-origin' && !(method === 'GET' && site === 'none'))
    throw new Failure('cross_site');
  if (origin !== undefined && origin !== consoleOrigin) throw new Failure('cross_site');
  if (method !== 'GET' && origin === undefined) throw new Failure('cross_site');
  return consoleOrigin;
}

/** Returns the origin of the untrusted Host header. Throws `cross_site`. */
function toOrigin(host = ''): string {
  const origin = `https://${host}`;
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(origin)) throw new Failure('cross_site');
  return origin;
}
