import { type Expiry, parseTrackExpiry } from './expiry.ts';
import { LIMITS } from './limits.ts';
import { type Pan, parsePan } from './pan.ts';

/** Track 2 of a magnetic stripe (ISO/IEC 7813), without sentinels and without the check character. */
export interface Track2 {
  readonly data: string;
  readonly pan: Pan;
  /** Absent when the card has a separator in its place. */
  readonly expiry: Expiry | undefined;
}

// PAN, separator, expiry or separator, service code or separator, discretionary data. A reader that prints hexadecimal
// writes the separator as D.
const DATA = /^([0-9]{12,19})[=D]([0-9]{4}|[=D])([0-9]{3}|[=D])([0-9]*)$/;

/**
 * Parses track 2 with or without `;` and `?` (a check character may follow the latter); undefined for any other text.
 */
export function parseTrack2(text: string): Track2 | undefined {
  const data = /^;?([^;?]*)(?:\?.?)?$/s.exec(text)?.[1];
  if (data === undefined || data.length > LIMITS.track2Characters) return undefined;
  const [, digits, date = ''] = DATA.exec(data) ?? [];
  const pan = digits === undefined ? undefined : parsePan(digits);
  if (pan === undefined) return undefined;
  const expiry = parseTrackExpiry(date);
  return expiry === undefined && date.length > 1 ? undefined : { data, pan, expiry };
}
