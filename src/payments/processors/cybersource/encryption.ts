import { type KeyObject, X509Certificate } from 'node:crypto';
import { encryptGcm, GCM_IV_BYTES } from '../../../crypto/aes.ts';
import { encryptRsa } from '../../../crypto/rsa.ts';
import { readPublicKey } from '../../../crypto/rsa-keys.ts';
import type { Clock, Random } from '../../../kernel/clock.ts';

/** Message-level encryption: the body of a request as a JWE for CyberSource's key, beside TLS. */

export interface Recipient {
  readonly key: KeyObject;
  readonly kid: string;
}

const CONTENT_KEY_BYTES = 32;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Whose certificate this is, in base64 of its DER. CyberSource knows its keys by an attribute of the subject, not by the
 * number of the certificate. Undefined when it is no such certificate.
 */
export function readRecipient(base64: string): Recipient | undefined {
  if (!BASE64.test(base64)) return undefined;
  try {
    const { subject, raw } = new X509Certificate(Buffer.from(base64, 'base64'));
    const kid = /^serialNumber=([A-Za-z0-9]{1,64})$/m.exec(subject)?.[1];
    return kid === undefined ? undefined : { key: readPublicKey(raw), kid };
  } catch {
    return undefined;
  }
}

export function encryptedBody(body: string, { key, kid }: Recipient, clock: Clock, random: Random): string {
  const header = { alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT', kid, iat: Math.floor(clock() / 1000) };
  const protectedHeader = Buffer.from(JSON.stringify(header), 'utf8').toString('base64url');
  const contentKey = random.bytes(CONTENT_KEY_BYTES);
  try {
    const iv = random.bytes(GCM_IV_BYTES);
    const wrapped = encryptRsa('oaep-sha256', key, contentKey);
    const additional = Buffer.from(protectedHeader, 'ascii');
    const { ciphertext, tag } = encryptGcm(contentKey, iv, Buffer.from(body, 'utf8'), additional);
    const parts = [wrapped, iv, ciphertext, tag].map((part) => Buffer.from(part).toString('base64url'));
    return JSON.stringify({ encryptedRequest: [protectedHeader, ...parts].join('.') });
  } finally {
    contentKey.fill(0);
  }
}
