import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { OPERATION_KINDS, previewOperations, showPayment } from '../../../../wire/payments.ts';
import { CallError, isTransient } from '../../api/call.ts';

export type BatchKind = (typeof OPERATION_KINDS)[number];
type Payment = ValueOf<typeof showPayment.data>;
export type PreviewedPayment = ValueOf<typeof previewOperations.data>['payments'][number];

/** A payment of a batch. Its key makes every repeat return the result of the first request that arrived. */
export interface BatchItem extends PreviewedPayment {
  readonly key: string;
}

/**
 * `lost`: no response arrived, so the operation may have been executed. `unknown`: the processor has not reported the
 * outcome. `refused`: the service rejected the operation.
 */
export type BatchOutcome =
  | { readonly state: 'waiting' | 'running' | 'done' | 'approval' | 'unknown' | 'lost' | 'stopped' }
  | { readonly state: 'declined'; readonly responseCode: string | null }
  | { readonly state: 'refused'; readonly error: CallError };

interface Batch {
  readonly items: readonly BatchItem[];
  /** Sends one operation with its key. */
  readonly send: (item: BatchItem) => Promise<{ readonly approval: string | null; readonly result: Payment | null }>;
  readonly kind: BatchKind;
  /** Once it returns true, no further operation is started. */
  readonly isStopped: () => boolean;
  readonly onOutcome: (item: BatchItem, outcome: BatchOutcome) => void;
}

/** Few enough that a slow processor is not flooded, and enough that it does not hold up everything. */
const CONCURRENT = 4;
const RETRY_DELAYS_MS = [1000, 2000, 4000] as const;

/** Runs the operations of a batch, a few at a time. Never rejects. */
export async function runBatch({ items, isStopped, onOutcome, ...operation }: Batch): Promise<void> {
  const queue = items.values();
  let isCanceled = false;
  const work = async (): Promise<void> => {
    for (const item of queue) {
      if (isStopped() || isCanceled) {
        onOutcome(item, { state: 'stopped' });
        continue;
      }
      onOutcome(item, { state: 'running' });
      const outcome = await runOne(item, operation);
      isCanceled ||= outcome.state === 'stopped';
      onOutcome(item, outcome);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
}

async function runOne(item: BatchItem, { send, kind }: Pick<Batch, 'send' | 'kind'>): Promise<BatchOutcome> {
  for (let attempt = 0; ; attempt++) {
    try {
      const { approval, result } = await send(item);
      return approval === null ? toOutcome(result, kind) : { state: 'approval' };
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      const delay = RETRY_DELAYS_MS[attempt];
      if (!isTransient(error) || delay === undefined) return toFailedOutcome(error);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}

const OPERATION_TYPES = { capture: 'capture', refund: 'payment_refund', void: 'authorization_void' } as const;

function toOutcome(payment: Payment | null, kind: BatchKind): BatchOutcome {
  const operation = payment?.operations.findLast(({ type }) => type === OPERATION_TYPES[kind]);
  if (operation?.state === 'accepted') return { state: 'done' };
  return operation?.state === 'refused'
    ? { state: 'declined', responseCode: operation.response_code }
    : { state: 'unknown' };
}

function toFailedOutcome(error: CallError): BatchOutcome {
  // The user closed the step-up, so the service has rejected the request before it began.
  if (error.code === 'cancelled') return { state: 'stopped' };
  if (isTransient(error)) return { state: 'lost' };
  // The request of this key is still in progress; `paymentBusy` is an operation of another request.
  if (error.code === 'operation_in_progress' && error.explanation?.reason !== 'paymentBusy')
    return { state: 'unknown' };
  return { state: 'refused', error };
}

/** Adds up decimal amounts by currency, in the order in which the currencies occur. */
export function sumByCurrency(
  payments: readonly Pick<PreviewedPayment, 'amount' | 'currency'>[],
): readonly { readonly currency: string; readonly amount: string }[] {
  const sums = new Map<string, { minor: bigint; decimals: number }>();
  for (const { amount, currency } of payments) {
    const { minor = 0n } = sums.get(currency) ?? {};
    const decimals = amount.split('.')[1]?.length ?? 0;
    sums.set(currency, { minor: minor + BigInt(amount.replace('.', '')), decimals });
  }
  return [...sums].map(([currency, { minor, decimals }]) => {
    const digits = String(minor).padStart(decimals + 1, '0');
    const amount = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
    return { currency, amount };
  });
}
