import { invalidField } from '../../../kernel/failure.ts';
import type { Money } from '../../../kernel/money.ts';
import { type Explanation, explain } from '../../../kernel/reasons.ts';
import type { OperationRefFormat } from '../../operation-ref.ts';
import {
  type Capabilities,
  type CardData,
  type InquiryResult,
  isVoidOrExpiry,
  type NotSent,
  type OperationRef,
  type Order,
  type Outcome,
  type PaymentHistory,
  type Processor,
  type ProcessorCall,
  type ProcessorDetails,
  type ProcessorSettings,
  pickNames,
  type ReversalResult,
  refused,
  resolvePayer,
  unknown,
} from '../../processor.ts';
import { type HttpResult, notSent } from '../outbound-http.ts';
import { type ClientOptions, CYBERSOURCE_HOSTS, CYBERSOURCE_SETTINGS, CyberSourceClient } from './client.ts';
import { Inquiry } from './inquiry.ts';
import {
  type ApiOperation,
  type MappedResult,
  mapResponse,
  rejectsTransactionId,
  type SoftDecline,
} from './mapping.ts';
import { buildAmountBody, buildPaymentBody, buildReversalBody, buildTimeoutVoidBody } from './request-bodies.ts';
import {
  type CyberSourceResponse,
  type ExpectedTransaction,
  parseAuthorizedAmount,
  parseResponse,
} from './response.ts';

interface ReversalAttempt {
  readonly kind: 'reversal' | 'void';
  readonly reply: HttpResult;
  readonly isByReference: boolean;
}

const NO_DETAILS: ProcessorDetails = {};
/** Reasons that report an earlier reversal. */
const ALREADY_REVERSED: readonly (string | undefined)[] = ['AUTH_ALREADY_REVERSED', 'CAPTURE_ALREADY_VOIDED'];
/** Reasons that report that a transaction can no longer be reversed. */
const NO_LONGER_REVERSIBLE: readonly (string | undefined)[] = ['TRANSACTION_ALREADY_SETTLED', 'NOT_VOIDABLE'];
/** Reasons that report that nothing can be reversed, without the cause. */
const NOTHING_TO_REVERSE: readonly (string | undefined)[] = ['MISSING_AUTH', 'TRANSACTION_ALREADY_REVERSED_OR_SETTLED'];
/** The length of `clientReferenceInformation.code`, and characters without a meaning in the query language. */
const CODE_FORMAT: OperationRefFormat = { maxCharacters: 59, disallowed: /[^A-Za-z0-9_.-]/g };
/** CyberSource accepts two digits. */
const MAX_INSTALLMENTS = 99;

/**
 * CyberSource's REST payments, `/pts/v2` and `/tss/v2`. Each request that moves money has our own id, by which it can be
 * reversed even when no response arrived, and our operation reference, by which it is found.
 */
export class CyberSource implements Processor {
  // CyberSource does not document after what time its search finds a transaction, so a not-found result proves nothing.
  readonly capabilities: Capabilities = {
    sale: true,
    partialCapture: true,
    notFoundThreshold: Number.POSITIVE_INFINITY,
  };
  readonly settings = CYBERSOURCE_SETTINGS;
  readonly operationRefFormat = CODE_FORMAT;
  readonly productionHosts = CYBERSOURCE_HOSTS.production;
  readonly #client: CyberSourceClient;
  readonly #inquiry: Inquiry;

  conflict(settings: ProcessorSettings): Explanation | undefined {
    const isBoth = settings['mle-certificate'] !== undefined && settings['auth'] === 'http-signature';
    return isBoth ? explain('mleNeedsJwt') : undefined;
  }

  constructor(options: ClientOptions) {
    this.#client = new CyberSourceClient(options);
    this.#inquiry = new Inquiry(this.#client, (call, expected, id) => this.#reverseAuthorization(call, expected, id));
  }

  check(order: Order): void {
    const { country } = resolvePayer(order);
    const party = order.cardholder?.country === undefined ? 'bill_to' : 'cardholder_info';
    if (country !== undefined && !/^[A-Za-z]{2}$/.test(country))
      throw invalidField(`${party}.country`, 'processorCountry');
    if ((order.installments ?? 1) > MAX_INSTALLMENTS)
      throw invalidField('order_info.installments', 'processorUpTo', { max: MAX_INSTALLMENTS });
  }

  async authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome> {
    const { amount } = order;
    const reply = await this.#client.postEncrypted(call, '/pts/v2/payments', buildPaymentBody(call, order, card));
    const [mapped, response] = interpretReply('payment', reply, { ...pickNames(call), amount }, call);
    if (mapped.kind !== 'reverse') return toOutcome(mapped, response, order.capture ? amount : undefined);
    const { processorId } = response?.details ?? NO_DETAILS;
    const authorized = (response && parseAuthorizedAmount(response.body, amount)) ?? amount;
    const isReversed = await this.#reverseAuthorization(call, { ...pickNames(call), amount: authorized }, processorId);
    return isReversed ? refused(mapped.reason, response?.details ?? NO_DETAILS, mapped.cause) : unknown('not-reversed');
  }

