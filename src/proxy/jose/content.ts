import { createCipheriv, createHmac, createSecretKey } from 'node:crypto';

/** Content encryption of RFC 7518, section 5. */
export type ContentAlgorithm = 'A256GCM' | 'A128GCM' | 'A256CBC-HS512' | 'A128CBC-HS256';

export interface Encrypted {
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

interface Method {
  readonly keyBytes: number;
  readonly ivBytes: number;
  encrypt(key: Uint8Array, iv: Uint8Array, plaintext: Uint8Array, additional: Uint8Array): Encrypted;
}

/** By name; the key is the content encryption key as a whole. */
export const CONTENT: Readonly<Record<ContentAlgorithm, Method>> = {
  A256GCM: gcm('aes-256-gcm', 32),
  A128GCM: gcm('aes-128-gcm', 16),
  'A256CBC-HS512': cbcHmac('aes-256-cbc', 'sha512', 32),
  'A128CBC-HS256': cbcHmac('aes-128-cbc', 'sha256', 16),
};

/** RFC 7518, 5.3. */
function gcm(cipherName: 'aes-256-gcm' | 'aes-128-gcm', keyBytes: number): Method {
  const encrypt: Method['encrypt'] = (key, iv, plaintext, additional) => {
    const cipher = createCipheriv(cipherName, createSecretKey(key), iv, { authTagLength: 16 });
    cipher.setAAD(additional);
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return { ciphertext, tag: cipher.getAuthTag() };
  };
  return { keyBytes, ivBytes: 12, encrypt };
}

/** RFC 7518, 5.2: the first half of the key authenticates, the second encrypts; the tag is half of the HMAC. */
function cbcHmac(cipherName: string, hash: string, halfBytes: number): Method {
  const encrypt: Method['encrypt'] = (key, iv, plaintext, additional) => {
    const cipher = createCipheriv(cipherName, createSecretKey(key.subarray(halfBytes)), iv);
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    const bits = Buffer.alloc(8);
    bits.writeBigUInt64BE(BigInt(additional.length) * 8n);
    const authenticated = createHmac(hash, createSecretKey(key.subarray(0, halfBytes)))
      .update(additional)
      .update(iv);
    const tag = authenticated.update(ciphertext).update(bits).digest().subarray(0, halfBytes);
    return { ciphertext, tag };
  };
  return { keyBytes: 2 * halfBytes, ivBytes: 16, encrypt };
}
