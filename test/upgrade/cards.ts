/** Card numbers of the vaults that releases leave for later ones. Recorded texts hold their numbers, never their digits. */

const BIN = '400012';
const LENGTH = 16;

/** Returns the card with this number: always the same digits, and the right check digit. */
export function cardOf(number: number): string {
  const body = BIN + String(number).padStart(LENGTH - BIN.length - 1, '0');
  let sum = 0;
  for (const [index, digit] of [...body].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return body + String((10 - (sum % 10)) % 10);
}

const CARDS = new RegExp(`${BIN}[0-9]{${LENGTH - BIN.length}}`, 'g');
const MARKS = /<card ([0-9]+)>/g;

/** Replaces each card by its number; throws for digits that are no card of `cardOf`. */
export const withoutCards = (text: string): string =>
  text.replace(CARDS, (pan) => {
    const number = Number(pan.slice(BIN.length, -1));
    // Persistent tokens of schemes that keep the BIN have its form, and another check digit or a great number.
    return cardOf(number) === pan && number < MAX_NUMBER ? `<card ${number}>` : pan;
  });

const MAX_NUMBER = 100_000;

export const withCards = (text: string): string => text.replace(MARKS, (_, number: string) => cardOf(Number(number)));
