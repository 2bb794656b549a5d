import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';

/** Origins that may frame the card form, and the way back from the hosted page (browser.md 2). Pure. */

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SANDBOX_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::([1-9][0-9]{0,4}))?$/;
const ORIGIN = /^https:\/\/([a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?$/;
const HTTPS_PORT = 443;
const HTTP_PORT = 80;
const MAX_PORT = 65_535;

/** True for an origin as browsers write it: no wildcard, path, user, address or default port. */
export function isAllowedOrigin(text: string, environment: Environment): boolean {
  const [, host = '', port] = ORIGIN.exec(text) ?? [];
  if (host !== '') return isHostName(host) && isPort(port, HTTPS_PORT);
  const sandbox = SANDBOX_ORIGIN.exec(text);
  return environment === 'sandbox' && sandbox !== null && isPort(sandbox[1], HTTP_PORT);
}

/** Names of labels; the last one has a letter, because browsers read all other names as IPv4 addresses. */
function isHostName(host: string): boolean {
  const labels = host.split('.');
  const isAddress = /^[0-9]+$/.test(labels.at(-1) ?? '') || /^0x[0-9a-f]*$/.test(labels.at(-1) ?? '');
  return host.length <= LIMITS.sessionHostCharacters && !isAddress && labels.every((label) => LABEL.test(label));
}

const isPort = (port: string | undefined, standard: number): boolean =>
  port === undefined || (Number(port) <= MAX_PORT && Number(port) !== standard);

/** ASCII, and with the host behind two slashes: from a page of the same scheme, browsers read `https:a` as a path. */
const RETURN_URL = /^https?:\/\/(?=[\x21-\x7e]+$)[^/\\?#@]+(?:[/?#].*)?$/;
/** Members of the query that the way back adds. */
const ADDED = ['capture_session', 'status'];
const LOCAL_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/** True for an absolute URL to which a buyer may return. */
export function isReturnUrl(text: string, environment: Environment): boolean {
  if (text.length > LIMITS.sessionReturnUrlCharacters || !RETURN_URL.test(text)) return false;
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return false;
  const isLocal = url.protocol === 'http:' && environment === 'sandbox' && LOCAL_NAMES.has(url.hostname);
  return (url.protocol === 'https:' || isLocal) && ADDED.every((name) => !url.searchParams.has(name));
}

/** Puts session and status behind the query, before the fragment; the rest stays byte for byte. */
export function toReturnUrl(returnUrl: string, id: string, status: string): string {
  const [before = '', ...fragment] = returnUrl.split('#');
  const sign = before.includes('?') ? (/[?&]$/.test(before) ? '' : '&') : '?';
  const after = fragment.length === 0 ? '' : `#${fragment.join('#')}`;
  return `${before}${sign}capture_session=${id}&status=${status}${after}`;
}

/** Returns the address of the hosted page. The secret is in the fragment, which browsers send to no server. */
export const toHostedUrl = (origin: string, id: string, secret: string): string => `${origin}/v1/card/${id}#${secret}`;
