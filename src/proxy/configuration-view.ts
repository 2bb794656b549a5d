import { keyBits, keyFingerprint, toPublicKey } from '../crypto/rsa-keys.ts';
import { formatIso8601, formatIso8601OrNull } from '../kernel/clock.ts';
import {
  active,
  certificateFingerprint,
  expiryOf,
  type MerchantKey,
  type ProcessorKey,
  type ProxyConfiguration,
  pending,
  type RotatableValue,
  validFrom,
} from './proxy-configuration.ts';
import { type ConfiguredSettings, redactedSettings } from './settings.ts';

/** A configuration for operators and members: fingerprints, times, settings and the certificate, and no secret. */
export interface ConfigurationView {
  readonly processor_public_key: (ProcessorKeyView & PendingView<ProcessorKeyView>) | null;
  readonly merchant_private_key: (KeyView & PendingView<KeyView>) | null;
  readonly merchant_certificate: (CertificateView & PendingView<CertificateView>) | null;
  readonly settings: ConfiguredSettings;
}

interface KeyView {
  /** The thumbprint (RFC 7638), as in JOSE headers. */
  readonly kid: string;
  /** SHA-256 of the SubjectPublicKeyInfo, hexadecimal. */
  readonly fingerprint: string;
  readonly bits: number;
  /** PEM, SubjectPublicKeyInfo: of a private key too, the public half is shown for receivers. */
  readonly public_key: string;
}

interface ProcessorKeyView extends KeyView {
  /** The subject key identifier in base64, as in WS-Security headers. */
  readonly subject_key_identifier: string;
  /** Expiry of the certificate that contained the key; null when the key came without a certificate. */
  readonly expires_at: string | null;
}

interface CertificateView {
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

/** The pending value; null when there is none. */
interface PendingView<T> {
  readonly next: (T & { readonly from: string }) | null;
}

export function toConfigurationView(
  { processor, merchant, settings }: ProxyConfiguration,
  now: number,
): ConfigurationView {
  return {
    processor_public_key: processor === undefined ? null : toRotatableView(processor, toProcessorKeyView, now),
    merchant_private_key: merchant === undefined ? null : toRotatableView(merchant, toKeyView, now),
    merchant_certificate: merchant === undefined ? null : toRotatableView(merchant, toCertificateView, now),
    settings: redactedSettings(settings),
  };
}

function toRotatableView<T, S>(rotatable: RotatableValue<T>, toView: (value: T) => S, now: number): S & PendingView<S> {
  const next = pending(rotatable, now);
  const nextView = next === undefined ? null : { ...toView(next.value), from: formatIso8601(next.from) };
  return { ...toView(active(rotatable, now)), next: nextView };
}

const toKeyView = ({ key, kid }: Pick<MerchantKey, 'key' | 'kid'>): KeyView => ({
  kid,
  fingerprint: keyFingerprint(key),
  bits: keyBits(key),
  public_key: toPublicKey(key).export({ format: 'pem', type: 'spki' }).toString(),
});

const toProcessorKeyView = (processor: ProcessorKey): ProcessorKeyView => ({
  ...toKeyView(processor),
  subject_key_identifier: processor.subjectKeyIdentifier,
  expires_at: formatIso8601OrNull(processor.expiresAt),
});

const toCertificateView = ({ certificate }: MerchantKey): CertificateView => ({
  fingerprint: certificateFingerprint(certificate),
  // One line, as openssl prints it.
  subject: certificate.subject.replaceAll('\n', ', '),
  issuer: certificate.issuer.replaceAll('\n', ', '),
  serial_number: certificate.serialNumber,
  not_before: formatIso8601(validFrom(certificate)),
  expires_at: formatIso8601(expiryOf(certificate)),
  self_signed: certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey),
  pem: certificate.toString(),
});
