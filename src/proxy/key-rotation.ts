import { type KeyObject, sign, verify, type X509Certificate } from 'node:crypto';
import { createSelfSigned } from '../crypto/certificate.ts';
import { InvalidKeyError, parseCertificate, parsePrivateKey, parsePublicKey, toPublicKey } from '../crypto/rsa-keys.ts';
import { explain } from '../kernel/reasons.ts';
import {
  active,
  expiryOf,
  isKeyPair,
  type MerchantKey,
  type ProcessorKey,
  pending,
  type RotatableValue,
  rotate,
  toMerchantKey,
  toProcessorKey,
  validFrom,
} from './proxy-configuration.ts';

/** Checks of the operator's keys and certificates before anything is stored. All functions throw `InvalidKeyError`. */

/** Adds the field to an error. */
function withField<T>(part: 'processor_public_key' | 'merchant_private_key' | 'merchant_certificate', act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof InvalidKeyError && error.reason !== undefined)
      throw new InvalidKeyError({ reason: error.reason, values: error.values }, part);
    throw error;
  }
}

/** The result of a replacement, and what in it is new. */
interface Rotation<T> {
  readonly keys: RotatableValue<T>;
  readonly entered: T;
}

/** Times of a replacement, and at which the new value becomes active, in milliseconds. */
export interface RotationTimes {
  readonly now: number;
  readonly from: number;
}

/** Parsed from a file with a public key, or with a certificate. */
export function rotateProcessorKey(
  old: RotatableValue<ProcessorKey> | undefined,
  file: Uint8Array,
  times: RotationTimes,
): Rotation<ProcessorKey> {
  const { now, from } = times;
  const { key, certificate } = withField('processor_public_key', () => {
    const key = parsePublicKey(file);
    const certificate = findCertificate(file);
    if (certificate !== undefined) assertValid(certificate, times, 'processor');
    return { key, certificate };
  });
  const entered = toProcessorKey(key, certificate);
  const isActive = old !== undefined && active(old, now).key.equals(key);
  return { keys: isActive ? { current: entered } : rotate(old, entered, from, now), entered };
}

/** The given parts of a merchant's key pair; at least one is present. */
export interface MerchantFiles {
  readonly privateKey: Uint8Array | undefined;
  readonly passphrase: string | undefined;
  readonly certificate: Uint8Array | undefined;
  /** Name of the merchant in a certificate that cardvault creates. */
  readonly name: string;
}

export async function rotateMerchantKey(
  old: RotatableValue<MerchantKey> | undefined,
  files: MerchantFiles,
  times: RotationTimes,
): Promise<Rotation<MerchantKey>> {
  const { now, from } = times;
  if (old !== undefined && from > now && expiryOf(active(old, now).certificate) < from)
    throw new InvalidKeyError(explain('activeCertificateExpires'), 'overlap_minutes');
  const certificate = files.certificate && merchantCertificate(files.certificate, times);
  const { privateKey, passphrase } = files;
  if (privateKey === undefined)
    return withField('merchant_certificate', () => renewCertificate(old, certificate, times));
  const key = withField('merchant_private_key', () => assertSigns(parsePrivateKey(privateKey, passphrase)));
  const entered = await resolveMerchantKey(old, key, certificate, files.name, times);
  // A value that is given again remains active, and a pending value is dropped.
  const isActive = old !== undefined && active(old, now) === entered;
  return { keys: isActive ? { current: entered } : rotate(old, entered, from, now), entered };
}

const merchantCertificate = (file: Uint8Array, times: RotationTimes): X509Certificate =>
  withField('merchant_certificate', () => {
    const certificate = parseCertificate(file);
    assertValid(certificate, times, 'merchant');
    return certificate;
  });

/** A new certificate for an existing key: the active or the pending one. */
function renewCertificate(
  old: RotatableValue<MerchantKey> | undefined,
  certificate: X509Certificate | undefined,
  { now, from }: RotationTimes,
): Rotation<MerchantKey> {
  if (old === undefined || certificate === undefined) throw new InvalidKeyError(explain('certificateNeedsKey'));
  const next = pending(old, now);
  const current = active(old, now);
  if (next !== undefined && from > now) throw new InvalidKeyError(explain('otherKeyPending'));
  if (next !== undefined && isKeyPair(next.value.key, certificate)) {
    assertValid(certificate, { now, from: next.from }, 'merchant');
    const entered = toMerchantKey(next.value.key, certificate);
    return { keys: { current, next: { value: entered, from: next.from } }, entered };
  }
  if (!isKeyPair(current.key, certificate)) throw keyMismatch();
  const entered = toMerchantKey(current.key, certificate);
  const keys = next === undefined ? rotate(old, entered, from, now) : { current: entered, next };
  return { keys, entered };
}

/** Returns the key with its certificate: the given one, the existing one, or a created one. */
async function resolveMerchantKey(
  old: RotatableValue<MerchantKey> | undefined,
  key: KeyObject,
  certificate: X509Certificate | undefined,
  name: string,
  { now, from }: RotationTimes,
): Promise<MerchantKey> {
  if (certificate !== undefined) {
    if (!isKeyPair(key, certificate)) throw keyMismatch();
    return toMerchantKey(key, certificate);
  }
  // Processors store a certificate, so it changes only with its key or at its expiry.
  const candidates = old === undefined ? [] : [active(old, now), pending(old, now)?.value];
  const reusable = candidates.find((each) => each?.key.equals(key) === true && expiryOf(each.certificate) > from);
  return reusable ?? toMerchantKey(key, parseCertificate(await createSelfSigned(key, name, now)));
}

const keyMismatch = (): InvalidKeyError =>
  new InvalidKeyError(explain('certificateOfOtherKey'), 'merchant_certificate');

/** The certificate that contained the public key, if any. */
function findCertificate(file: Uint8Array): X509Certificate | undefined {
  try {
    return parseCertificate(file);
  } catch (error) {
    if (error instanceof InvalidKeyError) return undefined;
    throw error;
  }
}

/** Valid now, and when it becomes active. */
function assertValid(certificate: X509Certificate, { now, from }: RotationTimes, owner: string): void {
  const [start, end] = [validFrom(certificate), expiryOf(certificate)];
  if (Number.isNaN(start) || Number.isNaN(end))
    throw new InvalidKeyError(explain('certificateTimes', { whose: owner }));
  if (end <= now) throw new InvalidKeyError(explain('certificateExpired', { whose: owner }));
  if (end <= from) throw new InvalidKeyError(explain('certificateExpiresBefore', { whose: owner }));
  if (start > now) throw new InvalidKeyError(explain('certificateNotYetValid', { whose: owner }));
}

/** A key can be well-formed and still have numbers that do not belong together. */
function assertSigns(key: KeyObject): KeyObject {
  const data = Buffer.from('cardvault');
  try {
    if (verify('sha256', data, toPublicKey(key), sign('sha256', data, key))) return key;
  } catch {
    // Reported like a signature that does not verify.
  }
  throw new InvalidKeyError(explain('privateKeyDamaged'));
}
