import { minorUnitDigits } from '../../../kernel/currency.ts';
import type { Expiry } from '../../../kernel/expiry.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Reason } from '../../transitions.ts';

/**
 * What the simulator makes of an authorization or payment: one closed table, decided by its first rule that fits
 * (decisions: The simulator's outcomes). The tables of `docs/processors/simulator.md` are tested against it. Pure.
 */

/** What happens to a payment by itself, `LATE_MS` after it came (see `entry.ts`). */
const LATE_CHANGES = ['late_accept', 'late_reject', 'late_failure', 'silent_accept'] as const;
export type LateChange = (typeof LATE_CHANGES)[number];

export type Verdict =
  /** Authorized, a sale captured; without an answer where nobody is told. */
  | { readonly kind: 'approved'; readonly answered: boolean }
  | { readonly kind: 'refused'; readonly reason: Reason }
  | { readonly kind: 'opened' }
  | { readonly kind: LateChange }
  /** The request never arrives, and its sender cannot know. */
  | { readonly kind: 'lost' }
  /** The request never leaves, and its sender knows. */
  | { readonly kind: 'refused_connection' };

export type Condition =
  | { readonly by: 'expiry' }
  | { readonly by: 'words'; readonly words: readonly string[] }
  | { readonly by: 'card'; readonly card: string }
  /** Whole units of the currency, both ends included. */
  | { readonly by: 'amount'; readonly from: number; readonly to: number }
  | { readonly by: 'default' };

export interface Rule {
  readonly number: string;
  readonly when: Condition;
  readonly verdict: Verdict;
}

const refused = (reason: Reason): Verdict => ({ kind: 'refused', reason });
const card = (digits: string, reason: Reason): Rule => ({
  number: '4',
  when: { by: 'card', card: digits },
  verdict: refused(reason),
});
const amounts = (from: number, to: number, verdict: Verdict): Rule => ({
  number: '5',
  when: { by: 'amount', from, to },
  verdict,
});
const word = (kind: LateChange | 'lost' | 'refused_connection'): Rule => ({
  number: '4a',
  when: { by: 'words', words: [kind] },
  verdict: { kind },
});

const APPROVED: Verdict = { kind: 'approved', answered: true };

const REJECTING_WORDS = [
  'prereject',
  'preaccept_autoreject',
  'autoreject',
  'manualreject',
  'auto_inprogress_3ds2_autoreject',
];

export const RULES: readonly Rule[] = [
  { number: '1', when: { by: 'expiry' }, verdict: refused('ExpiredCard') },
  { number: '2', when: { by: 'words', words: REJECTING_WORDS }, verdict: refused('Antifraud') },
  {
    number: '3',
    when: { by: 'words', words: ['preaccept_autoinprogress', 'autoinprogress'] },
    verdict: { kind: 'opened' },
  },
  card('4000000000000002', 'Rejected'),
  card('4000000000009995', 'InsufficientFunds'),
  card('4000000000000069', 'ExpiredCard'),
  card('4000000000000127', 'InvalidCard'),
  card('4000000000009979', 'StolenCard'),
  card('4000000000000119', 'Undefined'),
  word('refused_connection'),
  word('lost'),
  ...LATE_CHANGES.map(word),
  amounts(5001, 10_000, refused('Rejected')),
  amounts(10_001, 15_000, refused('InsufficientFunds')),
  amounts(15_001, 20_000, refused('InvalidCard')),
  amounts(20_001, 25_000, refused('InvalidData')),
  amounts(25_001, 30_000, refused('Referred')),
  amounts(30_001, 35_000, refused('ExpiredCard')),
  amounts(35_001, 40_000, refused('StolenCard')),
  amounts(40_001, 45_000, refused('ConnectionRejected')),
  amounts(45_001, 50_000, refused('Antifraud')),
  amounts(50_001, 55_000, refused('Undefined')),
  amounts(55_001, 59_999, refused('InvalidConfiguration')),
  amounts(60_000, 65_000, { kind: 'opened' }),
  amounts(65_001, 70_000, { kind: 'approved', answered: false }),
  { number: '6', when: { by: 'default' }, verdict: APPROVED },
];

/** What the rules look at. */
export interface Facts {
  /** Milliseconds. */
  readonly now: number;
  /** Of the payer's e-mail, see `triggers.ts`. */
  readonly words: readonly string[];
  readonly pan: string;
  readonly expiry: Expiry;
  readonly amount: Money;
}

export const decide = (facts: Facts): Verdict => RULES.find(({ when }) => fits(when, facts))?.verdict ?? APPROVED;

function fits(when: Condition, { now, words, pan, expiry, amount }: Facts): boolean {
  switch (when.by) {
    case 'expiry':
      return now >= endOf(expiry);
    case 'words':
      return words.length > 0 && when.words.some((each) => words.includes(each));
    case 'card':
      return pan === when.card;
    case 'amount': {
      const units = unitsOf(amount);
      return units >= when.from && units <= when.to;
    }
    case 'default':
      return true;
  }
}

/** The first millisecond after the month; months count from 0 there, so that it is the next one. */
const endOf = ({ month, year }: Expiry): number => Date.UTC(2000 + Number(year), Number(month));

/** What stands before the decimal point. */
const unitsOf = ({ minor, currency }: Money): bigint => minor / 10n ** BigInt(minorUnitDigits(currency));
