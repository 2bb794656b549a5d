import { type KeyObject, sign, verify, type X509Certificate } from 'node:crypto';
import { createSelfSigned } from '../crypto/certificate.ts';
import { InvalidKeyError, parseCertificate, parsePrivateKey, parsePublicKey, toPublicKey } from '../crypto/rsa-keys.ts';
import {
  belongTogether,
  endOf,
  inUse,
  type MerchantKey,
  merchantKey,
  type ProcessorKey,
  processorKey,
  type Replaceable,
  replaced,
  startOf,
  waiting,
} from './configuration.ts';

/** Keys and certificates of the operator's, checked before anything is stored. All of it throws `InvalidKeyError`. */

/** Names the part in which a fault lies. */
function inPart<T>(part: 'processor_public_key' | 'merchant_private_key' | 'merchant_certificate', act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof InvalidKeyError) error.field = part;
    throw error;
  }
}

/** What comes of a replacement, and what in it is new. */
export interface Replacement<T> {
  readonly keys: Replaceable<T>;
  readonly entered: T;
}

/** When something is replaced, and when the new one comes into use, milliseconds. */
export interface Times {
  readonly now: number;
  readonly from: number;
}

/** From a file with a public key, or with a certificate. */
export function replaceProcessorKey(
  old: Replaceable<ProcessorKey> | undefined,
  file: Uint8Array,
  times: Times,
): Replacement<ProcessorKey> {
  const { now, from } = times;
  const { key, certificate } = inPart('processor_public_key', () => {
    const key = parsePublicKey(file);
    const certificate = certificateIn(file);
    if (certificate !== undefined) mustBeValid(certificate, times, 'processor');
    return { key, certificate };
  });
  const entered = processorKey(key, certificate);
  const isInUse = old !== undefined && inUse(old, now).key.equals(key);
  return { keys: isInUse ? { current: entered } : replaced(old, entered, from, now), entered };
}

/** What of a merchant's is given; one or the other is there. */
export interface MerchantFiles {
  readonly privateKey: Uint8Array | undefined;
  readonly passphrase: string | undefined;
  readonly certificate: Uint8Array | undefined;
  /** Names the merchant in a certificate that is made here. */
  readonly name: string;
}

export async function replaceMerchantKey(
  old: Replaceable<MerchantKey> | undefined,
  files: MerchantFiles,
  times: Times,
): Promise<Replacement<MerchantKey>> {
  const { now, from } = times;
  if (old !== undefined && from > now && endOf(inUse(old, now).certificate) < from)
    throw new InvalidKeyError('the merchant certificate in use ends before the overlap does', 'overlap_minutes');
  const certificate = files.certificate && merchantCertificate(files.certificate, times);
  const { privateKey, passphrase } = files;
  if (privateKey === undefined) return inPart('merchant_certificate', () => renewed(old, certificate, times));
  const key = inPart('merchant_private_key', () => mustSign(parsePrivateKey(privateKey, passphrase)));
  const entered = await paired(old, key, certificate, files.name, times);
  // Given again, it is in use as it was, and whatever waited does not come.
  const isInUse = old !== undefined && inUse(old, now) === entered;
  return { keys: isInUse ? { current: entered } : replaced(old, entered, from, now), entered };
}

const merchantCertificate = (file: Uint8Array, times: Times): X509Certificate =>
  inPart('merchant_certificate', () => {
    const certificate = parseCertificate(file);
    mustBeValid(certificate, times, 'merchant');
    return certificate;
  });

/** A certificate of its own for a key that is there: the one in use, or the one that waits. */
function renewed(
  old: Replaceable<MerchantKey> | undefined,
  certificate: X509Certificate | undefined,
  { now, from }: Times,
): Replacement<MerchantKey> {
  if (old === undefined || certificate === undefined)
    throw new InvalidKeyError('a certificate needs its private key: give both');
  const next = waiting(old, now);
  const current = inUse(old, now);
  if (next !== undefined && from > now)
    throw new InvalidKeyError('another key waits already: a certificate cannot wait beside it');
  if (next !== undefined && belongTogether(next.value.key, certificate)) {
    mustBeValid(certificate, { now, from: next.from }, 'merchant');
    const entered = merchantKey(next.value.key, certificate);
    return { keys: { current, next: { value: entered, from: next.from } }, entered };
  }
  if (!belongTogether(current.key, certificate)) throw anotherKey();
  const entered = merchantKey(current.key, certificate);
  const keys = next === undefined ? replaced(old, entered, from, now) : { current: entered, next };
  return { keys, entered };
}

/** The key with its certificate: the one given, the one it has, or one made here. */
async function paired(
  old: Replaceable<MerchantKey> | undefined,
  key: KeyObject,
  certificate: X509Certificate | undefined,
  name: string,
  { now, from }: Times,
): Promise<MerchantKey> {
  if (certificate !== undefined) {
    if (!belongTogether(key, certificate)) throw anotherKey();
    return merchantKey(key, certificate);
  }
  // Processors hold on to a certificate, so it changes only with its key or by its end.
  const known = old === undefined ? [] : [inUse(old, now), waiting(old, now)?.value];
  const same = known.find((each) => each?.key.equals(key) === true && endOf(each.certificate) > from);
  return same ?? merchantKey(key, parseCertificate(await createSelfSigned(key, name, now)));
}

const anotherKey = (): InvalidKeyError =>
  new InvalidKeyError('the merchant certificate belongs to another private key', 'merchant_certificate');

/** The certificate that a public key came in, if it did. */
function certificateIn(file: Uint8Array): X509Certificate | undefined {
  try {
    return parseCertificate(file);
  } catch (error) {
    if (error instanceof InvalidKeyError) return undefined;
    throw error;
  }
}

/** Now, and when it comes into use. */
function mustBeValid(certificate: X509Certificate, { now, from }: Times, whose: string): void {
  const [start, end] = [startOf(certificate), endOf(certificate)];
  if (Number.isNaN(start) || Number.isNaN(end))
    throw new InvalidKeyError(`the times of the ${whose} certificate are malformed`);
  if (end <= now) throw new InvalidKeyError(`the ${whose} certificate has expired`);
  if (end <= from) throw new InvalidKeyError(`the ${whose} certificate ends before it comes into use`);
  if (start > now) throw new InvalidKeyError(`the ${whose} certificate is not valid yet`);
}

/** A key can be well-formed and still have numbers that do not fit each other. */
function mustSign(key: KeyObject): KeyObject {
  const data = Buffer.from('cardvault');
  try {
    if (verify('sha256', data, toPublicKey(key), sign('sha256', data, key))) return key;
  } catch {
    // As a signature that does not verify.
  }
  throw new InvalidKeyError('the private key is damaged: its signature does not verify');
}
