import { isExactNumber, isJsonObject, type Json } from './json.ts';
import { truncatePansIn } from './pan.ts';

/** The longest number, written out, that is searched for a card number. */
const WRITTEN_OUT_DIGITS = 40;

/** The value with every card number in its strings, numbers and keys truncated (decisions: Captures). */
export function truncatePansInJson(value: Json): Json {
  if (typeof value === 'string') return truncatePansIn(value);
  if (typeof value === 'number') return maskedNumber(value, String(value));
  if (isExactNumber(value)) return maskedNumber(value, writtenOut(value.rawJSON));
  if (Array.isArray(value)) return value.map(truncatePansInJson);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [truncatePansIn(key), truncatePansInJson(member)]),
  );
}

function maskedNumber(value: Json, digits: string): Json {
  const masked = truncatePansIn(digits);
  return masked === digits ? value : masked;
}

/** `4.111111111111111e15` is a card number too: the digits of a number with its exponent carried out. */
function writtenOut(literal: string): string {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const shift = Number(exponent);
  if (Math.abs(shift) > WRITTEN_OUT_DIGITS || fraction.length > WRITTEN_OUT_DIGITS) return literal;
  const digits = shift < 0 ? whole : whole + fraction.slice(0, shift).padEnd(shift, '0');
  const rest = shift < 0 ? fraction : fraction.slice(shift);
  return rest === '' ? digits : `${digits}.${rest}`;
}
