import { containsIssuedPan } from '../../../../../src/kernel/pan.ts';
import { RULES } from '../../../../../src/payments/processors/simulator/rules.ts';

/** Numbers that schemes and processors publish for tests; no bank issued them. */
const PUBLISHED_TEST_NUMBERS = [
  '4111111111111111',
  '4012888888881881',
  '4242424242424242',
  '4000056655665556',
  '4917610000000000',
  '5555555555554444',
  '5105105105105100',
  '5200828282828210',
  '5454545454545454',
  '2223003122003222',
  '2222400070000005',
  '378282246310005',
  '371449635398431',
  '36227206271667',
  '30569309025904',
  '38520000023237',
  '6011111111111117',
  '6011000990139424',
  '3530111333300000',
  '3566002020360505',
  '6200000000000005',
  '6759649826438453',
  '5066991111111118',
];

const TEST_NUMBERS = [
  ...PUBLISHED_TEST_NUMBERS,
  ...RULES.flatMap(({ when }) => (when.by === 'card' ? [when.card] : [])),
];

/** The token or capture of a placeholder. */
const PLACEHOLDER = /\{\{\s*[^\s:{}|]+\s*:/g;

/**
 * True when a text contains a number that a card of a person may have: neither a published test number, nor a token that a
 * placeholder names, nor one of `known`.
 */
export function containsCardOfPerson(text: string, known: readonly string[]): boolean {
  const expected = [...TEST_NUMBERS, ...known.filter((each) => each !== '')];
  // A space, so that the digits around a number are not joined.
  const rest = expected.reduce(
    (before, number) => before.replace(new RegExp(`(?<![0-9])${escapePattern(number)}(?![0-9])`, 'g'), ' x '),
    text.replace(PLACEHOLDER, '{{x:'),
  );
  return containsIssuedPan(rest);
}

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
