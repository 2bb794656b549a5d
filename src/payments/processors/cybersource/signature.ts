import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock, Random } from '../../../kernel/clock.ts';
import { newUuid } from '../../../kernel/ids.ts';

/**
 * Authentication with CyberSource: JWT with a shared secret (its guide of February 2026), or the older HTTP Signature.
 */

export interface Credentials {
  readonly merchantId: string;
  readonly keyId: string;
  readonly secret: KeyObject;
}

interface SignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** The body exactly as it is sent. */
  readonly body: string | undefined;
}

/** Seconds; CyberSource accepts no longer lifetime. */
const TOKEN_LIFETIME_SECONDS = 120;

/** CyberSource shows the secret as base64; the key is its decoded bytes. */
export function toSecretKey(base64: string): KeyObject {
  const bytes = Buffer.from(base64, 'base64');
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** Headers in lower case. Each call creates a new token, because CyberSource rejects one that it has seen. */
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

/** The clock is read once: header and signature must contain the same second. */
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
