import { minorUnitDigits } from '../../../kernel/currency.ts';
import type { Expiry } from '../../../kernel/expiry.ts';
import type { Money } from '../../../kernel/money.ts';
import type { Reason } from '../../transitions.ts';

/**
 * The simulator's outcome of an authorization or payment: one closed table, decided by its first rule that matches
 * (decisions: The simulator's outcomes). The tables of `docs/processors/simulator.md` are tested against it. Pure.
 */

/** Changes of a payment without a request, `CHANGE_DELAY_MS` after its creation (see `simulated-payment.ts`). */
const DELAYED_CHANGES = ['late_accept', 'late_reject', 'late_failure', 'silent_accept'] as const;
export type DelayedChange = (typeof DELAYED_CHANGES)[number];

export type SimulatedOutcome =
  /** Authorized, and a sale captured. With `isAnswered` false the response is lost. */
  | { readonly kind: 'approved'; readonly isAnswered: boolean }
  | { readonly kind: 'refused'; readonly reason: Reason }
  | { readonly kind: 'opened' }
  | { readonly kind: DelayedChange }
  /** The request never arrives, and the sender cannot know. */
  | { readonly kind: 'lost' }
  /** The request is never sent, and the sender knows. */
  | { readonly kind: 'refused_connection' };

export type Condition =
  | { readonly by: 'expiry' }
  | { readonly by: 'triggers'; readonly triggers: readonly string[] }
  | { readonly by: 'card'; readonly card: string }
  /** Integer units of the currency, both ends included. */
  | { readonly by: 'amount'; readonly from: number; readonly to: number }
  | { readonly by: 'default' };

export interface Rule {
  readonly number: string;
  readonly when: Condition;
  readonly outcome: SimulatedOutcome;
}

const refused = (reason: Reason): SimulatedOutcome => ({ kind: 'refused', reason });
const card = (digits: string, reason: Reason): Rule => ({
  number: '4',
  when: { by: 'card', card: digits },
  outcome: refused(reason),
});
const amountRule = (from: number, to: number, outcome: SimulatedOutcome): Rule => ({
  number: '5',
  when: { by: 'amount', from, to },
  outcome,
});
const triggerRule = (kind: DelayedChange | 'lost' | 'refused_connection'): Rule => ({
  number: '4a',
  when: { by: 'triggers', triggers: [kind] },
  outcome: { kind },
});

const APPROVED: SimulatedOutcome = { kind: 'approved', isAnswered: true };

const REJECTING_TRIGGERS = [
  'prereject',
  'preaccept_autoreject',
  'autoreject',
  'manualreject',
  'auto_inprogress_3ds2_autoreject',
];

export const RULES: readonly Rule[] = [
  { number: '1', when: { by: 'expiry' }, outcome: refused('ExpiredCard') },
  { number: '2', when: { by: 'triggers', triggers: REJECTING_TRIGGERS }, outcome: refused('Antifraud') },
  {
    number: '3',
    when: { by: 'triggers', triggers: ['preaccept_autoinprogress', 'autoinprogress'] },
    outcome: { kind: 'opened' },
  },
  card('4000000000000002', 'Rejected'),
  card('4000000000009995', 'InsufficientFunds'),
  card('4000000000000069', 'ExpiredCard'),
  card('4000000000000127', 'InvalidCard'),
  card('4000000000009979', 'StolenCard'),
  card('4000000000000119', 'Undefined'),
  triggerRule('refused_connection'),
  triggerRule('lost'),
  ...DELAYED_CHANGES.map(triggerRule),
  amountRule(5001, 10_000, refused('Rejected')),
  amountRule(10_001, 15_000, refused('InsufficientFunds')),
  amountRule(15_001, 20_000, refused('InvalidCard')),
  amountRule(20_001, 25_000, refused('InvalidData')),
  amountRule(25_001, 30_000, refused('Referred')),
  amountRule(30_001, 35_000, refused('ExpiredCard')),
  amountRule(35_001, 40_000, refused('StolenCard')),
  amountRule(40_001, 45_000, refused('ConnectionRejected')),
  amountRule(45_001, 50_000, refused('Antifraud')),
  amountRule(50_001, 55_000, refused('Undefined')),
  amountRule(55_001, 59_999, refused('InvalidConfiguration')),
  amountRule(60_000, 65_000, { kind: 'opened' }),
  amountRule(65_001, 70_000, { kind: 'approved', isAnswered: false }),
  { number: '6', when: { by: 'default' }, outcome: APPROVED },
];

/** The input of the rules. */
export interface RuleInput {
  /** Milliseconds. */
  readonly now: number;
  /** Trigger words of the payer's email, see `triggers.ts`. */
  readonly triggers: readonly string[];
  readonly pan: string;
  readonly expiry: Expiry;
  readonly amount: Money;
}

export function decide(input: RuleInput): SimulatedOutcome {
  const units = toWholeUnits(input.amount);
  return RULES.find(({ when }) => matches(when, input, units))?.outcome ?? APPROVED;
}

function matches(when: Condition, { now, triggers, pan, expiry }: RuleInput, units: bigint): boolean {
  switch (when.by) {
    case 'expiry':
      return now >= expiryEnd(expiry);
    case 'triggers':
      return triggers.length > 0 && when.triggers.some((each) => triggers.includes(each));
    case 'card':
      return pan === when.card;
    case 'amount':
      return units >= when.from && units <= when.to;
    case 'default':
      return true;
  }
}

/** The first millisecond after the month. Months count from 0 in `Date`, so this is the next month. */
const expiryEnd = ({ month, year }: Expiry): number => Date.UTC(2000 + Number(year), Number(month));

/** The integer part of a decimal. */
const toWholeUnits = ({ minor, currency }: Money): bigint => minor / 10n ** BigInt(minorUnitDigits(currency));
