import type { Money } from '../../../kernel/money.ts';
import {
  type InquiryResult,
  type OperationRef,
  type PaymentHistory,
  type ProcessorCall,
  refused,
  unknown,
} from '../../processor.ts';
import type { CyberSourceClient } from './client.ts';
import type { MappedResult } from './mapping.ts';
import { buildSearchBody } from './request-bodies.ts';
import { type ExpectedTransaction, parseAuthorizedAmount } from './response.ts';
import {
  APPLICATIONS,
  findCapturedAmount,
  hasApplication,
  hasApplied,
  isOtherTransaction,
  isReversal,
  isReversed,
  mapModification,
  mapPayment,
  parseSearchResult,
  parseTransactionDetails,
  type TransactionDetails,
} from './transaction-details.ts';

type Unresolved = Extract<InquiryResult, { kind: 'not-found' | 'unknown' }>;

/** A transaction that is certainly ours, and true when another one of the same reference has reversed it. */
interface MatchedTransaction {
  readonly kind: 'found';
  readonly transaction: TransactionDetails;
  readonly isReversed: boolean;
}

interface CapturedTransaction {
  readonly id: string;
  /** True when the authorization captured too. */
  readonly isSale: boolean;
}

type ReverseAuthorization = (
  call: ProcessorCall,
  asked: ExpectedTransaction,
  id: string | undefined,
) => Promise<boolean>;

/** Maximum number of transactions of one payment that are read; with more, an operator has to decide. */
const MAX_RELATED = 20;

/**
 * Inquires about an operation by CyberSource's id, otherwise by a search for our reference. A transaction counts only
 * when reference, merchant, amount and currency are ours. An inquiry that fails says nothing about the operation.
 */
export class Inquiry {
  readonly #client: CyberSourceClient;
  readonly #reverseAuthorization: ReverseAuthorization;

  constructor(client: CyberSourceClient, reverseAuthorization: ReverseAuthorization) {
    this.#client = client;
    this.#reverseAuthorization = reverseAuthorization;
  }

  async inquire(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    switch (subject.type) {
      case 'authorization':
      case 'payment':
        return this.#inquirePayment(call, history, subject);
      case 'capture':
        return this.#inquireModification(call, subject, APPLICATIONS.capture);
      case 'payment_refund':
        return this.#inquireModification(call, subject, APPLICATIONS.refund);
      default:
        return this.#inquireVoid(call, history, subject);
    }
  }

  /** Returns CyberSource's id of the payment, found by our reference where we have none; undefined when it is ambiguous or missing. */
  async findPaymentId(call: ProcessorCall, { operations: [first] }: PaymentHistory): Promise<string | undefined> {
    if (first === undefined || first.processorId !== undefined) return first?.processorId;
    const found = await this.#findTransaction(call, first, APPLICATIONS.authorization);
    return found.kind === 'found' ? found.transaction.id : undefined;
  }

  /**
   * Returns CyberSource's id of the sale, or of the capture of an authorization, also of a capture in the Business Center;
   * undefined when it is ambiguous or missing.
   */
  async findCaptured(call: ProcessorCall, history: PaymentHistory): Promise<CapturedTransaction | undefined> {
    const [first] = history.operations;
    if (first === undefined) return undefined;
    const found = await this.#findTransaction(call, first, APPLICATIONS.authorization);
    if (found.kind !== 'found') return undefined;
    const isCaptured = (transaction: TransactionDetails): boolean =>
      hasApplied(transaction, APPLICATIONS.capture) && !isReversed(transaction);
    if (isCaptured(found.transaction)) return { id: found.transaction.id, isSale: true };
    const id = (await this.#loadRelated(call, found.transaction, history))?.find(isCaptured)?.id;
    return id === undefined ? undefined : { id, isSale: false };
  }

  async #inquirePayment(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    const found = await this.#findTransaction(call, subject, APPLICATIONS.authorization);
    if (found.kind !== 'found') return found;
    const related = await this.#loadRelated(call, found.transaction, history);
    if (related === undefined) return unknown('related');
    const { transaction } = found;
    const wasReversed = found.isReversed || isReversed(transaction) || isReversedBy(related);
    // A void among refunds may belong to one of them.
    if (wasReversed === undefined) return unknown('unclear');
    // A later setting does not release what a merchant relies on.
    const policy = subject.isAuthorized || call.settings['soft-decline'] === 'accept' ? 'accept' : 'reverse';
    const mapped = mapPayment(transaction, policy);
    return wasReversed
      ? toReversedResult(mapped, transaction)
      : this.#toPaymentResult(call, subject, mapped, [transaction, ...related]);
  }

