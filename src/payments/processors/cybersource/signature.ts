import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock, Random } from '../../../kernel/clock.ts';
import { newUuid } from '../../../kernel/ids.ts';

/** How CyberSource knows who sends: JWT with a shared secret (its guide of February 2026), or HTTP Signature before it. */

export interface Credentials {
  readonly merchantId: string;
  readonly keyId: string;
  readonly secret: KeyObject;
}

export interface SignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** The very text that is sent. */
  readonly body: string | undefined;
}

/** Seconds; CyberSource takes no longer life. */
const TOKEN_LIFETIME_SECONDS = 120;

/** The secret is shown as base64; the key is what that stands for. */
export function toSecretKey(base64: string): KeyObject {
  const bytes = Buffer.from(base64, 'base64');
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** Headers in lower case; a new token each time, for CyberSource refuses one that it has seen. */
export function buildJwtHeaders(
  credentials: Credentials,
  request: SignedRequest,
  clock: Clock,
  random: Random,
): HeaderMap {
  const { merchantId, keyId, secret } = credentials;
  const issuedAt = Math.floor(clock() / 1000);
  const digest = request.body === undefined ? {} : { digest: computeDigest(request.body), digestAlgorithm: 'SHA-256' };
  const claims = {
    ...digest,
    iat: issuedAt,
    exp: issuedAt + TOKEN_LIFETIME_SECONDS,
    'request-host': request.url.host,
    'request-resource-path': request.url.pathname,
    'request-method': request.method.toLowerCase(),
    iss: merchantId,
    jti: newUuid(random),
    'v-c-jwt-version': '2',
    'v-c-merchant-id': merchantId,
  };
  const signed = `${encodeJson({ typ: 'JWT', alg: 'HS256', kid: keyId })}.${encodeJson(claims)}`;
  const signature = createHmac('sha256', secret).update(signed).digest('base64url');
  return { authorization: `Bearer ${signed}.${signature}` };
}

/** The time is taken once: header and signature must name the same second. */
export function buildSignatureHeaders(credentials: Credentials, request: SignedRequest, clock: Clock): HeaderMap {
  const { merchantId, keyId, secret } = credentials;
  const { host, pathname, search } = request.url;
  const date = new Date(clock()).toUTCString();
  const digest: HeaderMap = request.body === undefined ? {} : { digest: `SHA-256=${computeDigest(request.body)}` };
  const signedHeaders = {
    host,
    date,
    'request-target': `${request.method.toLowerCase()} ${pathname}${search}`,
    ...digest,
    'v-c-merchant-id': merchantId,
  };
  const text = Object.entries(signedHeaders).map(([name, value]) => `${name}: ${value}`);
  const value = createHmac('sha256', secret).update(text.join('\n')).digest('base64');
  const names = Object.keys(signedHeaders).join(' ');
  const signature = `keyid="${keyId}", algorithm="HmacSHA256", headers="${names}", signature="${value}"`;
  return { host, date, ...digest, 'v-c-merchant-id': merchantId, signature };
}

type HeaderMap = Readonly<Record<string, string>>;

const computeDigest = (body: string): string => createHash('sha256').update(body, 'utf8').digest('base64');

const encodeJson = (value: object): string => Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
