/**
 * The encoding of ECDSA signatures of passkeys: DER (X.690, section 10) of `SEQUENCE { r INTEGER, s INTEGER }`. The library
 * that verifies them also reads other encodings of the same two numbers and bytes after them, so that one signature would
 * have many forms. The encoding is therefore checked first.
 */

/** Identifier of ES256 in COSE (RFC 9053). */
export const ES256 = -7;
const [SEQUENCE, INTEGER] = [0x30, 0x02];
/** Lengths from 128 are encoded in several bytes; a signature of P-256 has at most 72. */
const LONG_LENGTH = 0x80;

/**
 * Returns true when the signature is the one encoding of its two numbers; their range is not checked. Signatures of other
 * algorithms have no structure, and the library verifies their length. `algorithm` is an identifier of COSE.
 */
export function isCanonicalSignature(algorithm: unknown, signature: Uint8Array): boolean {
  if (algorithm !== ES256) return true;
  const [tag, length = LONG_LENGTH] = signature;
  if (tag !== SEQUENCE || length >= LONG_LENGTH || length !== signature.length - 2) return false;
  const secondAt = endOfInteger(signature, 2);
  return secondAt !== undefined && endOfInteger(signature, secondAt) === signature.length;
}

/** Returns the position after a positive integer in its shortest form; undefined when another value begins at `at`. */
function endOfInteger(bytes: Uint8Array, at: number): number | undefined {
  const [tag, length = 0, first = LONG_LENGTH, second = 0] = bytes.subarray(at, at + 4);
  if (tag !== INTEGER || length === 0 || length >= LONG_LENGTH || first >= 0x80) return undefined;
  // A zero in front is there only to keep the number positive.
  if (first === 0 && length > 1 && second < 0x80) return undefined;
  const end = at + 2 + length;
  return end <= bytes.length ? end : undefined;
}
