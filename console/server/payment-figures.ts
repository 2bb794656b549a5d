import { type Currency, parseCurrency } from '../../src/kernel/currency.ts';
import { APPROVAL_BY_STATUS } from '../../src/payments/payment-queries.ts';
import type { PaymentTotal } from '../../src/payments/payment-totals.ts';
import type { Reason, Status } from '../../src/payments/transitions.ts';

/** Figures of the payments of a period. Pure. */

/** Sums in minor units. `authorized`: of the approved payments, whatever their present status. */
interface CurrencyFigures {
  readonly currency: Currency;
  readonly approved: number;
  readonly authorized: bigint;
  readonly collected: bigint;
  readonly refunded: bigint;
}

interface ReasonFigures {
  readonly status: Status;
  readonly reason: Reason;
  readonly number: number;
}

/** Returns the sums of each currency, the one with most approved payments first. */
export function sumByCurrency(totals: readonly PaymentTotal[]): CurrencyFigures[] {
  const sums = new Map<Currency, CurrencyFigures>();
  for (const { currency: code, status, number, amount, collected, refunded } of totals) {
    const currency = parseCurrency(code);
    if (currency === undefined || APPROVAL_BY_STATUS[status] !== 'approved') continue;
    const before = sums.get(currency) ?? { currency, approved: 0, authorized: 0n, collected: 0n, refunded: 0n };
    sums.set(currency, {
      currency,
      approved: before.approved + number,
      authorized: before.authorized + amount,
      collected: before.collected + collected,
      refunded: before.refunded + refunded,
    });
  }
  return [...sums.values()].sort(
    (one, other) => other.approved - one.approved || one.currency.localeCompare(other.currency),
  );
}

/** Returns the reasons of declines and failures, the most frequent first. */
export function countReasons(totals: readonly PaymentTotal[]): ReasonFigures[] {
  const counts = new Map<string, ReasonFigures>();
  for (const { status, reason, number } of totals) {
    if (reason === undefined || APPROVAL_BY_STATUS[status] !== 'not-approved') continue;
    const key = `${status}/${reason}`;
    counts.set(key, { status, reason, number: number + (counts.get(key)?.number ?? 0) });
  }
  return [...counts.values()].sort((one, other) => other.number - one.number || one.reason.localeCompare(other.reason));
}
