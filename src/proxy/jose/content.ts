import { createHmac, createSecretKey } from 'node:crypto';
import { CBC_IV_BYTES, type Encrypted, encryptCbc, encryptGcm, GCM_IV_BYTES } from '../../crypto/aes.ts';
import type { EffectiveSettings } from '../settings.ts';

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
