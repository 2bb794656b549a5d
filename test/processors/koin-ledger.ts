/** The records of the fake KOIN: orders and refunds, the allowed operations, and how often each was executed. */

export type OrderStatus = 'Opened' | 'Authorized' | 'Collected' | 'Cancelled' | 'Voided' | 'Failed';
export type RefundStatus = 'InProgress' | 'Refunded' | 'Failed';

export interface RefundEntry {
  readonly id: string;
  readonly reference: string;
  /** Ten-thousandths of the currency unit. */
  readonly units: bigint;
  status: RefundStatus;
  /** How often its reference was sent; it is executed the first time only. */
  requests: number;
}

export interface OrderEntry {
  readonly id: string;
  readonly reference: string;
  readonly businessId: string | undefined;
  readonly account: string;
  readonly currency: string;
  /** Ten-thousandths of the currency unit. */
  readonly units: bigint;
  readonly country: string;
  readonly notificationUrls: readonly string[];
  readonly refunds: RefundEntry[];
  status: OrderStatus;
  reason: string | undefined;
  /** How often the order was received with this reference. */
  requests: number;
  /** How often each operation changed something. */
  captures: number;
  cancels: number;
}

const SCALE = 4;

/** Parses a plain decimal with four decimals at most. */
export function unitsOf(decimal: string): bigint {
  const [integer = '', fraction = ''] = decimal.split('.');
  return BigInt(integer + fraction.padEnd(SCALE, '0'));
}

export function decimalOfUnits(units: bigint): string {
  const digits = String(units).padStart(SCALE + 1, '0');
  return `${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`.replace(/\.?0+$/, '');
}

/** KOIN's sandbox by the integer part of the amount, up to and including `to`; undefined: it never responds. */
const SANDBOX: readonly (readonly [to: bigint, status: OrderStatus | undefined, reason?: string])[] = [
  [5000n, 'Authorized'],
  [10_000n, 'Failed', 'Rejected'],
  [15_000n, 'Failed', 'InsufficientFunds'],
  [20_000n, 'Failed', 'InvalidCard'],
  [25_000n, 'Failed', 'InvalidData'],
  [30_000n, 'Failed', 'Referred'],
  [35_000n, 'Failed', 'ExpiredCard'],
  [40_000n, 'Failed', 'StolenCard'],
  [45_000n, 'Failed', 'Connection Rejected'],
  [50_000n, 'Failed', 'Antifrad'],
  [55_000n, 'Failed', 'Undefined'],
  [59_999n, 'Failed', 'InvalidConfiguration'],
  [65_000n, 'Opened'],
  [70_000n, undefined],
];

export interface OrderResult {
  readonly status: OrderStatus;
  readonly reason?: string | undefined;
  readonly isSilent?: boolean;
}

export function sandboxResult(units: bigint): OrderResult {
  const [, status = 'Authorized', reason] = SANDBOX.find(([to]) => units / 10_000n <= to) ?? [
    0n,
    'Authorized' as const,
  ];
  return { status, reason, isSilent: units / 10_000n > 65_000n && units / 10_000n <= 70_000n };
}

export class KoinLedger {
  readonly orders = new Map<string, OrderEntry>();
  readonly #byId = new Map<string, OrderEntry>();
  #count = 0;

  byId(id: string): OrderEntry | undefined {
    return this.#byId.get(id);
  }

  /** Undefined when the reference was used before. */
  book(
    facts: Omit<OrderEntry, 'id' | 'refunds' | 'requests' | 'captures' | 'cancels' | 'status' | 'reason'>,
    fate: OrderResult,
  ) {
    const before = this.orders.get(facts.reference);
    if (before !== undefined) {
      before.requests++;
      return undefined;
    }
    const { status, reason } = fate;
    const order: OrderEntry = {
      ...facts,
      id: this.newId(),
      refunds: [],
      requests: 1,
      captures: 0,
      cancels: 0,
      status,
      reason,
    };
    this.orders.set(facts.reference, order);
    this.#byId.set(order.id, order);
    return order;
  }

  capture(order: OrderEntry): boolean {
    if (order.status !== 'Authorized') return false;
    order.status = 'Collected';
    order.captures++;
    return true;
  }

  cancel(order: OrderEntry): boolean {
    if (order.status !== 'Opened' && order.status !== 'Authorized') return false;
    order.status = order.status === 'Opened' ? 'Cancelled' : 'Voided';
    order.cancels++;
    return true;
  }

  /** Undefined when the remaining amount is smaller. */
  refund(order: OrderEntry, reference: string, units: bigint, status: RefundStatus): RefundEntry | undefined {
    const before = order.refunds.find((refund) => refund.reference === reference);
    if (before !== undefined) {
      before.requests++;
      return before.units === units ? before : undefined;
    }
    if (order.status !== 'Collected' || units <= 0n || units > order.units - refundedAmount(order)) return undefined;
    const refund: RefundEntry = { id: this.newId(), reference, units, status, requests: 1 };
    order.refunds.push(refund);
    return refund;
  }

  /** A UUID whose digits show that the fake created it. */
  newId(): string {
    return `0badc0de-0000-4000-8000-${String(++this.#count).padStart(12, '0')}`;
  }
}

export const refundedAmount = ({ refunds }: OrderEntry): bigint =>
  refunds.reduce((sum, { units, status }) => (status === 'Failed' ? sum : sum + units), 0n);
