import { createHmac, createSecretKey } from 'node:crypto';
import { CBC_IV_BYTES, type Encrypted, encryptCbc, encryptGcm, GCM_IV_BYTES } from '../crypto/aes.ts';
import { encryptRsa, signRsa } from '../crypto/rsa.ts';
import type { Random } from '../kernel/clock.ts';
import type { MessageSecurity } from './message-security.ts';
import type { MerchantKey, ProcessorKey } from './proxy-configuration.ts';
import type { EffectiveSettings } from './settings.ts';

/** Secures a payload so that only the processor can read it, and can verify that the merchant signed it. */
export interface JoseMessage {
  /** Encrypts for the processor (JWE compact). */
  readonly value: string;
  /**
   * Signs `value` as the merchant (JWS compact). Never sign the plaintext: a receiver who knows most of it could guess
   * the rest and compare.
   */
  readonly signature: string;
}

export async function secureWithJose(
  payload: Uint8Array,
  { parties, settings, random }: Omit<MessageSecurity, 'now'>,
): Promise<JoseMessage> {
  const { merchant, processor } = parties;
  const algorithm = settings['jose.signature'];
  const isNested = settings['jose.payload'] === 'nested';
  // RFC 7519, 5.2 and appendix A.2: a signed token inside an encrypted one.
  const plaintext = isNested
    ? Buffer.from(await signCompact(payload, algorithm, merchant, { typ: 'JWT' }), 'ascii')
    : payload;
  const algorithms = { keyManagement: settings['jose.key-management'], content: settings['jose.content'] };
  const header = { typ: 'JWT', ...(isNested && { cty: 'JWT' }) };
  const value = encryptCompact(plaintext, algorithms, processor, header, random);
  const signature = await signCompact(Buffer.from(value, 'ascii'), algorithm, merchant, { typ: 'JWT', cty: 'JWT' });
  return { value, signature };
}

interface ContentEncryption {
  readonly keyBytes: number;
  readonly ivBytes: number;
  encrypt(key: Uint8Array, iv: Uint8Array, plaintext: Uint8Array, additional: Uint8Array): Encrypted;
}

/** Content encryption of RFC 7518, section 5, by name; the key is the entire content encryption key. */
export const CONTENT_ENCRYPTION: Readonly<Record<EffectiveSettings['jose.content'], ContentEncryption>> = {
  A256GCM: { keyBytes: 32, ivBytes: GCM_IV_BYTES, encrypt: encryptGcm },
  A128GCM: { keyBytes: 16, ivBytes: GCM_IV_BYTES, encrypt: encryptGcm },
  'A256CBC-HS512': cbcHmac('sha512', 32),
  'A128CBC-HS256': cbcHmac('sha256', 16),
};

/** RFC 7518, 5.2: the first half of the key authenticates, the second encrypts; the tag is half of the HMAC. */
function cbcHmac(hash: string, halfBytes: number): ContentEncryption {
  const encrypt: ContentEncryption['encrypt'] = (key, iv, plaintext, additional) => {
    const ciphertext = encryptCbc(key.subarray(halfBytes), iv, plaintext);
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64BE(BigInt(additional.length) * 8n);
    const hmac = createHmac(hash, createSecretKey(key.subarray(0, halfBytes)));
    for (const part of [additional, iv, ciphertext, bits]) hmac.update(part);
    return { ciphertext, tag: hmac.digest().subarray(0, halfBytes) };
  };
  return { keyBytes: 2 * halfBytes, ivBytes: CBC_IV_BYTES, encrypt };
}

/** Returns a JWS in compact serialization (RFC 7515, 7.1). `header` is added to `alg` and `kid`. */
export async function signCompact(
  payload: Uint8Array,
  algorithm: EffectiveSettings['jose.signature'],
  signer: Pick<MerchantKey, 'key' | 'kid'>,
  header: Readonly<Record<string, string>>,
): Promise<string> {
  const protectedHeader = encodeHeader({ alg: algorithm, kid: signer.kid, ...header });
  const input = `${protectedHeader}.${Buffer.from(payload).toString('base64url')}`;
  const signature = await signRsa(algorithm, signer.key, Buffer.from(input, 'ascii'));
  return `${input}.${signature.toString('base64url')}`;
}

export const encodeHeader = (header: Readonly<Record<string, string>>): string =>
  Buffer.from(JSON.stringify(header), 'utf8').toString('base64url');

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
