import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { ExpectedRecords } from './expected-records.ts';
import type { ChaosResponse, Payment, PlannedRequest, Request } from './ledger.ts';

export const PAYMENTS = '/v1/payments';

/** Short, so that unknown outcomes are resolved within a run. */
export const SETTINGS = { 'timeout-ms': '400', 'recovery-delay-ms': '400', 'recovery-max': '20s' };

/** The setting `payment-scheme`, as it is without one. */
const SCHEME = 7;

/** Faults of the simulator, beside those of the test. */
export const TRIGGERS = [
  '+capture_timeout',
  '+capture_lost',
  '+refund_timeout',
  '+refund_lost',
  '+void_timeout',
  '+delay_300',
];

const KINDS: readonly Payment[] = ['capture', 'payment_refund', 'authorization_void', 'authorization', 'payment'];

const REFUNDED = 'refund_info.amount_details.total_amount';

export const infoOf = (response: ChaosResponse) => response.json?.data?.transaction_info ?? {};

/** Nothing about it can change any more by recovery. */
export const isFinal = (response: ChaosResponse): boolean =>
  response.json?.message !== 'Outcome unknown, being resolved' && infoOf(response).status !== 'Opened';

/** The requests of one client for its own payments: it captures, refunds and voids them in any order. */
export class PaymentRequests {
  readonly #seeded: SeededRandom;
  readonly #expectedRecords: ExpectedRecords;
  readonly #number: number;
  readonly #cards: readonly string[];
  readonly #payments: string[] = [];
  #count = 0;

  constructor(seeded: SeededRandom, expectedRecords: ExpectedRecords, number: number, cards: readonly string[]) {
    this.#seeded = seeded;
    this.#expectedRecords = expectedRecords;
    this.#number = number;
    this.#cards = cards;
  }

  next(): PlannedRequest {
    const payment = this.#payments.at(-1 - this.#seeded.below(3));
    const kind = this.#seeded.pick(payment === undefined ? KINDS.slice(3) : KINDS);
    const reference = `${this.#number}.${++this.#count}`;
    const isKeyed = this.#seeded.percent(75);
    const shared = { method: 'POST', reference, isKeyed } as const;
    const transaction_info = { type: kind, reference_code: reference };
    if (kind === 'authorization' || kind === 'payment') {
      const card = this.#seeded.pick(this.#cards);
      if (kind === 'payment') this.#expectedRecords.wantedPersistent.add(`${SCHEME} ${card}`);
      const fault = (response: ChaosResponse, by: number) =>
        wrongReference(response, reference) ??
        (kind === 'payment'
          ? this.#expectedRecords.persisted(by, SCHEME, card, response.json.data.card?.token)
          : undefined);
      return { ...shared, kind, path: PAYMENTS, body: this.#order(transaction_info, card), fault };
    }
    const fault = (response: ChaosResponse) => wrongReference(response, reference);
    // The refundable amount may be smaller than this client knows.
    const refusal: PlannedRequest['refusal'] = ({ json }) =>
      json?.data?.code === 'payment_state' || (kind === 'payment_refund' && json?.data?.path === REFUNDED);
    const later = { ...shared, kind, fault, refusal, target: payment as string };
    const part = this.#seeded.percent(50) ? { amount_details: { total_amount: this.#seeded.between(1, 40) } } : {};
    const path = `${PAYMENTS}/${payment}`;
    if (kind === 'authorization_void') return { ...later, path: `${path}/void`, body: { transaction_info } };
    if (kind === 'capture')
      return { ...later, path: `${path}/capture`, body: { transaction_info, capture_info: part } };
    return { ...later, path: `${path}/refund`, body: { transaction_info, refund_info: part } };
  }

  /** The payment can be captured and so on from now on. */
  onResponse({ planned, response }: Request): void {
    if (response !== undefined && planned.path === PAYMENTS) this.#payments.push(infoOf(response).transaction_id);
  }

  #order(transaction_info: object, number: string): object {
    const triggers = this.#seeded.percent(25) ? this.#seeded.pick(TRIGGERS) : '';
    // 65001 and more: booked, and never answered; 5001 and more: declined.
    const amount = this.#seeded.weighed({ '41.00': 85, '65001.00': 8, '6000.00': 7 });
    return {
      transaction_info,
      card: { number, expiration_date: '12/2029', security_code: '737', holder: 'Ana Lopez' },
      order_info: { amount_details: { total_amount: amount, currency: 'USD' } },
      cardholder_info: { first_name: 'Ana', email: `ana${triggers}@example.com` },
    };
  }
}

function wrongReference(response: ChaosResponse, reference: string): string | undefined {
  const { reference_code, transaction_id, payment_id } = infoOf(response);
  if (typeof transaction_id !== 'string' || typeof payment_id !== 'string') return 'has no transaction_id';
  return reference_code === reference ? undefined : `${transaction_id} belongs to another request`;
}
