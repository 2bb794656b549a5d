import { type Currency, parseCurrency } from '../kernel/currency.ts';
import { type Expiry, parseExpiry } from '../kernel/expiry.ts';
import { isExactNumber, type Json } from '../kernel/json.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Pan, parsePan } from '../kernel/pan.ts';
import { explain } from '../kernel/reasons.ts';
import { parseTrack2, type Track2 } from '../kernel/track.ts';
import { type Field, FieldMismatch } from './fields.ts';

/** Digits as a JSON number of any length, or as a string. */
const digitsOf = (value: Json): string | undefined => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
};

export const cardNumber: Field<Pan> = {
  schema: {
    oneOf: [{ type: 'string' }, { type: 'integer' }],
    description:
      'Card number, 12 to 19 digits; blanks and dashes in a string are dropped. No digit of a number is lost.',
  },
  parse(value) {
    const digits = digitsOf(value);
    const pan =
      digits === undefined || (typeof value !== 'string' && !/^[0-9]+$/.test(digits)) ? undefined : parsePan(digits);
    if (pan === undefined) throw new FieldMismatch(explain('cardNumber', LIMITS.panDigits));
    return pan;
  },
};

export const verificationCode: Field<string> = {
  schema: {
    oneOf: [{ type: 'string', pattern: '^[0-9]{3,4}$' }, { type: 'integer' }],
    description: 'Security code of the card, 3 or 4 digits',
  },
  parse(value) {
    const digits = digitsOf(value);
    if (digits === undefined || !/^[0-9]{3,4}$/.test(digits)) throw new FieldMismatch(explain('securityCode'));
    return digits;
  },
};

export const expiry: Field<Expiry> = {
  schema: { type: 'string', pattern: '^(0[1-9]|1[0-2])/[0-9]{2}$', description: 'Expiry, MM/YY' },
  parse(value) {
    const read = typeof value === 'string' ? parseExpiry(value) : undefined;
    if (read === undefined) throw new FieldMismatch(explain('expiryShort'));
    return read;
  },
};

export const track2: Field<Track2> = {
  schema: {
    type: 'string',
    maxLength: LIMITS.track2Characters + 3,
    description: 'Track 2 (ISO/IEC 7813), with or without sentinels',
  },
  parse(value) {
    const read = typeof value === 'string' ? parseTrack2(value) : undefined;
    if (read === undefined) throw new FieldMismatch(explain('track2'));
    return read;
  },
};

export const currency: Field<Currency> = {
  schema: { type: 'string', pattern: '^[A-Za-z]{3}$', description: 'ISO 4217 code, in either case' },
  parse(value) {
    const read = typeof value === 'string' ? parseCurrency(value) : undefined;
    if (read === undefined) throw new FieldMismatch(explain('isoCurrency'));
    return read;
  },
};
