import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { namedKeyIdentifier } from '../crypto/certificate.ts';
import { subjectKeyIdentifier, thumbprint, toPublicKey } from '../crypto/rsa-keys.ts';
import type { ConfiguredSettings } from './settings.ts';

/** The configuration of the proxy for one account in one environment. */
export interface ProxyConfiguration {
  readonly processor: RotatableValue<ProcessorKey> | undefined;
  readonly merchant: RotatableValue<MerchantKey> | undefined;
  readonly settings: ConfiguredSettings;
}

export const EMPTY: ProxyConfiguration = { processor: undefined, merchant: undefined, settings: {} };

/** An active value and, during a rotation, the pending one. */
export interface RotatableValue<T> {
  readonly current: T;
  readonly next?: PendingValue<T> | undefined;
}

interface PendingValue<T> {
  readonly value: T;
  /** The time at which it becomes active, in milliseconds. */
  readonly from: number;
}

/** The public key that encrypts payloads. */
export interface ProcessorKey {
  readonly key: KeyObject;
  /** The thumbprint (RFC 7638). */
  readonly kid: string;
  /** Base64, as X.509 names the key. */
  readonly subjectKeyIdentifier: string;
  /** Expiry of the certificate that contained the key, in milliseconds; absent when it came without a certificate. */
  readonly expiresAt: number | undefined;
}

/** The private key that signs payloads, and its certificate. */
export interface MerchantKey {
  readonly key: KeyObject;
  readonly kid: string;
  readonly subjectKeyIdentifier: string;
  readonly certificate: X509Certificate;
  /** The certificate's DER in base64. */
  readonly certificateText: string;
}

export const active = <T>(rotatable: RotatableValue<T>, now: number): T =>
  rotatable.next !== undefined && rotatable.next.from <= now ? rotatable.next.value : rotatable.current;

/** The value that becomes active last. */
export const newest = <T>({ current, next }: RotatableValue<T>): T => next?.value ?? current;

/** The value that is not active yet. */
export const pending = <T>({ next }: RotatableValue<T>, now: number): PendingValue<T> | undefined =>
  next !== undefined && next.from > now ? next : undefined;

/** With `from` in the future, the active value remains active until then. */
export function rotate<T>(
  old: RotatableValue<T> | undefined,
  value: T,
  activeFrom: number,
  now: number,
): RotatableValue<T> {
  return old === undefined || activeFrom <= now
    ? { current: value }
    : { current: active(old, now), next: { value, from: activeFrom } };
}

export function toProcessorKey(key: KeyObject, certificate: X509Certificate | undefined): ProcessorKey {
  const certificateKeyIdentifier = certificate === undefined ? undefined : namedKeyIdentifier(certificate.raw);
  return {
    key,
    kid: thumbprint(key),
    subjectKeyIdentifier: certificateKeyIdentifier ?? subjectKeyIdentifier(key),
    expiresAt: certificate === undefined ? undefined : expiryOf(certificate),
  };
}

export function toMerchantKey(key: KeyObject, certificate: X509Certificate): MerchantKey {
  return {
    key,
    kid: thumbprint(key),
    subjectKeyIdentifier: namedKeyIdentifier(certificate.raw) ?? subjectKeyIdentifier(key),
    certificate,
    certificateText: certificate.raw.toString('base64'),
  };
}

export const expiryOf = (certificate: X509Certificate): number => new Date(certificate.validTo).getTime();

export const validFrom = (certificate: X509Certificate): number => new Date(certificate.validFrom).getTime();

/** SHA-256 over its DER, hexadecimal. */
export const certificateFingerprint = ({ raw }: X509Certificate): string =>
  createHash('sha256').update(raw).digest('hex');

export const isKeyPair = (key: KeyObject, certificate: X509Certificate): boolean =>
  certificate.publicKey.equals(toPublicKey(key));

/** The sealed format, with binary values in base64. */
interface ConfigurationRecord {
  readonly processor?: RotatableValue<{ key: string; ski: string; expires_at?: number | undefined }>;
  readonly merchant?: RotatableValue<{ key: string; certificate: string }>;
  readonly settings: ConfiguredSettings;
}

const mapRotatable = <T, U>({ current, next }: RotatableValue<T>, map: (value: T) => U): RotatableValue<U> => ({
  current: map(current),
  ...(next !== undefined && { next: { value: map(next.value), from: next.from } }),
});

export function toRecord({ processor, merchant, settings }: ProxyConfiguration): string {
  const record: ConfigurationRecord = {
    ...(processor && {
      processor: mapRotatable(processor, ({ key, subjectKeyIdentifier: ski, expiresAt }) => ({
        key: key.export({ format: 'der', type: 'spki' }).toString('base64'),
        ski,
        expires_at: expiresAt,
      })),
    }),
    ...(merchant && {
      merchant: mapRotatable(merchant, ({ key, certificateText: certificate }) => ({
        key: key.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
        certificate,
      })),
    }),
    settings,
  };
  return JSON.stringify(record);
}

/** Parses all keys, so it is done once for each revision. */
export function fromRecord(record: string): ProxyConfiguration {
  const { processor, merchant, settings } = JSON.parse(record) as ConfigurationRecord;
  return {
    processor:
      processor &&
      mapRotatable(processor, ({ key: spki, ski, expires_at: expiresAt }) => {
        const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' });
        return { key, kid: thumbprint(key), subjectKeyIdentifier: ski, expiresAt };
      }),
    merchant:
      merchant &&
      mapRotatable(merchant, ({ key: pkcs8, certificate }) => {
        const key = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
        return toMerchantKey(key, new X509Certificate(Buffer.from(certificate, 'base64')));
      }),
    settings,
  };
}
