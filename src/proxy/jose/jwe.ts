import type { KeyObject } from 'node:crypto';
import { encryptRsa } from '../../crypto/rsa.ts';
import type { Random } from '../../kernel/clock.ts';
import { CONTENT, type ContentAlgorithm } from './content.ts';
import { encodeHeader } from './jws.ts';

/** What a message is encrypted for: a public key with the name that its owner knows it by. */
export interface Recipient {
  readonly key: KeyObject;
  readonly kid: string;
}

export type KeyManagement = 'RSA-OAEP-256' | 'RSA-OAEP';

const PADDINGS = { 'RSA-OAEP-256': 'oaep-sha256', 'RSA-OAEP': 'oaep-sha1' } as const;

/** JWE compact serialization (RFC 7516, 7.1). `header` stands beside `alg`, `enc` and `kid`. */
export function encryptCompact(
  plaintext: Uint8Array,
  algorithms: { readonly keyManagement: KeyManagement; readonly content: ContentAlgorithm },
  recipient: Recipient,
  header: Readonly<Record<string, string>>,
  random: Random,
): string {
  const { keyManagement: alg, content: enc } = algorithms;
  const method = CONTENT[enc];
  const contentKey = random.bytes(method.keyBytes);
  const iv = random.bytes(method.ivBytes);
  const wrappedKey = encryptRsa(PADDINGS[alg], recipient.key, contentKey);
  const protectedHeader = encodeHeader({ alg, enc, kid: recipient.kid, ...header });
  const { ciphertext, tag } = method.encrypt(contentKey, iv, plaintext, Buffer.from(protectedHeader, 'ascii'));
  contentKey.fill(0);
  const parts = [wrappedKey, iv, ciphertext, tag].map((part) => Buffer.from(part).toString('base64url'));
  return [protectedHeader, ...parts].join('.');
}
