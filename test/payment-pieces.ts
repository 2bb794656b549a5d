import { type Currency, parseCurrency } from '../src/kernel/currency.ts';
import type { Operation, Payment } from '../src/payments/payment.ts';
import type { Finding, OperationType, Order, Outcome } from '../src/payments/processor.ts';
import type { Lifetimes, Pair } from '../src/payments/settle.ts';

/** Payments and operations for tests of what may become of them. */

export const USD = 'USD' as Currency;
export const NOW = Date.UTC(2026, 10, 21, 12);
export const LIFETIMES: Lifetimes = { opened: 1000, authorization: 5000 };
export const FIRST = 'first';
export const NEXT = 'next';

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
/** Every currency that there is. */
export const CURRENCIES: readonly Currency[] = LETTERS.flatMap((a) =>
  LETTERS.flatMap((b) => LETTERS.flatMap((c) => parseCurrency(a + b + c) ?? [])),
);

/** An authorization of 100.00, and nothing said that need not be. */
export const bareOrder = (changes: Partial<Order> = {}): Order => ({
  capture: false,
  amount: { minor: 10_000n, currency: USD },
  itemsAmount: undefined,
  referenceCode: undefined,
  installments: undefined,
  descriptor: undefined,
  cardholder: undefined,
  billTo: undefined,
  ipAddress: undefined,
  fingerprintSessionId: undefined,
  lineItems: [],
  notificationUrl: undefined,
  ...changes,
});

/** An authorization of 100.00 that is Opened, nothing under way. */
export const paymentOf = (changes: Partial<Payment> = {}): Payment => ({
  id: FIRST,
  type: 'authorization',
  processor: 'simulator',
  status: 'Opened',
  reason: undefined,
  currency: USD,
  amount: 10_000n,
  authorized: 0n,
  collected: 0n,
  refunded: 0n,
  referenceCode: 'A-1',
  card: { truncated: '411111******1111' },
  captures: [],
  operation: undefined,
  begun: 1,
  absences: 0,
  watched: [],
  createdAt: NOW - 500,
  expiresAt: NOW + 500,
  expired: false,
  isGivenUp: undefined,
  ...changes,
});

/** What each status goes along with. */
export const STANDING = {
  Opened: {},
  Authorized: { status: 'Authorized', authorized: 10_000n },
  Collected: { status: 'Collected', authorized: 10_000n, collected: 8000n, refunded: 3000n, expiresAt: undefined },
  Cancelled: { status: 'Cancelled', expiresAt: undefined },
  Voided: { status: 'Voided', authorized: 10_000n, expiresAt: undefined },
  Declined: { status: 'Declined', reason: 'Rejected', expiresAt: undefined },
  ProcessorError: { status: 'ProcessorError', reason: 'Undefined', expiresAt: undefined },
} as const satisfies Record<string, Partial<Payment>>;

export const isFirstType = (type: OperationType): boolean => type === 'authorization' || type === 'payment';

/** An operation under way. */
export const operationOf = (changes: Partial<Operation> = {}): Operation => {
  const type = changes.type ?? 'authorization';
  return {
    id: isFirstType(type) ? FIRST : NEXT,
    payment: FIRST,
    type,
    state: 'in_progress',
    amount: 10_000n,
    referenceCode: undefined,
    particulars: {},
    failed: undefined,
    createdAt: NOW - 100,
    after: undefined,
    ...changes,
  };
};

/** A payment with this operation under way. */
export function underWay(payment: Partial<Payment>, operation: Partial<Operation> & { type: OperationType }): Pair {
  const begun = operationOf(operation);
  return { payment: paymentOf({ ...payment, operation: begun.id }), operation: begun };
}

/** What a processor tells beside yes and no. */
export const told = { processorId: 'p-1', responseCode: '00', approvalCode: '123456' };
export const failed = { status: 'Declined', reason: 'InsufficientFunds' } as const;
export const captured = (minor: bigint) => ({ minor, currency: USD });

/** Every kind of word that a processor can say. */
export const WORDS = {
  approved: { kind: 'approved', particulars: told },
  captured: { kind: 'approved', captured: captured(10_000n), particulars: told },
  'captured in part': { kind: 'approved', captured: captured(6000n), particulars: told },
  refused: { kind: 'refused', failed, particulars: told },
  broken: { kind: 'refused', failed: { status: 'ProcessorError', reason: 'InvalidConfiguration' }, particulars: told },
  pending: { kind: 'pending', particulars: told },
  reversed: { kind: 'reversed', particulars: told },
  'not sent': { kind: 'not-sent' },
  unknown: { kind: 'unknown', why: 'timeout' },
  absent: { kind: 'absent' },
} as const satisfies Record<string, Outcome | Finding>;
export type Word = keyof typeof WORDS;
export const WORD_NAMES = Object.keys(WORDS) as Word[];
