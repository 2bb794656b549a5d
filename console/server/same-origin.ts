import { Failure } from '../../src/kernel/failure.ts';

/** Headers by which a browser names the origin of a request. */
export interface OriginHeaders {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Sec-Fetch-Site. */
  readonly site: string | undefined;
}

/**
 * The origin of the console as the browser sees it. Throws `cross_site` when a page of another origin sent the request, or
 * made the browser ask. The cookie is SameSite=Strict and each change carries a token; this holds when either fails, and
 * another port of the same host is another origin here, though not another site.
 *
 * `consoleUrl`: where the operator said the console is, if they did; then nothing else is taken for it.
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
