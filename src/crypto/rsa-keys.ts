import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';
import { hasAcceptableKdfCost } from './encrypted-keys.ts';
import { encryptRsa } from './rsa.ts';

/** A file or text that is not the key it should be; the message holds nothing of it. */
export class InvalidKeyError extends Failure {
  override readonly name = 'InvalidKeyError';

  /** `field`: which of several files it is, as forms call it. */
  constructor(explanation: Explanation, field?: string) {
    super('not_possible', explanation, { field });
  }
}

const { min, max } = LIMITS.rsaBits;
const PUBLIC_PEM = /^-----BEGIN (RSA )?PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END \1?PUBLIC KEY-----/m;
/** With the headers of the old kind of encryption, when it has them. */
const PRIVATE_PEM =
  /^-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----(?:\r?\n(Proc-Type: 4,ENCRYPTED\r?\nDEK-Info: [A-Z0-9-]+,[0-9A-Fa-f]+\r?\n\r?\n))?([A-Za-z0-9+/=\s]+)-----END \1-----/m;
/** Tools write lines of their own before it. */
const PEM = /^-----BEGIN ([A-Z0-9 ]+)-----/m;
/** How the DER of a PFX begins: a sequence, its length, version 3 (RFC 7292). */
const PKCS12 = /^\x30(?:[\x00-\x7f]|\x80|\x81.|\x82..|\x83...)\x02\x01\x03/s;

/** The smallest odd exponent with which padding schemes are used; with 1 a ciphertext is its plaintext. */
const SMALLEST_EXPONENT = 3n;
/** Larger ones are of no use, and make each encryption as slow as a signature. */
const LARGEST_EXPONENT = 2n ** 32n;

/**
 * An RSA public key of at least 2048 bits from PEM (SPKI, PKCS#1), DER, base64 of DER, a JWK, or a certificate. A private
 * key is refused: whoever sends one here has sent it to the wrong place. Throws `InvalidKeyError`.
 */
export function parsePublicKey(bytes: Uint8Array): KeyObject {
  const key = parseFirst(bytes, [publicFromPem, publicFromJwk, publicFromDer]);
  if (key === undefined) throw new InvalidKeyError(explain('publicKey'));
  // OpenSSL cannot write a key again as PKCS#1 that it has read from PKCS#1.
  const der = assertSupportedRsaKey(key).export({ format: 'der', type: 'spki' });
  return assertUsableForEncryption(createPublicKey({ key: der, format: 'der', type: 'spki' }));
}

/**
 * An RSA private key of at least 2048 bits from PEM (PKCS#1, PKCS#8, either encrypted) or DER, or a JWK. One that takes
 * too much work to open is refused as one that cannot be read. Throws `InvalidKeyError`.
 */
export function parsePrivateKey(bytes: Uint8Array, passphrase: string | undefined): KeyObject {
  const text = textOf(bytes);
  const isEncrypted = /^-----BEGIN ENCRYPTED |^Proc-Type: *4, *ENCRYPTED/m.test(text);
  if (isEncrypted && passphrase === undefined) throw new InvalidKeyError(explain('passphraseNeeded'));
  const key = parseFirst(bytes, [
    (content) => privateFromPem(content, passphrase),
    privateFromJwk,
    (content) => privateFromDer(content, passphrase),
  ]);
  if (key !== undefined) return assertSupportedRsaKey(key);
  if (PKCS12.test(text)) throw new InvalidKeyError(explain('pkcs12'));
  if (passphrase !== undefined) throw new InvalidKeyError(explain('passphraseWrong'));
  throw new InvalidKeyError(explain('privateKey'));
}

/** An X.509 certificate from PEM, DER or base64 of DER; of several in PEM the first. Throws `InvalidKeyError`. */
export function parseCertificate(bytes: Uint8Array): X509Certificate {
  const certificate = parseFirst(bytes, [certificateFromPem, (content) => new X509Certificate(derOf(content))]);
  if (certificate === undefined) throw new InvalidKeyError(explain('certificate'));
  assertSupportedRsaKey(certificate.publicKey);
  return certificate;
}

/** RFC 7638, the name of a key in JOSE headers: base64url of SHA-256 over its canonical JWK. */
export function thumbprint(key: KeyObject): string {
  const { e, n } = toPublicKey(key).export({ format: 'jwk' });
  return createHash('sha256').update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest('base64url');
}

/** SHA-256 over the SubjectPublicKeyInfo, hexadecimal: what people compare. */
export const keyFingerprint = (key: KeyObject): string =>
  createHash('sha256')
    .update(toPublicKey(key).export({ format: 'der', type: 'spki' }))
    .digest('hex');

/** RFC 5280 4.2.1.2, method 1: base64 of SHA-1 over the key as PKCS#1 has it. */
export const subjectKeyIdentifier = (key: KeyObject): string =>
  createHash('sha1')
    .update(toPublicKey(key).export({ format: 'der', type: 'pkcs1' }))
    .digest('base64');

export const keyBits = (key: KeyObject): number => key.asymmetricKeyDetails?.modulusLength ?? 0;

export const toPublicKey = (key: KeyObject): KeyObject => (key.type === 'private' ? createPublicKey(key) : key);

/** Numbers that are no key show when they are used. */
function assertUsableForEncryption(key: KeyObject): KeyObject {
  try {
    encryptRsa('oaep-sha256', key, Buffer.alloc(1));
    return key;
  } catch {
    throw new InvalidKeyError(explain('publicKeyDamaged'));
  }
}

