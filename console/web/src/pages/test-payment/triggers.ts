import { type Condition, RULES, type Rule } from '../../../../../src/payments/processors/simulator/rules.ts';

/**
 * The triggers of the simulator as the console offers them: one row for each of its own rules, so that the two cannot
 * differ.
 */

export interface TriggerRow {
  readonly id: string;
  readonly rule: Rule;
}

export const TRIGGER_ROWS: readonly TriggerRow[] = RULES.map((rule, index) => ({ id: String(index), rule }));

/** The row that no special value needs. */
export const DEFAULT_ROW: string = TRIGGER_ROWS.find(({ rule }) => rule.when.by === 'default')?.id ?? '0';

interface TestValues {
  readonly card: string;
  /** MM/YYYY. */
  readonly expiry: string;
  readonly email: string;
  /** Integer units of the currency. */
  readonly amount: number;
}

/** Years until the test card expires. */
const YEARS_AHEAD = 3;
const ORDINARY_AMOUNT = 125;

/** Returns values of a payment that the rule decides. */
export function toTestValues(when: Condition, now: number): TestValues {
  const year = new Date(now).getUTCFullYear();
  return {
    card: when.by === 'card' ? when.card : '4111111111111111',
    expiry: when.by === 'expiry' ? `12/${year - 1}` : `12/${year + YEARS_AHEAD}`,
    email: when.by === 'triggers' ? `ana+${when.triggers[0]}@example.com` : 'ana@example.com',
    amount: when.by === 'amount' ? when.from : ORDINARY_AMOUNT,
  };
}

export type PaymentType = 'authorization' | 'payment';

/** Returns the body of the request to the API. */
export const toRequestBody = ({ card, expiry, email, amount }: TestValues, type: PaymentType, reference: string) => ({
  transaction_info: { type, reference_code: reference },
  card: { number: card, expiration_date: expiry, security_code: '123', holder: 'Ana Lopez' },
  order_info: { amount_details: { total_amount: amount, currency: 'USD' } },
  bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email },
});
