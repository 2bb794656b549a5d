import { keyBits, keyFingerprint, toPublicKey } from '../crypto/rsa-keys.ts';
import { iso8601, timeOrNull } from '../kernel/clock.ts';
import {
  type Configuration,
  certificateFingerprint,
  endOf,
  inUse,
  type MerchantKey,
  type ProcessorKey,
  type Replaceable,
  startOf,
  waiting,
} from './configuration.ts';
import { type GivenSettings, shownSettings } from './settings.ts';

/** A configuration for people: fingerprints, times, settings and the certificate, and nothing that is secret. */
export interface Description {
  readonly processor_public_key: (ShownProcessorKey & Replacement<ShownProcessorKey>) | null;
  readonly merchant_private_key: (ShownKey & Replacement<ShownKey>) | null;
  readonly merchant_certificate: (ShownCertificate & Replacement<ShownCertificate>) | null;
  readonly settings: GivenSettings;
}

interface ShownKey {
  /** RFC 7638, as in JOSE headers. */
  readonly kid: string;
  /** SHA-256 of the SubjectPublicKeyInfo, hexadecimal. */
  readonly fingerprint: string;
  readonly bits: number;
  /** PEM, SubjectPublicKeyInfo: also of a private key its public half, for receivers. */
  readonly public_key: string;
}

interface ShownProcessorKey extends ShownKey {
  /** Base64, as in WS-Security headers. */
  readonly subject_key_identifier: string;
  /** When the certificate ends that the key came in; null when it came without one. */
  readonly expires_at: string | null;
}

interface ShownCertificate {
  /** SHA-256 of the DER, hexadecimal. */
  readonly fingerprint: string;
  readonly subject: string;
  readonly issuer: string;
  readonly serial_number: string;
  readonly not_before: string;
  readonly expires_at: string;
  readonly self_signed: boolean;
  readonly pem: string;
}

/** What comes into use later; null when nothing does. */
interface Replacement<T> {
  readonly next: (T & { readonly from: string }) | null;
}

export function describeConfiguration({ processor, merchant, settings }: Configuration, now: number): Description {
  return {
    processor_public_key: processor === undefined ? null : shown(processor, processorShown, now),
    merchant_private_key: merchant === undefined ? null : shown(merchant, keyShown, now),
    merchant_certificate: merchant === undefined ? null : shown(merchant, certificateShown, now),
    settings: shownSettings(settings),
  };
}

function shown<T, S>(replaceable: Replaceable<T>, show: (value: T) => S, now: number): S & Replacement<S> {
  const next = waiting(replaceable, now);
  const shownNext = next === undefined ? null : { ...show(next.value), from: iso8601(next.from) };
  return { ...show(inUse(replaceable, now)), next: shownNext };
}

const keyShown = ({ key, kid }: Pick<MerchantKey, 'key' | 'kid'>): ShownKey => ({
  kid,
  fingerprint: keyFingerprint(key),
  bits: keyBits(key),
  public_key: toPublicKey(key).export({ format: 'pem', type: 'spki' }).toString(),
});

const processorShown = (processor: ProcessorKey): ShownProcessorKey => ({
  ...keyShown(processor),
  subject_key_identifier: processor.subjectKeyIdentifier,
  expires_at: timeOrNull(processor.expiresAt),
});

const certificateShown = ({ certificate }: MerchantKey): ShownCertificate => ({
  fingerprint: certificateFingerprint(certificate),
  // One line, as openssl prints it.
  subject: certificate.subject.replaceAll('\n', ', '),
  issuer: certificate.issuer.replaceAll('\n', ', '),
  serial_number: certificate.serialNumber,
  not_before: iso8601(startOf(certificate)),
  expires_at: iso8601(endOf(certificate)),
  self_signed: certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey),
  pem: certificate.toString(),
});