  async capture(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    const id = await this.#inquiry.findPaymentId(call, history);
    return this.#sendModification('capture', call, id === undefined ? undefined : `payments/${id}/captures`, amount);
  }

  async refund(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    return this.#sendModification(
      'refund',
      call,
      buildRefundPath(history) ?? (await this.#findRefundPath(call, history)),
      amount,
    );
  }

  async void(call: ProcessorCall, history: PaymentHistory): Promise<Outcome> {
    const [subject] = history.operations;
    if (subject === undefined) return { kind: 'not-sent' };
    const { kind, reply } = await this.#sendReversal(call, subject, call.operationRef);
    const [mapped, response] = interpretReply(
      kind,
      reply,
      { ...pickNames(call), amount: subject.amount, reversedId: subject.operationId },
      call,
    );
    return wasAlreadyReversed(mapped, response)
      ? { kind: 'approved', details: NO_DETAILS }
      : toOutcome(mapped, response, undefined);
  }

  inquire(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    return this.#inquiry.inquire(call, history, subject);
  }

  async reverse(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    const isVoid = isVoidOrExpiry(subject);
    // A void or an expiry cannot be reversed, but repeating it ensures that it was processed.
    const target = isVoid ? history.operations[0] : subject;
    if (target === undefined) return { kind: 'not-found' };
    const { kind, reply, isByReference } = await this.#sendReversal(call, target, subject.operationRef);
    const [mapped, response] = interpretReply(
      kind,
      reply,
      { ...pickNames(subject), amount: target.amount, reversedId: target.operationId },
      call,
    );
    if (mapped.kind === 'approved' || wasAlreadyReversed(mapped, response))
      return { kind: isVoid || subject.type === 'capture' ? 'reversed-with-authorization' : 'reversed' };
    if (isByReference && isNotFound(reply)) return this.#toNotFound(call, history, subject);
    if (mapped.kind === 'refused' && NO_LONGER_REVERSIBLE.includes(response?.reason)) return { kind: 'not-reversible' };
    if (mapped.kind === 'refused' && NOTHING_TO_REVERSE.includes(response?.reason)) {
      const inquired = await this.#inquireWhyNotReversed(call, history, subject, target);
      // Not-found counts only when both the search and the reversal report it.
      return inquired.kind === 'not-found' && !(isByReference && response?.reason === 'MISSING_AUTH')
        ? unknown('not-reversed')
        : inquired;
    }
    return unknown(mapped.kind === 'unknown' ? mapped.problem : 'not-reversed');
  }

