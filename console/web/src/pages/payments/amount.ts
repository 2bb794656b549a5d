/** Amounts as people type them. Decimal text throughout: money is never a floating point number. */

type AmountFault = 'form' | 'zero' | 'tooMuch';

const TYPED = /^(\d{1,12})(?:[.,](\d+))?$/;

/** The service writes amounts with all places of their currency. */
export const placesOf = (amount: string): number => amount.split('.')[1]?.length ?? 0;

const minorOf = (amount: string): bigint => BigInt(amount.replace('.', ''));

/** Point or comma, at most the places that `most` has. */
export function readAmount(typed: string, most: string): { amount: string } | { fault: AmountFault } {
  const places = placesOf(most);
  const [, whole, fraction = ''] = TYPED.exec(typed.trim()) ?? [];
  if (whole === undefined || fraction.length > places) return { fault: 'form' };
  const digits = whole.replace(/^0+(?=\d)/, '');
  const amount = places === 0 ? digits : `${digits}.${fraction.padEnd(places, '0')}`;
  if (minorOf(amount) === 0n) return { fault: 'zero' };
  return minorOf(amount) > minorOf(most) ? { fault: 'tooMuch' } : { amount };
}
