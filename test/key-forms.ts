import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { InvalidKeyError } from '../src/crypto/rsa-keys.ts';

/** The forms in which people keep keys, and what is none of them. */

export const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END ${label}-----\n`;
export const spki = (key: KeyObject, format: 'pem' | 'der'): Buffer =>
  Buffer.from(key.export({ type: 'spki', format } as never));
export const pkcs1 = (key: KeyObject, format: 'pem' | 'der'): Buffer =>
  Buffer.from(key.export({ type: 'pkcs1', format } as never));
export const pkcs8 = (key: KeyObject, format: 'pem' | 'der'): Buffer =>
  Buffer.from(key.export({ type: 'pkcs8', format } as never));
export const jwk = (key: KeyObject, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ ...key.export({ format: 'jwk' }), ...more }));
export const base64 = (der: Buffer): Buffer => Buffer.from(der.toString('base64'));

/** The text of the refusal. */
export function fault(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof InvalidKeyError, String(error));
    assert.equal(error.cause, undefined);
    return error.message;
  }
  return assert.fail('accepted');
}

export const GARBAGE: readonly Buffer[] = [
  ...['', ' ', 'secret', '{', '{}', '[]', 'null', '{"kty":"RSA"}', '{"keys":[]}', 'AAAA', '-----BEGIN secret-----'],
  ...['-----BEGIN PUBLIC KEY-----\nsecret\n-----END PUBLIC KEY-----', '-----BEGIN PUBLIC KEY-----', '{"kty":"secret"}'],
  ...['-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----'],
].map((text) => Buffer.from(text));
