import { type Currency, minorUnitDigits, parseCurrency } from '../../../kernel/currency.ts';
import { type ExactNumber, isExactNumber, isJsonObject, type Json } from '../../../kernel/json.ts';
import { formatNumber, type Money } from '../../../kernel/money.ts';
import { containsPan } from '../../../kernel/pan.ts';

/** Parsing and formatting of KOIN's JSON: amounts, ids, texts at a path. Pure. */

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

export function valueAt(body: Json | undefined, ...path: readonly string[]): Json | undefined {
  let value = body;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

export function textAt(body: Json | undefined, ...path: readonly string[]): string | undefined {
  const value = valueAt(body, ...path);
  return typeof value === 'string' ? value : undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Returns an id or code that may be stored, shown and put into a path: none that looks like a card number. UUIDs are
 * exempt, because a few of them do by chance, and an order is useless without its id.
 */
export function idAt(body: Json | undefined, ...path: readonly string[]): string | undefined {
  const value = valueAt(body, ...path);
  const id = typeof value === 'number' ? String(value) : value;
  if (typeof id !== 'string') return undefined;
  return UUID.test(id) || (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id) && !containsPan(id)) ? id : undefined;
}

/** Parses ISO 8601 into milliseconds; without an offset as UTC, not as the time of this machine. */
export function timeAt(body: Json | undefined, ...path: readonly string[]): number | undefined {
  const text = textAt(body, ...path) ?? '';
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}/.test(text)) return undefined;
  const time = Date.parse(/(Z|[+-][0-9]{2}:?[0-9]{2})$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? undefined : time;
}
