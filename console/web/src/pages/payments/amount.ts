/** Parses amounts that users type. Amounts stay decimal text: money is never a floating-point number. */

export type AmountFault = 'form' | 'zero' | 'tooMuch';

const TYPED = /^(\d{1,12})(?:[.,](\d+))?$/;

/** Counts the decimals of an amount. The service writes amounts with all decimals of the currency. */
export const countDecimals = (amount: string): number => amount.split('.')[1]?.length ?? 0;

const toMinorUnits = (amount: string): bigint => BigInt(amount.replace('.', ''));

/** Parses an amount with point or comma and at most the decimals of `most`. */
export function parseAmount(typed: string, most: string): { amount: string } | { fault: AmountFault } {
  const decimals = countDecimals(most);
  const [, whole, fraction = ''] = TYPED.exec(typed.trim()) ?? [];
  if (whole === undefined || fraction.length > decimals) return { fault: 'form' };
  const digits = whole.replace(/^0+(?=\d)/, '');
  const amount = decimals === 0 ? digits : `${digits}.${fraction.padEnd(decimals, '0')}`;
  if (toMinorUnits(amount) === 0n) return { fault: 'zero' };
  return toMinorUnits(amount) > toMinorUnits(most) ? { fault: 'tooMuch' } : { amount };
}
