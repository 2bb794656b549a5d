import { constants, type KeyObject, publicEncrypt, sign } from 'node:crypto';

/** RSA (RFC 8017) with keys that were parsed once. */

/** Names as in RFC 7518, 3.1. */
export type SignatureAlgorithm = 'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512';

/** Runs off the event loop: a signature takes a quarter of a millisecond and more. */
export function signRsa(algorithm: SignatureAlgorithm, key: KeyObject, data: Uint8Array): Promise<Buffer> {
  const hash = `sha${algorithm.slice(2)}`;
  // RSASSA-PKCS1-v1_5 is Node's default: the key needs no options.
  const input = algorithm.startsWith('PS')
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : key;
  return new Promise((resolve, reject) => {
    withoutStackTraces(() =>
      sign(hash, data, input, (error, signature) => (error ? reject(error) : resolve(signature))),
    );
  });
}

/**
 * Where a key is given with options, Node throws and catches two errors in each call, because it tries the options as a
 * key of either of its own types. Their stack traces take 20 microseconds: an encryption takes as long, a signature
 * twenty times as long.
 */
function withoutStackTraces<T>(call: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return call();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** `oaep-sha1` and `oaep-sha256` name the digest and that of MGF1; `pkcs1` is RSAES-PKCS1-v1_5. */
export type EncryptionPadding = 'oaep-sha256' | 'oaep-sha1' | 'pkcs1';

const HASH_BYTES: Readonly<Record<Exclude<EncryptionPadding, 'pkcs1'>, number>> = {
  'oaep-sha256': 32,
  'oaep-sha1': 20,
};

/** Bytes of random padding that a plaintext must leave free (RFC 8017, 7.2.1). */
const PKCS1_OVERHEAD_BYTES = 11;

/** Returns the maximum length of a plaintext in bytes. */
export function plaintextLimit(padding: EncryptionPadding, bits: number): number {
  const overhead = padding === 'pkcs1' ? PKCS1_OVERHEAD_BYTES : 2 * HASH_BYTES[padding] + 2;
  return Math.floor((bits + 7) / 8) - overhead;
}

export function encryptRsa(padding: EncryptionPadding, key: KeyObject, data: Uint8Array): Buffer {
  // OAEP with SHA-1 is Node's default.
  if (padding === 'oaep-sha1') return publicEncrypt(key, data);
  const options =
    padding === 'pkcs1'
      ? { key, padding: constants.RSA_PKCS1_PADDING }
      : { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
  return withoutStackTraces(() => publicEncrypt(options, data));
}
