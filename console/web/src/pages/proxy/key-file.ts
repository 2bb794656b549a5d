import { LIMITS } from '../../../../../src/kernel/limits.ts';

export type KeyFileFault = 'notText' | 'tooLarge' | 'privateKey';

/** Reads a key file as PEM or JWK. Binary files return a fault. */
export async function readKeyFile(file: File): Promise<{ text: string } | { fault: KeyFileFault }> {
  if (file.size > LIMITS.keyFileBytes) return { fault: 'tooLarge' };
  const text = await file.text();
  return text.includes('-----BEGIN') || text.trimStart().startsWith('{') ? { text } : { fault: 'notText' };
}

/** The start of PKCS#1 and PKCS#8 in DER: a sequence, its length, and a version, which public keys do not have. */
const PRIVATE_DER = /^\x30(?:[\x00-\x7f]|\x81.|\x82..)\x02\x01[\x00\x01][\x02\x30]/s;
/** The start of an encrypted private key in DER: a sequence with the identifier of a cipher with a password. */
const ENCRYPTED_DER =
  /^\x30(?:[\x00-\x7f]|\x81.|\x82..)\x30(?:[\x00-\x7f]|\x81.)\x06.\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c)/s;

/**
 * Returns true for a text with a private key, which must not leave the browser where a public key or a certificate is
 * expected: PEM, JWK, or base64 of DER.
 */
export function containsPrivateKey(text: string): boolean {
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY/.test(text)) return true;
  if (text.trimStart().startsWith('{')) return /"(?:d|p|q|dp|dq|qi)"\s*:/.test(text);
  const der = decodeBase64(text.replace(/\s/g, ''));
  return PRIVATE_DER.test(der) || ENCRYPTED_DER.test(der);
}

/** Enough to see the structure of a key. */
const HEAD_CHARACTERS = 64;

function decodeBase64(text: string): string {
  try {
    return atob(text.slice(0, HEAD_CHARACTERS));
  } catch {
    return '';
  }
}