  /** Returns the state of a payment that was not reversed. */
  async #toPaymentResult(
    call: ProcessorCall,
    { operationId, operationRef, amount }: OperationRef,
    mapped: MappedResult,
    [transaction, ...others]: readonly [TransactionDetails, ...TransactionDetails[]],
  ): Promise<InquiryResult> {
    const { details } = transaction;
    const captured = mapped.kind === 'approved' ? amount : findCapturedAmount(others, amount);
    if (captured !== undefined) return toCapturedResult(mapped, captured, transaction);
    switch (mapped.kind) {
      case 'reverse': {
        const held = parseAuthorizedAmount(transaction.body, amount) ?? amount;
        const isReversed = await this.#reverseAuthorization(
          call,
          { operationId, operationRef, amount: held },
          transaction.id,
        );
        return isReversed ? refused(mapped.reason, details, mapped.cause) : unknown('not-reversed');
      }
      case 'refused':
        return refused(mapped.reason, details, mapped.cause);
      case 'unknown':
        return mapped;
      default:
        return { kind: mapped.kind === 'pending' ? 'pending' : 'approved', details };
    }
  }

  /** Returns the state of a capture or refund. */
  async #inquireModification(call: ProcessorCall, subject: OperationRef, name: string): Promise<InquiryResult> {
    const found = await this.#findTransaction(call, subject, name);
    if (found.kind !== 'found') return found;
    const { details } = found.transaction;
    const mapped = mapModification(found.transaction, name);
    if (mapped.kind === 'approved' && (found.isReversed || isReversed(found.transaction)))
      // A time-out reversal of a capture also reverses its authorization; that of a refund moves no money.
      return name === APPLICATIONS.capture ? { kind: 'reversed', details } : refused('Rejected', details);
    if (mapped.kind === 'approved') return { kind: 'approved', details };
    if (mapped.kind === 'refused') return refused(mapped.reason, details, mapped.cause);
    return mapped.kind === 'unknown' ? mapped : unknown('unclear');
  }

  /**
   * True when the authorization was reversed, by a request of ours or in the Business Center: the void then has its
   * effect.
   */
  async #inquireVoid(
    call: ProcessorCall,
    history: PaymentHistory,
    { operationRef }: OperationRef,
  ): Promise<InquiryResult> {
    const matches = await this.#search(call, operationRef);
    if (matches === undefined) return unknown('search');
    const reversal = matches.find(isReversal);
    if (reversal !== undefined) return { kind: 'approved', details: reversal.details };
    const [authorization] = history.operations;
    if (authorization === undefined) return { kind: 'not-found' };
    const payment = await this.#inquirePayment(call, history, authorization);
    if (payment.kind === 'reversed') return { kind: 'approved', details: {} };
    return payment.kind === 'unknown' ? payment : { kind: 'not-found' };
  }

  async #findTransaction(
    call: ProcessorCall,
    subject: OperationRef,
    name: string,
  ): Promise<MatchedTransaction | Unresolved> {
    const { operationId, operationRef, amount, processorId } = subject;
    const hits = processorId === undefined ? await this.#search(call, operationRef) : [];
    if (hits === undefined) return unknown('search');
    const matches = hits.filter((hit) => hasApplication(hit, name));
    if (matches.length > 1) return unknown('ambiguous');
    const id = processorId ?? matches[0]?.id;
    if (id === undefined) return { kind: 'not-found' };
    const transaction = await this.#loadDetails(call, id);
    if (transaction === 'not-found') return { kind: 'not-found' };
    if (transaction === undefined) return unknown('details');
    const isOwn =
      transaction.id === id &&
      hasApplication(transaction, name) &&
      !isOtherTransaction(transaction, { operationId, operationRef, amount }, call.settings['merchant-id']);
    return isOwn ? { kind: 'found', transaction, isReversed: hits.some(isReversal) } : unknown('contradiction');
  }

  /** Returns the transactions with exactly this reference; undefined when the search is incomplete. */
  async #search(call: ProcessorCall, key: string): Promise<readonly TransactionDetails[] | undefined> {
    const reply = await this.#client.post(call, '/tss/v2/searches', buildSearchBody(key));
    const isRead = reply.kind === 'answered' && (reply.status === 201 || reply.status === 200);
    const hits = isRead ? parseSearchResult(reply.body) : undefined;
    return hits?.filter(({ code }) => code === key);
  }

  async #loadDetails(call: ProcessorCall, id: string): Promise<TransactionDetails | 'not-found' | undefined> {
    const reply = await this.#client.get(call, `/tss/v2/transactions/${id}`);
    if (reply.kind !== 'answered') return undefined;
    if (reply.status === 404) return 'not-found';
    return reply.status === 200 ? parseTransactionDetails(reply.body) : undefined;
  }

  /**
   * Returns the other transactions of the payment, ours and those of the Business Center; undefined when they cannot
   * all be read.
   */
  async #loadRelated(
    call: ProcessorCall,
    transaction: TransactionDetails,
    history: PaymentHistory,
  ): Promise<readonly TransactionDetails[] | undefined> {
    const captures = history.operations.filter(({ type }) => type === 'capture');
    const ids = new Set([...transaction.related, ...captures.flatMap(({ processorId }) => processorId ?? [])]);
    ids.delete(transaction.id);
    if (ids.size > MAX_RELATED) return undefined;
    const others: TransactionDetails[] = [];
    for (const id of ids) {
      const other = await this.#loadDetails(call, id);
      if (other === undefined || other === 'not-found') return undefined;
      others.push(other);
    }
    return others;
  }
}

/** Undefined when the target of the void is unknown. */
function isReversedBy(others: readonly TransactionDetails[]): boolean | undefined {
  if (!others.some(isReversal)) return false;
  return others.some((transaction) => hasApplied(transaction, APPLICATIONS.refund)) ? undefined : true;
}

function toReversedResult(mapped: MappedResult, { details }: TransactionDetails): InquiryResult {
  if (mapped.kind === 'unknown') return mapped;
  if (mapped.kind === 'reverse' || mapped.kind === 'refused') return refused(mapped.reason, details, mapped.cause);
  return { kind: 'reversed', details };
}

/** A capture of a failed authorization is a contradiction. */
const toCapturedResult = (mapped: MappedResult, captured: Money, { details }: TransactionDetails): InquiryResult =>
  mapped.kind === 'refused' || mapped.kind === 'reverse' || mapped.kind === 'unknown'
    ? unknown('contradiction')
    : { kind: 'approved', captured, details };
