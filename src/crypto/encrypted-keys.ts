import { LIMITS } from '../kernel/limits.ts';

/**
 * Private keys under a passphrase: EncryptedPrivateKeyInfo (RFC 5958). The sender chooses the KDF cost, and OpenSSL
 * runs the KDF on the event loop. So the cost is parsed and limited first, and a key whose structure is not fully known
 * is not opened.
 */

type Bytes = Buffer | undefined;
type CostCheck = (parameters: Bytes) => boolean;

/** More elements side by side than any part of such a key has. */
const MAX_ELEMENTS = 6;

/** Object identifiers in DER: AES with 128, 192 and 256 bits, triple DES, all in CBC. */
const CIPHERS: ReadonlySet<string> = new Set([
  '608648016503040102',
  '608648016503040116',
  '60864801650304012a',
  '2a864886f70d0307',
]);

/** HMAC with SHA-1, 224, 256, 384, 512. The truncated variants of SHA-512 take twice as long, and are rarely used. */
const DIGESTS: ReadonlySet<string> = new Set(['07', '08', '09', '0a', '0b'].map((end) => `2a864886f70d02${end}`));

/** The key derivations of PBES2 from a passphrase (RFC 8018, RFC 7914). */
const DERIVATIONS: ReadonlyMap<string, CostCheck> = new Map([
  ['2a864886f70d01050c', isPbkdf2Acceptable],
  ['2b06010401da47040b', isScryptAcceptable],
]);

/**
 * PBES2, and PKCS#12 with triple DES of three and of two keys (RFC 7292). OpenSSL rejects the weak ciphers of all other
 * schemes.
 */
const SCHEMES: ReadonlyMap<string, CostCheck> = new Map([
  ['2a864886f70d01050d', isPbes2Acceptable],
  ['2a864886f70d010c0103', isPkcs12Acceptable],
  ['2a864886f70d010c0104', isPkcs12Acceptable],
]);

/** True when the bytes are exactly one such key, in a known scheme, with a KDF cost within the limits. */
export function hasAcceptableKdfCost(der: Uint8Array): boolean {
  const [whole] = contentsOf(Buffer.from(der), /^30$/);
  const [algorithm] = contentsOf(whole, /^3004$/);
  const [scheme, parameters] = contentsOf(algorithm, /^0630$/);
  return SCHEMES.get(nameOf(scheme))?.(parameters) === true;
}

function isPbes2Acceptable(parameters: Bytes): boolean {
  const [derivation, encryption] = contentsOf(parameters, /^3030$/);
  const [cipher] = contentsOf(encryption, /^0604$/);
  const [kind, work] = contentsOf(derivation, /^0630$/);
  return CIPHERS.has(nameOf(cipher)) && DERIVATIONS.get(nameOf(kind))?.(work) === true;
}

/** The parameters are salt, iterations, an optional key length, and the digest unless it is SHA-1. */
function isPbkdf2Acceptable(parameters: Bytes): boolean {
  const withSha1 = contentsOf(parameters, /^0402(02)?$/);
  const withDigest = contentsOf(parameters, /^0402(02)?30$/);
  const [digest] = contentsOf(withDigest.at(-1), /^06(05)?$/);
  const isKnown = withSha1.length > 0 || DIGESTS.has(nameOf(digest));
  return isKnown && countOf(withSha1[1] ?? withDigest[1]) <= LIMITS.keyIterations;
}

/** The parameters are salt, N, r, p and an optional key length. The KDF takes 128·N·r bytes of memory. */
function isScryptAcceptable(parameters: Bytes): boolean {
  const [, cost, blockSize, parallel] = contentsOf(parameters, /^04020202(02)?$/);
  return countOf(cost) * countOf(blockSize) * countOf(parallel) <= LIMITS.keyScryptWork;
}

function isPkcs12Acceptable(parameters: Bytes): boolean {
  const [, iterations] = contentsOf(parameters, /^0402$/);
  return countOf(iterations) <= LIMITS.keyIterations;
}

const nameOf = (identifier: Bytes): string => identifier?.toString('hex') ?? '';

/**
 * Returns the value of an INTEGER; infinity when it is not positive or has more than 31 bits, so that it exceeds any
 * limit.
 */
function countOf(integer: Bytes): number {
  if (integer === undefined || integer.length < 1 || integer.length > 4) return Number.POSITIVE_INFINITY;
  const count = integer.readIntBE(0, integer.length);
  return count > 0 ? count : Number.POSITIVE_INFINITY;
}

/**
 * Returns the contents of the elements that the bytes consist of, when their tags match (two hexadecimal digits each);
 * otherwise none.
 */
function contentsOf(bytes: Bytes, tags: RegExp): Buffer[] {
  const found: Buffer[] = [];
  let seen = '';
  for (let rest = bytes ?? Buffer.alloc(0); rest.length > 0 && found.length < MAX_ELEMENTS; ) {
    const [start, end] = boundsOf(rest);
    if (end > rest.length) return [];
    seen += rest.toString('hex', 0, 1);
    found.push(rest.subarray(start, end));
    rest = rest.subarray(end);
  }
  return tags.test(seen) ? found : [];
}

/**
 * Returns where the content of the first element starts and ends. A length that DER forbids ends at infinity, because
 * OpenSSL would accept some of them.
 */
function boundsOf(bytes: Buffer): [start: number, end: number] {
  const first = bytes[1] ?? 0xff;
  if (first < 0x80) return [2, 2 + first];
  const octets = first - 0x80;
  const start = 2 + octets;
  // A key file needs two octets at most.
  if (octets < 1 || octets > 2 || start > bytes.length) return [start, Number.POSITIVE_INFINITY];
  const length = bytes.readUIntBE(2, octets);
  return [start, length < (octets === 1 ? 0x80 : 0x100) ? Number.POSITIVE_INFINITY : start + length];
}
