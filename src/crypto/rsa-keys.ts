import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';
import { hasAcceptableKdfCost } from './encrypted-keys.ts';
import { encryptRsa } from './rsa.ts';

/** Thrown for a file or text that is not the expected key; the message contains nothing of it. */
export class InvalidKeyError extends Failure {
  override readonly name = 'InvalidKeyError';

  /** The field of a form, where several files were given. */
  constructor(explanation: Explanation, field?: string) {
    super('not_possible', explanation, { field });
  }
}

const { min, max } = LIMITS.rsaBits;
const PUBLIC_PEM = /^-----BEGIN (RSA )?PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END \1?PUBLIC KEY-----/m;
/** A private key in PEM, with the headers of legacy encryption when it has them. */
const PRIVATE_PEM =
  /^-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----(?:\r?\n(Proc-Type: 4,ENCRYPTED\r?\nDEK-Info: [A-Z0-9-]+,[0-9A-Fa-f]+\r?\n\r?\n))?([A-Za-z0-9+/=\s]+)-----END \1-----/m;
/** Tools write text before the block. */
const PEM = /^-----BEGIN ([A-Z0-9 ]+)-----/m;
/** The start of a PFX in DER: a sequence, its length, version 3 (RFC 7292). */
const PKCS12 = /^\x30(?:[\x00-\x7f]|\x80|\x81.|\x82..|\x83...)\x02\x01\x03/s;

/** The smallest odd exponent that padding schemes use; with 1 a ciphertext equals its plaintext. */
const SMALLEST_EXPONENT = 3n;
/** A larger exponent has no use, and makes each encryption as slow as a signature. */
const LARGEST_EXPONENT = 2n ** 32n;

/**
 * Parses an RSA public key of at least 2048 bits from PEM (SPKI, PKCS#1), DER, base64 of DER, a JWK, or a certificate.
 * Rejects a private key: it must never leave its owner. Throws `InvalidKeyError`.
 */
export function parsePublicKey(bytes: Uint8Array): KeyObject {
  const key = parseFirst(bytes, [publicFromPem, publicFromJwk, publicFromDer]);
  if (key === undefined) throw new InvalidKeyError(explain('publicKey'));
  // OpenSSL cannot write a key as PKCS#1 that it has read from PKCS#1.
  const der = assertSupportedRsaKey(key).export({ format: 'der', type: 'spki' });
  return assertUsableForEncryption(createPublicKey({ key: der, format: 'der', type: 'spki' }));
}

/**
 * Parses an RSA private key of at least 2048 bits from PEM (PKCS#1, PKCS#8, either encrypted) or DER, or a JWK. A key
 * whose KDF cost exceeds the limits is rejected like one that cannot be parsed. Throws `InvalidKeyError`.
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

/**
 * Parses an X.509 certificate from PEM, DER or base64 of DER; of several in PEM the first. Throws `InvalidKeyError`.
 */
export function parseCertificate(bytes: Uint8Array): X509Certificate {
  const certificate = parseFirst(bytes, [certificateFromPem, (content) => new X509Certificate(derOf(content))]);
  if (certificate === undefined) throw new InvalidKeyError(explain('certificate'));
  assertSupportedRsaKey(certificate.publicKey);
  return certificate;
}

/** Returns the name of a key in JOSE headers (RFC 7638): base64url of SHA-256 over its canonical JWK. */
export function thumbprint(key: KeyObject): string {
  const { e, n } = toPublicKey(key).export({ format: 'jwk' });
  return createHash('sha256').update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest('base64url');
}

/** Returns SHA-256 over the SubjectPublicKeyInfo, hexadecimal, which operators compare. */
export const keyFingerprint = (key: KeyObject): string =>
  createHash('sha256')
    .update(toPublicKey(key).export({ format: 'der', type: 'spki' }))
    .digest('hex');

/** Returns the subject key identifier (RFC 5280 4.2.1.2, method 1): base64 of SHA-1 over the key in PKCS#1. */
export const subjectKeyIdentifier = (key: KeyObject): string =>
  createHash('sha1')
    .update(toPublicKey(key).export({ format: 'der', type: 'pkcs1' }))
    .digest('base64');

export const keyBits = (key: KeyObject): number => key.asymmetricKeyDetails?.modulusLength ?? 0;

export const toPublicKey = (key: KeyObject): KeyObject => (key.type === 'private' ? createPublicKey(key) : key);

/** Encrypts a byte, because numbers that form no valid key fail only when they are used. */
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

/**
 * Returns the first result. Errors of a parser may quote its input, so the caller learns only that all of them failed.
 */
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
  // The base64 is decoded here: with headers of legacy encryption OpenSSL would ask for a passphrase on the terminal,
  // and the process would wait.
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
  // Node silently derives a public key from a private one.
  if (parseFirst(der, [(key) => privateFromDer(key, undefined)]) !== undefined) throw isPrivate();
  return parseFirst(der, [
    (key) => createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' }),
    (key) => createPublicKey({ key: Buffer.from(key), format: 'der', type: 'pkcs1' }),
    (key) => new X509Certificate(key).publicKey,
  ]);
}

/** Parses the first of several blocks. OpenSSL gets only what was checked here, without the text around it. */
function privateFromPem(bytes: Uint8Array, passphrase: string | undefined): KeyObject | undefined {
  const [block, label, headers, base64 = ''] = PRIVATE_PEM.exec(textOf(bytes)) ?? [];
  if (block === undefined) return undefined;
  if (label === 'ENCRYPTED PRIVATE KEY' && headers === undefined)
    return privateFromPkcs8(Buffer.from(base64, 'base64'), passphrase);
  // Legacy encryption has a negligible KDF cost. Under another label, the block may contain an encrypted PKCS#8 whose
  // cost was not checked.
  const isOldKind = label === 'RSA PRIVATE KEY' && headers !== undefined;
  return createPrivateKey({
    key: block,
    format: 'pem',
    ...(isOldKind && passphrase !== undefined && { passphrase }),
  });
}

/**
 * OpenSSL opens nothing encrypted without the passphrase, so it gets the passphrase only for a key with an acceptable
 * KDF cost.
 */
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
