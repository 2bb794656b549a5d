import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The fake's check of the sender: from CyberSource's description, without any of the tested code. */

export interface Keys {
  readonly merchantId: string;
  readonly keyId: string;
  /** Base64. */
  readonly sharedSecret: string;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const COMMON = ['host', 'connection', 'accept', 'content-type', 'content-length'];
const CLAIMS = [
  'iat',
  'exp',
  'request-host',
  'request-resource-path',
  'request-method',
  'iss',
  'jti',
  'v-c-jwt-version',
  'v-c-merchant-id',
];

/** Returns all faults in the headers of a request. `seen` contains the ids of earlier tokens. */
export function signatureErrors(request: Received, keys: Keys, seen: Set<string>, now: number): string[] {
  const { headers, body } = request;
  const isJwt = headers.authorization !== undefined;
  const own = isJwt ? ['authorization'] : ['date', 'digest', 'v-c-merchant-id', 'signature'];
  const strangers = Object.keys(headers).filter((name) => ![...COMMON, ...own].includes(name));
  const type = headers['content-type'];
  return [
    ...strangers.map((name) => `header ${name}`),
    ...(headers.accept === 'application/hal+json;charset=utf-8' ? [] : ['accept']),
    ...(type === (body.length === 0 ? undefined : 'application/json;charset=utf-8') ? [] : ['content-type']),
    ...(isJwt ? faultsOfToken(request, keys, seen, now) : faultsOfSignature(request, keys, now)),
  ];
}

function faultsOfToken(
  { method, path, headers, body }: Received,
  keys: Keys,
  seen: Set<string>,
  now: number,
): string[] {
  const [, head = '', payload = '', signature = ''] =
    /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(headers.authorization ?? '') ?? [];
  const expected = hmac(keys, `${head}.${payload}`);
  if (!same(Buffer.from(signature, 'base64url'), expected)) return ['token signature'];
  const header = JSON.parse(Buffer.from(head, 'base64url').toString());
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const digested = body.length === 0 ? [] : ['digest', 'digestAlgorithm'];
  const expectedClaims: Record<string, unknown> = {
    'request-host': headers.host,
    'request-resource-path': path,
    'request-method': method.toLowerCase(),
    iss: keys.merchantId,
    'v-c-merchant-id': keys.merchantId,
    'v-c-jwt-version': '2',
    ...(body.length === 0 ? {} : { digest: sha256(body), digestAlgorithm: 'SHA-256' }),
  };
  const faults = Object.keys(expectedClaims).filter((name) => claims[name] !== expectedClaims[name]);
  const names = JSON.stringify(Object.keys(claims).sort());
  if (names !== JSON.stringify([...CLAIMS, ...digested].sort())) faults.push('claims');
  if (JSON.stringify(header) !== JSON.stringify({ typ: 'JWT', alg: 'HS256', kid: keys.keyId })) faults.push('header');
  if (!Number.isSafeInteger(claims.iat) || Math.abs(claims.iat - now / 1000) > 60) faults.push('iat');
  if (!Number.isSafeInteger(claims.exp) || claims.exp <= claims.iat || claims.exp > claims.iat + 120)
    faults.push('exp');
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(claims.jti) || seen.has(claims.jti))
    faults.push('jti');
  seen.add(claims.jti);
  return faults.map((name) => `token ${name}`);
}

function faultsOfSignature({ method, path, headers, body }: Received, keys: Keys, now: number): string[] {
  const digest = body.length === 0 ? undefined : `SHA-256=${sha256(body)}`;
  const names = `host date request-target${digest === undefined ? '' : ' digest'} v-c-merchant-id`;
  const text = [
    `host: ${headers.host}`,
    `date: ${headers.date}`,
    `request-target: ${method.toLowerCase()} ${path}`,
    ...(digest === undefined ? [] : [`digest: ${digest}`]),
    `v-c-merchant-id: ${keys.merchantId}`,
  ].join('\n');
  const value = hmac(keys, text).toString('base64');
  const expected = `keyid="${keys.keyId}", algorithm="HmacSHA256", headers="${names}", signature="${value}"`;
  const date = headers.date ?? '';
  return [
    ...(headers['signature'] === expected ? [] : ['signature']),
    ...(headers['digest'] === digest ? [] : ['digest']),
    ...(headers['v-c-merchant-id'] === keys.merchantId ? [] : ['merchant']),
    ...(/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(date) && Math.abs(Date.parse(date) - now) < 60_000
      ? []
      : ['date']),
  ];
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64');

const hmac = ({ sharedSecret }: Keys, text: string): Buffer =>
  createHmac('sha256', Buffer.from(sharedSecret, 'base64')).update(text).digest();

const same = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);