  /** Inquires why there is nothing to reverse: the transaction was declined, reversed or captured. */
  async #inquireWhyNotReversed(
    call: ProcessorCall,
    history: PaymentHistory,
    { type }: OperationRef,
    target: OperationRef,
  ): Promise<ReversalResult> {
    const inquired = await this.#inquiry.inquire(call, history, target);
    if (inquired.kind === 'approved' && (inquired.captured !== undefined || type === 'capture'))
      return { kind: 'not-reversible' };
    if (inquired.kind === 'not-found') return inquired;
    const isFirst = type === 'authorization' || type === 'payment';
    if (inquired.kind === 'reversed') return { kind: isFirst ? 'reversed' : 'reversed-with-authorization' };
    return inquired.kind === 'refused' ? { kind: 'reversed' } : unknown('not-reversed');
  }

  /** A capture that was voided before has also reversed its authorization, and then neither is found. */
  async #toNotFound(call: ProcessorCall, history: PaymentHistory, { type }: OperationRef): Promise<ReversalResult> {
    const [first] = history.operations;
    if (type !== 'capture' || first === undefined) return { kind: 'not-found' };
    const payment = await this.#inquiry.inquire(call, history, first);
    if (payment.kind === 'reversed') return { kind: 'reversed-with-authorization' };
    return payment.kind === 'unknown' ? payment : { kind: 'not-found' };
  }

  /** Sends a capture or a refund. */
  async #sendModification(
    kind: 'capture' | 'refund',
    call: ProcessorCall,
    path: string | undefined,
    amount: Money,
  ): Promise<Outcome> {
    if (path === undefined) return { kind: 'not-sent' };
    const body = buildAmountBody(call, amount);
    // CyberSource documents no encrypted refunds.
    const reply =
      kind === 'capture'
        ? await this.#client.postEncrypted(call, `/pts/v2/${path}`, body)
        : await this.#client.post(call, `/pts/v2/${path}`, body);
    const [mapped, response] = interpretReply(kind, reply, { ...pickNames(call), amount }, call);
    return toOutcome(mapped, response, undefined);
  }

  /**
   * Reverses by CyberSource's id when the target has one and is only authorized, otherwise by our id of it.
   * `code` is the reference of the reversal itself.
   */
  async #sendReversal(call: ProcessorCall, target: OperationRef, code: string): Promise<ReversalAttempt> {
    const { type, operationId, operationRef, amount, processorId } = target;
    const isRepeatedVoid = code !== operationRef;
    if (processorId !== undefined && (type === 'authorization' || (type === 'payment' && isRepeatedVoid))) {
      const body = buildReversalBody(code, amount, 'void');
      const reply = await this.#client.post(call, `/pts/v2/payments/${processorId}/reversals`, body);
      return { kind: 'reversal', reply, isByReference: false };
    }
    if (type !== 'authorization') {
      const reply = await this.#client.post(call, '/pts/v2/voids', buildTimeoutVoidBody(code, operationId));
      // A sale that was not captured has an authorization only.
      const isFound = type !== 'payment' || !isNotFound(reply);
      if (isFound) return { kind: 'void', reply, isByReference: true };
    }
    const reply = await this.#client.post(
      call,
      '/pts/v2/reversals',
      buildReversalBody(code, amount, 'timeout', operationId),
    );
    return { kind: 'reversal', reply, isByReference: true };
  }

  /**
   * Finds what was captured where we have no id of it: it was captured in the Business Center, its response was lost, or a
   * user stated the outcome.
   */
  async #findRefundPath(call: ProcessorCall, history: PaymentHistory): Promise<string | undefined> {
    const captured = await this.#inquiry.findCaptured(call, history);
    return captured === undefined ? undefined : `${captured.isSale ? 'payments' : 'captures'}/${captured.id}/refunds`;
  }

  /** True when CyberSource confirms the reversal of the authorization. */
  async #reverseAuthorization(
    call: ProcessorCall,
    expected: ExpectedTransaction,
    id: string | undefined,
  ): Promise<boolean> {
    if (id === undefined) return false;
    const body = buildReversalBody(expected.operationRef, expected.amount, 'declined');
    const reply = await this.#client.post(call, `/pts/v2/payments/${id}/reversals`, body);
    const [mapped, response] = interpretReply('reversal', reply, expected, call);
    return mapped.kind === 'approved' || wasAlreadyReversed(mapped, response);
  }
}

/** Returns the path of a refund: by the id of the sale, otherwise by that of the capture. */
function buildRefundPath({ operations }: PaymentHistory): string | undefined {
  const capture = operations.find(({ type }) => type === 'capture');
  const [first] = operations;
  const [kind, subject] = capture !== undefined ? ['captures', capture] : ['payments', first];
  if (subject?.processorId === undefined || subject.type === 'authorization') return undefined;
  return `${kind}/${subject.processorId}/refunds`;
}

function interpretReply(
  kind: ApiOperation,
  reply: HttpResult,
  expected: ExpectedTransaction,
  call: ProcessorCall,
): readonly [MappedResult | NotSent, CyberSourceResponse | undefined] {
  if (reply.kind === 'not-sent') return [notSent(reply), undefined];
  if (reply.kind === 'unknown') return [unknown(reply.why), undefined];
  const response = parseResponse(reply.body);
  const softDecline: SoftDecline = call.settings['soft-decline'] === 'accept' ? 'accept' : 'reverse';
  return [mapResponse(kind, reply.status, response, expected, softDecline), response];
}

function toOutcome(
  mapped: MappedResult | NotSent,
  response: CyberSourceResponse | undefined,
  captured: Money | undefined,
): Outcome {
  const details = response?.details ?? NO_DETAILS;
  switch (mapped.kind) {
    case 'approved':
      return captured === undefined ? { kind: 'approved', details } : { kind: 'approved', captured, details };
    case 'authorized':
      return { kind: 'approved', details };
    case 'pending':
      return { kind: 'pending', details };
    case 'refused':
    case 'reverse':
      return refused(mapped.reason, details, mapped.cause);
    default:
      return mapped;
  }
}

const wasAlreadyReversed = ({ kind }: { readonly kind: string }, response: CyberSourceResponse | undefined): boolean =>
  kind === 'refused' && ALREADY_REVERSED.includes(response?.reason);

/** CyberSource's response for a reference without transactions. A fault in another field would be an error of ours. */
function isNotFound(reply: HttpResult): boolean {
  if (reply.kind !== 'answered' || reply.status !== 400) return false;
  const response = parseResponse(reply.body);
  return response?.reason === 'INVALID_DATA' && (response.fields.length === 0 || rejectsTransactionId(response));
}
