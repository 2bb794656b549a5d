import { encryptRsa } from '../../crypto/rsa.ts';
import type { Random } from '../../kernel/clock.ts';
import type { ProcessorKey } from '../proxy-configuration.ts';
import type { EffectiveSettings } from '../settings.ts';
import { CONTENT_ENCRYPTION } from './content.ts';
import { encodeHeader } from './jws.ts';

const PADDINGS = { 'RSA-OAEP-256': 'oaep-sha256', 'RSA-OAEP': 'oaep-sha1' } as const;

/** Returns a JWE in compact serialization (RFC 7516, 7.1). `header` is added to `alg`, `enc` and `kid`. */
export function encryptCompact(
  plaintext: Uint8Array,
  algorithms: {
    readonly keyManagement: EffectiveSettings['jose.key-management'];
    readonly content: EffectiveSettings['jose.content'];
  },
  recipient: Pick<ProcessorKey, 'key' | 'kid'>,
  header: Readonly<Record<string, string>>,
  random: Random,
): string {
  const { keyManagement: alg, content: enc } = algorithms;
  const method = CONTENT_ENCRYPTION[enc];
  const contentKey = random.bytes(method.keyBytes);
  try {
    const iv = random.bytes(method.ivBytes);
    const wrappedKey = encryptRsa(PADDINGS[alg], recipient.key, contentKey);
    const protectedHeader = encodeHeader({ alg, enc, kid: recipient.kid, ...header });
    const { ciphertext, tag } = method.encrypt(contentKey, iv, plaintext, Buffer.from(protectedHeader, 'ascii'));
    const parts = [wrappedKey, iv, ciphertext, tag].map((part) => Buffer.from(part).toString('base64url'));
    return [protectedHeader, ...parts].join('.');
  } finally {
    contentKey.fill(0);
  }
}
