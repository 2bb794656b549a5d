import { LIMITS } from '../kernel/limits.ts';

/**
 * Private keys under a passphrase: EncryptedPrivateKeyInfo (RFC 5958). Whoever writes one chooses how much work it is to
 * open it, and OpenSSL does that work at once: nothing else of the process goes on meanwhile. So it is read first how
 * much that is, and what is not wholly understood here is not opened.
 */

type Bytes = Buffer | undefined;
type CostCheck = (parameters: Bytes) => boolean;

/** More elements side by side than any part of such a key has. */
const MAX_ELEMENTS = 6;

/** Object identifiers, as DER has them: AES with 128, 192 and 256 bits, triple DES, all in CBC. */
const CIPHERS: ReadonlySet<string> = new Set([
  '608648016503040102',
  '608648016503040116',
  '60864801650304012a',
  '2a864886f70d0307',
]);

/** HMAC with SHA-1, 224, 256, 384, 512. The truncated forms of SHA-512 take twice as long, and are hardly ever written. */
const DIGESTS: ReadonlySet<string> = new Set(['07', '08', '09', '0a', '0b'].map((end) => `2a864886f70d02${end}`));

/** How a key is made of a passphrase in PBES2 (RFC 8018, RFC 7914). */
const DERIVATIONS: ReadonlyMap<string, CostCheck> = new Map([
  ['2a864886f70d01050c', isPbkdf2Acceptable],
  ['2b06010401da47040b', isScryptAcceptable],
]);

/** PBES2, and PKCS#12 with triple DES of three and of two keys (RFC 7292). The ciphers of all others are too weak for OpenSSL. */
const SCHEMES: ReadonlyMap<string, CostCheck> = new Map([
  ['2a864886f70d01050d', isPbes2Acceptable],
  ['2a864886f70d010c0103', isPkcs12Acceptable],
  ['2a864886f70d010c0104', isPkcs12Acceptable],
]);

/** Whether these bytes are such a key, whole and nothing else, in a scheme that is known, with no more work than a limit. */
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

/** Salt, iterations, perhaps the length of the key, and the digest unless it is SHA-1. */
function isPbkdf2Acceptable(parameters: Bytes): boolean {
  const withSha1 = contentsOf(parameters, /^0402(02)?$/);
  const withDigest = contentsOf(parameters, /^0402(02)?30$/);
  const [digest] = contentsOf(withDigest.at(-1), /^06(05)?$/);
  const isKnown = withSha1.length > 0 || DIGESTS.has(nameOf(digest));
  return isKnown && countOf(withSha1[1] ?? withDigest[1]) <= LIMITS.keyIterations;
}

/** Salt, N, r, p, perhaps the length of the key. It takes 128·N·r bytes of memory. */
function isScryptAcceptable(parameters: Bytes): boolean {
  const [, cost, blockSize, parallel] = contentsOf(parameters, /^04020202(02)?$/);
  return countOf(cost) * countOf(blockSize) * countOf(parallel) <= LIMITS.keyScryptWork;
}

function isPkcs12Acceptable(parameters: Bytes): boolean {
  const [, iterations] = contentsOf(parameters, /^0402$/);
  return countOf(iterations) <= LIMITS.keyIterations;
}

const nameOf = (identifier: Bytes): string => identifier?.toString('hex') ?? '';

/** Of an INTEGER; what is not positive or has more than 31 bits is more than any limit. */
function countOf(integer: Bytes): number {
  if (integer === undefined || integer.length < 1 || integer.length > 4) return Number.POSITIVE_INFINITY;
  const count = integer.readIntBE(0, integer.length);
  return count > 0 ? count : Number.POSITIVE_INFINITY;
}

/** The contents of the elements that the bytes consist of, when their tags fit (two hexadecimal digits each); else none. */
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

/** Where the content of the first element starts and ends. Lengths that DER forbids end nowhere: OpenSSL would take some. */
function boundsOf(bytes: Buffer): [start: number, end: number] {
  const first = bytes[1] ?? 0xff;
  if (first < 0x80) return [2, 2 + first];
  const octets = first - 0x80;
  const start = 2 + octets;
  // Two octets are enough for a file of a key.
  if (octets < 1 || octets > 2 || start > bytes.length) return [start, Number.POSITIVE_INFINITY];
  const length = bytes.readUIntBE(2, octets);
  return [start, length < (octets === 1 ? 0x80 : 0x100) ? Number.POSITIVE_INFINITY : start + length];
}
