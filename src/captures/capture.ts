import type { Expiry } from '../kernel/expiry.ts';
import { isJsonObject, type Json, parseJson } from '../kernel/json.ts';
import type { Pan } from '../kernel/pan.ts';

/** Sensitive authentication data (PCI DSS 3.3): sealed under a key of its own, and never stored in the vault of tokens. */
interface SensitiveAuthenticationData {
  readonly cvv: string | undefined;
  readonly track2: string | undefined;
}

export type AdditionalInfo = { readonly [key: string]: Json };

/** The temporary record behind `/transactions/requests`. */
export interface Capture {
  readonly id: string;
  readonly pan: Pan | undefined;
  readonly name: string | undefined;
  readonly expiry: Expiry | undefined;
  readonly sad: SensitiveAuthenticationData;
  readonly amount: number;
  readonly currency: string;
  readonly additionalInfo: AdditionalInfo;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The sealed part of a capture that is not sensitive authentication data. */
export function formatCaptureRecord({ pan, name, expiry, additionalInfo }: Capture): string {
  return JSON.stringify({ pan, name, ...expiry, additionalInfo });
}

export function parseCaptureRecord(record: string): Pick<Capture, 'pan' | 'name' | 'expiry' | 'additionalInfo'> {
  // Parsed as requests are, so that numbers in additional_info stay as they were written.
  const value = parseJson(record);
  if (!isJsonObject(value)) throw new Error('a capture record is no object');
  const { pan, name, month, year, additionalInfo } = value;
  return {
    pan: toOptionalText(pan) as Pan | undefined,
    name: toOptionalText(name),
    expiry: typeof month === 'string' && typeof year === 'string' ? { month, year } : undefined,
    additionalInfo: isJsonObject(additionalInfo) ? additionalInfo : {},
  };
}

export const formatSadRecord = (data: SensitiveAuthenticationData): string | undefined =>
  data.cvv === undefined && data.track2 === undefined ? undefined : JSON.stringify(data);

export function parseSadRecord(record: string | undefined): SensitiveAuthenticationData {
  const { cvv, track2 } = record === undefined ? {} : (JSON.parse(record) as Partial<SensitiveAuthenticationData>);
  return { cvv, track2 };
}

const toOptionalText = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
