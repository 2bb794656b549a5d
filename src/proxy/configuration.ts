import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { namedKeyIdentifier } from '../crypto/certificate.ts';
import { subjectKeyIdentifier, thumbprint, toPublicKey } from '../crypto/rsa-keys.ts';
import type { GivenSettings } from './settings.ts';

/** What the proxy of one account in one environment works with. */
export interface Configuration {
  readonly processor: Replaceable<ProcessorKey> | undefined;
  readonly merchant: Replaceable<MerchantKey> | undefined;
  readonly settings: GivenSettings;
}

export const EMPTY: Configuration = { processor: undefined, merchant: undefined, settings: {} };

/** Something in use and, while a replacement waits, what comes after it. */
export interface Replaceable<T> {
  readonly current: T;
  readonly next?: Next<T> | undefined;
}

interface Next<T> {
  readonly value: T;
  /** When it comes into use, milliseconds. */
  readonly from: number;
}

/** The public key that payloads are encrypted for. */
export interface ProcessorKey {
  readonly key: KeyObject;
  /** RFC 7638. */
  readonly kid: string;
  /** Base64, as X.509 names the key. */
  readonly subjectKeyIdentifier: string;
  /** When the certificate that it came in ends, milliseconds; absent when it came without. */
  readonly expiresAt: number | undefined;
}

/** The private key that payloads are signed with, and its certificate. */
export interface MerchantKey {
  readonly key: KeyObject;
  readonly kid: string;
  readonly subjectKeyIdentifier: string;
  readonly certificate: X509Certificate;
  /** Base64 of its DER. */
  readonly certificateText: string;
}

export const inUse = <T>(replaceable: Replaceable<T>, now: number): T =>
  replaceable.next !== undefined && replaceable.next.from <= now ? replaceable.next.value : replaceable.current;

/** The last to come into use. */
export const latest = <T>({ current, next }: Replaceable<T>): T => next?.value ?? current;

/** What waits to come into use. */
export const waiting = <T>({ next }: Replaceable<T>, now: number): Next<T> | undefined =>
  next !== undefined && next.from > now ? next : undefined;

/** `from` in the future keeps what is in use until then. */
export function replaced<T>(old: Replaceable<T> | undefined, value: T, from: number, now: number): Replaceable<T> {
  return old === undefined || from <= now ? { current: value } : { current: inUse(old, now), next: { value, from } };
}

export function processorKey(key: KeyObject, certificate: X509Certificate | undefined): ProcessorKey {
  const named = certificate === undefined ? undefined : namedKeyIdentifier(certificate.raw);
  return {
    key,
    kid: thumbprint(key),
    subjectKeyIdentifier: named ?? subjectKeyIdentifier(key),
    expiresAt: certificate === undefined ? undefined : endOf(certificate),
  };
}

export function merchantKey(key: KeyObject, certificate: X509Certificate): MerchantKey {
  return {
    key,
    kid: thumbprint(key),
    subjectKeyIdentifier: namedKeyIdentifier(certificate.raw) ?? subjectKeyIdentifier(key),
    certificate,
    certificateText: certificate.raw.toString('base64'),
  };
}

export const endOf = (certificate: X509Certificate): number => new Date(certificate.validTo).getTime();

export const startOf = (certificate: X509Certificate): number => new Date(certificate.validFrom).getTime();

/** SHA-256 over its DER, hexadecimal. */
export const certificateFingerprint = ({ raw }: X509Certificate): string =>
  createHash('sha256').update(raw).digest('hex');

export const belongTogether = (key: KeyObject, certificate: X509Certificate): boolean =>
  certificate.publicKey.equals(toPublicKey(key));

/** As it is sealed; binary values as base64. */
interface ConfigurationRecord {
  readonly processor?: Replaceable<{ key: string; ski: string; expires_at?: number | undefined }>;
  readonly merchant?: Replaceable<{ key: string; certificate: string }>;
  readonly settings: GivenSettings;
}

const mapped = <T, U>({ current, next }: Replaceable<T>, map: (value: T) => U): Replaceable<U> => ({
  current: map(current),
  ...(next !== undefined && { next: { value: map(next.value), from: next.from } }),
});

export function recordOf({ processor, merchant, settings }: Configuration): string {
  const record: ConfigurationRecord = {
    ...(processor && {
      processor: mapped(processor, ({ key, subjectKeyIdentifier: ski, expiresAt }) => ({
        key: key.export({ format: 'der', type: 'spki' }).toString('base64'),
        ski,
        expires_at: expiresAt,
      })),
    }),
    ...(merchant && {
      merchant: mapped(merchant, ({ key, certificateText: certificate }) => ({
        key: key.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
        certificate,
      })),
    }),
    settings,
  };
  return JSON.stringify(record);
}

/** Parses all keys, so it is done once for each revision. */
export function configurationFrom(record: string): Configuration {
  const { processor, merchant, settings } = JSON.parse(record) as ConfigurationRecord;
  return {
    processor:
      processor &&
      mapped(processor, ({ key: spki, ski, expires_at: expiresAt }) => {
        const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' });
        return { key, kid: thumbprint(key), subjectKeyIdentifier: ski, expiresAt };
      }),
    merchant:
      merchant &&
      mapped(merchant, ({ key: pkcs8, certificate }) => {
        const key = createPrivateKey({ key: Buffer.from(pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
        return merchantKey(key, new X509Certificate(Buffer.from(certificate, 'base64')));
      }),
    settings,
  };
}
