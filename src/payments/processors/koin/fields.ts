import { type Currency, minorUnitDigits, parseCurrency } from '../../../kernel/currency.ts';
import { type ExactNumber, isExactNumber, type Json } from '../../../kernel/json.ts';
import { formatNumber, type Money } from '../../../kernel/money.ts';
import { isStorable, valueAt } from '../response-fields.ts';

/** Parsing and formatting of KOIN's JSON: amounts, ids, times. Pure. */

const { rawJSON } = JSON as unknown as { rawJSON(text: string): ExactNumber };

/** `{"currency_code": "BRL", "value": 10.5}`: major units, exact. */
export const buildAmount = (money: Money): { [key: string]: Json } => ({
  currency_code: money.currency,
  value: rawJSON(formatNumber(money)),
});

/** Undefined when the value is no amount of a currency of ISO 4217, or has a fraction of its minor unit. */
export function parseAmountObject(body: Json | undefined): Money | undefined {
  const currency = parseCurrency(textAt(body, 'currency_code') ?? '');
  const value = valueAt(body, 'value');
  if (currency === undefined || !(typeof value === 'number' || isExactNumber(value))) return undefined;
  const minor = parseMinorUnits(typeof value === 'number' ? String(value) : value.rawJSON, currency);
  return minor === undefined ? undefined : { minor, currency };
}

const NUMBER = /^([0-9]{1,20})(?:\.([0-9]{1,20}))?(?:[eE]([+-]?[0-9]{1,2}))?$/;

/** Exponents and trailing zeros are accepted: JSON serializers write `1.0E7` and `10.00`. */
function parseMinorUnits(literal: string, currency: Currency): bigint | undefined {
  const [, whole, fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? [];
  if (whole === undefined) return undefined;
  const shift = minorUnitDigits(currency) + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

export function textAt(body: Json | undefined, path: string): string | undefined {
  const value = valueAt(body, path);
  return typeof value === 'string' ? value : undefined;
}

/** Returns an id or code that may be stored, shown and put into a path. */
export function idAt(body: Json | undefined, path: string): string | undefined {
  const value = valueAt(body, path);
  const id = typeof value === 'number' ? String(value) : value;
  return typeof id === 'string' && /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id) && isStorable(id) ? id : undefined;
}

/** Parses ISO 8601 into milliseconds; without an offset as UTC, not as the time of this machine. */
export function timeAt(body: Json | undefined, path: string): number | undefined {
  const text = textAt(body, path) ?? '';
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}/.test(text)) return undefined;
  const time = Date.parse(/(Z|[+-][0-9]{2}:?[0-9]{2})$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? undefined : time;
}
