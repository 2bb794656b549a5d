import { type Currency, MAX_MINOR_UNIT_DIGITS, minorUnitDigits } from './currency.ts';
import { LIMITS } from './limits.ts';

/**
 * Amounts are integers of the currency's minor unit (ISO 4217), never floating point. They are bigints, because 12
 * digits with 4 decimals exceed a double.
 */
export interface Money {
  readonly minor: bigint;
  readonly currency: Currency;
}

const DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

/** A decimal without sign, exponent and leading zeros. */
export const isDecimal = (text: string): boolean => DECIMAL.test(text);

/**
 * Returns the minor units of a decimal such as `10.5`. Undefined for a text that is no decimal, has more decimals than
 * the currency (counted as written), or more digits before the point than the limit.
 */
export const parseAmount = (text: string, currency: Currency): bigint | undefined =>
  parseScaled(text, minorUnitDigits(currency));

/** Returns a decimal without a currency, to be compared with `toComparable` of amounts in any. Undefined as `parseAmount`. */
export const parseComparable = (text: string): bigint | undefined => parseScaled(text, MAX_MINOR_UNIT_DIGITS);

/** Returns the amount in the smallest unit that any currency has. */
export const toComparable = ({ minor, currency }: Money): bigint =>
  minor * 10n ** BigInt(MAX_MINOR_UNIT_DIGITS - minorUnitDigits(currency));

function parseScaled(text: string, places: number): bigint | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || whole.length > LIMITS.amountIntegerDigits || fraction.length > places) return undefined;
  return BigInt(whole + fraction.padEnd(places, '0'));
}

/** Returns the amount with all decimals of the currency: `10.50`. */
export function formatDecimal({ minor, currency }: Money): string {
  const places = minorUnitDigits(currency);
  const digits = String(minor).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** Returns the amount as a JSON number without zeros at the end: `10.5`. */
export function formatNumber(money: Money): string {
  const decimal = formatDecimal(money);
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}