function assertSupportedRsaKey(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw new InvalidKeyError(explain('rsa'));
  const bits = keyBits(key);
  if (bits < min || bits > max) throw new InvalidKeyError(explain('keyBits', { min, max, bits }));
  const exponent = key.asymmetricKeyDetails?.publicExponent ?? 0n;
  if (exponent < SMALLEST_EXPONENT || exponent > LARGEST_EXPONENT || exponent % 2n === 0n)
    throw new InvalidKeyError(explain('keyExponent', { min: String(SMALLEST_EXPONENT) }));
  return key;
}

/** Errors of the reader may quote what it read, so only that all of them failed is told. */
function parseFirst<T>(bytes: Uint8Array, readers: readonly ((bytes: Uint8Array) => T | undefined)[]): T | undefined {
  if (bytes.length > LIMITS.keyFileBytes) throw new InvalidKeyError(explain('keyBytes', { max: LIMITS.keyFileBytes }));
  for (const read of readers) {
    try {
      const result = read(bytes);
      if (result !== undefined) return result;
    } catch (error) {
      if (error instanceof InvalidKeyError) throw error;
    }
  }
  return undefined;
}

const isPrivate = (): InvalidKeyError => new InvalidKeyError(explain('keyIsPrivate'));

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const labelOf = (bytes: Uint8Array): string | undefined => PEM.exec(textOf(bytes))?.[1];

function publicFromPem(bytes: Uint8Array): KeyObject | undefined {
  const label = labelOf(bytes);
  if (label === undefined) return undefined;
  if (label.includes('PRIVATE')) throw isPrivate();
  if (label.includes('CERTIFICATE')) return certificateFromPem(bytes)?.publicKey;
  // Decoded here: given a header that says it is encrypted, OpenSSL would ask on the terminal, and the process would wait.
  const [, type, base64] = PUBLIC_PEM.exec(textOf(bytes)) ?? [];
  if (base64 === undefined) return undefined;
  const der = Buffer.from(base64, 'base64');
  return createPublicKey({ key: der, format: 'der', type: type === 'RSA ' ? 'pkcs1' : 'spki' });
}

function publicFromJwk(bytes: Uint8Array): KeyObject | undefined {
  const jwk = jwkOf(bytes);
  if (jwk === undefined) return undefined;
  if ('d' in jwk) throw isPrivate();
  return createPublicKey({ key: jwk, format: 'jwk' });
}

function publicFromDer(bytes: Uint8Array): KeyObject | undefined {
  const der = derOf(bytes);
  // Node makes a public key of a private one without a word.
  if (parseFirst(der, [(key) => privateFromDer(key, undefined)]) !== undefined) throw isPrivate();
  return parseFirst(der, [
    (key) => createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' }),
    (key) => createPublicKey({ key: Buffer.from(key), format: 'der', type: 'pkcs1' }),
    (key) => new X509Certificate(key).publicKey,
  ]);
}

/** Of several the first. What OpenSSL gets is what was looked at here, and nothing that stood around it. */
function privateFromPem(bytes: Uint8Array, passphrase: string | undefined): KeyObject | undefined {
  const [block, label, headers, base64 = ''] = PRIVATE_PEM.exec(textOf(bytes)) ?? [];
  if (block === undefined) return undefined;
  if (label === 'ENCRYPTED PRIVATE KEY' && headers === undefined)
    return privateFromPkcs8(Buffer.from(base64, 'base64'), passphrase);
  // The old kind takes no work. Under another label an encrypted PKCS#8 may be inside, which nobody has looked at.
  const isOldKind = label === 'RSA PRIVATE KEY' && headers !== undefined;
  return createPrivateKey({
    key: block,
    format: 'pem',
    ...(isOldKind && passphrase !== undefined && { passphrase }),
  });
}

/** Without the passphrase OpenSSL opens nothing that is encrypted, so it gets it only for what opens in time. */
function privateFromPkcs8(key: Buffer, passphrase: string | undefined): KeyObject {
  const secret = passphrase !== undefined && hasAcceptableKdfCost(key) ? { passphrase } : {};
  return createPrivateKey({ key, format: 'der', type: 'pkcs8', ...secret });
}

function privateFromJwk(bytes: Uint8Array): KeyObject | undefined {
  const jwk = jwkOf(bytes);
  return jwk === undefined ? undefined : createPrivateKey({ key: jwk, format: 'jwk' });
}

function privateFromDer(bytes: Uint8Array, passphrase: string | undefined): KeyObject | undefined {
  const key = Buffer.from(derOf(bytes));
  return parseFirst(key, [
    () => privateFromPkcs8(key, passphrase),
    () => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  ]);
}

function certificateFromPem(bytes: Uint8Array): X509Certificate | undefined {
  return labelOf(bytes)?.includes('CERTIFICATE') === true ? new X509Certificate(Buffer.from(bytes)) : undefined;
}

function jwkOf(bytes: Uint8Array): Record<string, unknown> | undefined {
  const text = textOf(bytes).trim();
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : undefined;
}

/** DER itself, or base64 of it. */
function derOf(bytes: Uint8Array): Uint8Array {
  const text = textOf(bytes).replace(/\s/g, '');
  return /^[A-Za-z0-9+/]+=*$/.test(text) ? Buffer.from(text, 'base64') : bytes;
}
