/** Card brands by the ranges that their schemes publish. Pure; the card form in the browser uses it too. */

export const BRANDS = [
  'visa',
  'mastercard',
  'amex',
  'diners',
  'discover',
  'jcb',
  'unionpay',
  'maestro',
  'elo',
  'hipercard',
] as const;

export type Brand = (typeof BRANDS)[number];

interface BrandRule {
  readonly brand: Brand;
  /** First digits: `a` or `a-b`, both with the same number of digits. */
  readonly ranges: readonly string[];
  /** Numbers of digits. */
  readonly lengths: readonly number[];
  readonly cvvDigits: 3 | 4;
  /** Digits of each group as printed on the card. */
  readonly groups: readonly number[];
}

const FOURS = [4, 4, 4, 4, 3];
const LONG = [16, 17, 18, 19];

/** Special ranges come before those that contain them. */
const RULES: readonly BrandRule[] = [
  {
    brand: 'elo',
    ranges: [
      ...['401178-401179', '431274', '438935', '451416', '457393', '457631-457632', '504175', '506699-506778'],
      ...['509000-509999', '627780', '636297', '636368', '650031-650033', '650035-650051', '650405-650439'],
      ...['650485-650538', '650541-650598', '650700-650718', '650720-650727', '650901-650978', '651652-651679'],
      ...['655000-655019', '655021-655058'],
    ],
    lengths: [16],
    cvvDigits: 3,
    groups: FOURS,
  },
  {
    brand: 'hipercard',
    ranges: ['384100', '384140', '384160', '606282', '637095', '637568', '637599', '637609', '637612'],
    lengths: [13, 16, 19],
    cvvDigits: 3,
    groups: FOURS,
  },
  { brand: 'visa', ranges: ['4'], lengths: [13, 16, 19], cvvDigits: 3, groups: FOURS },
  { brand: 'mastercard', ranges: ['51-55', '2221-2720'], lengths: [16], cvvDigits: 3, groups: FOURS },
  { brand: 'amex', ranges: ['34', '37'], lengths: [15], cvvDigits: 4, groups: [4, 6, 5] },
  {
    brand: 'diners',
    ranges: ['300-305', '3095', '36', '38-39'],
    lengths: [14, ...LONG],
    cvvDigits: 3,
    groups: [4, 6, 4, 5],
  },
  { brand: 'jcb', ranges: ['3528-3589'], lengths: LONG, cvvDigits: 3, groups: FOURS },
  { brand: 'discover', ranges: ['6011', '644-649', '65'], lengths: LONG, cvvDigits: 3, groups: FOURS },
  { brand: 'unionpay', ranges: ['62', '81'], lengths: LONG, cvvDigits: 3, groups: FOURS },
  {
    brand: 'maestro',
    ranges: ['50', '56-58', '6304', '6390', '67'],
    lengths: [12, 13, 14, 15, 16, 17, 18, 19],
    cvvDigits: 3,
    groups: FOURS,
  },
];

const UNKNOWN_LENGTHS = [12, 13, 14, 15, 16, 17, 18, 19];

/** The properties that the first digits of a card number determine. */
export interface BrandInfo {
  readonly brand: Brand | 'unknown';
  readonly lengths: readonly number[];
  /** Undefined for an unknown brand: 3 or 4. */
  readonly cvvDigits: 3 | 4 | undefined;
  readonly groups: readonly number[];
}

const UNKNOWN: BrandInfo = { brand: 'unknown', lengths: UNKNOWN_LENGTHS, cvvDigits: undefined, groups: FOURS };

/** Split once: a submission looks for its brand three times. */
const SPLIT_RULES = RULES.map((rule) => ({ rule, ranges: rule.ranges.map((range) => range.split('-')) }));

function isInRange(digits: string, [low = '', high = low]: readonly string[]): boolean {
  const start = digits.slice(0, low.length);
  return start.length === low.length && start >= low && start <= high;
}

/** `digits`: the whole number or its beginning. */
export const brandOf = (digits: string): BrandInfo =>
  SPLIT_RULES.find(({ ranges }) => ranges.some((range) => isInRange(digits, range)))?.rule ?? UNKNOWN;
