import type { KeyedRequest } from '../idempotency/idempotency-keys.ts';
import type { Tenant } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { RequestHead, Route } from './route.ts';

/**
 * Returns the request with its `Idempotency-Key`; undefined without one. `lines`: everything but path and body that a
 * repeat has to have in common with it. No line contains a line feed, so two different requests never have the same content. Throws `invalid_field`.
 */
export function toKeyedRequest(
  route: Route,
  head: RequestHead,
  tenant: Tenant,
  { lines, body }: { readonly lines: readonly string[]; readonly body: Buffer },
): KeyedRequest | undefined {
  const key = head.header('idempotency-key');
  if (key === undefined || route.method === 'GET') return undefined;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > LIMITS.idempotencyKeyCharacters)
    throw invalidField('Idempotency-Key', 'asciiCharacters', { min: 1, max: LIMITS.idempotencyKeyCharacters });
  const content = Buffer.concat([Buffer.from(lines.map((line) => `${line}\n`).join('')), body]);
  return { tenant, method: route.method, path: toCanonicalPath(route, head), key, content };
}

/** Returns the path in its normal form: `/v1/tokens/` and `/v1/token%73` are one. */
const toCanonicalPath = ({ path }: Route, { params }: RequestHead): string =>
  path.replace(/:([a-z]+)/gi, (_, name: string) => encodeURIComponent(params[name] ?? ''));
