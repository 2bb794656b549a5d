import { isExactNumber, isJsonObject, type Json } from './json.ts';
import { LIMITS } from './limits.ts';
import { truncatePans } from './pan.ts';

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/;

/** Returns the value with every card number in its strings, numbers and keys truncated (decisions: Captures). */
export function truncatePansInJson(value: Json): Json {
  if (typeof value === 'string') return truncatePans(value);
  if (typeof value === 'number') return truncateNumber(value, String(value));
  if (isExactNumber(value)) return truncateNumber(value, expandExponent(value.rawJSON));
  if (Array.isArray(value)) return value.map(truncatePansInJson);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [truncatePans(key), truncatePansInJson(member)]),
  );
}

function truncateNumber(value: Json, digits: string): Json {
  const masked = truncatePans(digits);
  return masked === digits ? value : masked;
}

/**
 * `4.111111111111111e15` is a card number too, so an integer is written without its exponent. Other numbers stay as
 * written.
 */
function expandExponent(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal.toLowerCase()) ?? [];
  const written = whole + fraction;
  const leading = written.length - written.replace(/^0+/, '').length;
  const digits = withoutTrailingZeros(written.slice(leading));
  const places = whole.length - leading + Number(exponent);
  const isCardSized = digits.length <= places && places <= LIMITS.panDigits.max;
  return isCardSized ? sign + digits.padEnd(places, '0') : literal;
}

/** This is a loop, because a pattern would take quadratic time over many zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
