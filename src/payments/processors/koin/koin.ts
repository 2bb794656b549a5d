import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type Capabilities,
  type CardData,
  type InquiryResult,
  type NotSent,
  type OperationRef,
  type Order,
  type Outcome,
  type PaymentHistory,
  type Processor,
  type ProcessorCall,
  pickNames,
  type ReversalResult,
  refused,
  unknown,
} from '../../processor.ts';
import type { OutboundHttp } from '../outbound-http.ts';
import { valueAt } from '../response-fields.ts';
import {
  findOrderRef,
  isSuccess,
  isUnresolved,
  KOIN_HOSTS,
  KOIN_SETTINGS,
  KoinClient,
  type KoinResponse,
  type OrderRef,
  toOrderRef,
} from './client.ts';
import { textAt } from './fields.ts';
import { inquire, reverse } from './inquiry.ts';
import {
  type KoinOrder,
  parseOrder,
  parseRefund,
  toCaptureResult,
  toPaymentResult,
  toRefundOutcome,
  toVoidResult,
} from './mapping.ts';
import { buildOrderBody, buildRefundBody, buildTokenizeBody, checkOrder, REFERENCE_FORMAT } from './request-bodies.ts';

/**
 * KOIN Payments API 1.0. A card is first exchanged for a secure token, then the order is created; until that request is
 * sent, nothing can have been charged. Our operation reference is the order's `reference_id`, by which it is found
 * again.
 */
export class Koin implements Processor {
  readonly capabilities: Capabilities = { sale: false, partialCapture: false, notFoundThreshold: 3 };
  readonly settings = KOIN_SETTINGS;
  readonly operationRefFormat = REFERENCE_FORMAT;
  readonly productionHosts = Object.values(KOIN_HOSTS.production);
  readonly check = checkOrder;
  readonly #client: KoinClient;

  constructor({ outboundHttp }: { readonly outboundHttp: OutboundHttp }) {
    this.#client = new KoinClient(outboundHttp);
  }

  async authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome> {
    const response = await this.#client.tokenize(call, buildTokenizeBody(call.operationRef, card));
    if (response.kind !== 'answered') return response.kind === 'not-sent' ? response : NO_ORDER;
    const token = isSuccess(response) ? textAt(response.body, 'secure_token') : undefined;
    return token ? this.#createOrder(call, order, buildOrderBody(call, order, token)) : toTokenizeFailure(response);
  }

  async capture(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    // KOIN would silently capture the full amount.
    if (amount.minor !== history.operations[0]?.amount.minor) return refused('InvalidData');
    return this.#withOrderId(call, history, async (orderId, orderRef) => {
      const response = await this.#client.capture(call, orderId);
      if (response.kind !== 'answered') return response;
      const order = isSuccess(response) ? parseOrder(response.body) : undefined;
      if (order !== undefined && matchesOrder(orderRef, order)) {
        const finding = toCaptureResult(order, amount);
        if (finding.kind !== 'refused') return finding.kind === 'approved' ? finding : unknown('not-collected');
      } else if (!isRejection(response)) return toFailure(response);
      // KOIN also rejects a capture on an account with automatic capture, where the money has moved.
      const subject = { ...pickNames(call), type: 'capture', processorId: undefined, amount } as const;
      const found = await inquire(this.#client, call, history, subject);
      return found.kind === 'not-found' || found.kind === 'reversed' ? refused('InvalidData') : found;
    });
  }

  async refund(call: ProcessorCall, history: PaymentHistory, amount: Money): Promise<Outcome> {
    return this.#withOrderId(call, history, async (orderId) => {
      const response = await this.#client.refund(call, orderId, buildRefundBody(call.operationRef, amount));
      if (response.kind !== 'answered') return response;
      if (isSuccess(response)) return toRefundOutcome(parseRefund(response.body), amount);
      return response.status === 400 || response.status === 404 ? refused('InvalidData') : toFailure(response);
    });
  }

  async void(call: ProcessorCall, history: PaymentHistory): Promise<Outcome> {
    return this.#withOrderId(call, history, async (orderId, orderRef) => {
      const response = await this.#client.cancel(call, orderId);
      if (response.kind !== 'answered') return response;
      const order = isSuccess(response) ? parseOrder(response.body) : undefined;
      const finding = order !== undefined && matchesOrder(orderRef, order) ? toVoidResult(order) : undefined;
      if (finding?.kind === 'approved') return finding;
      if (!isRejection(response)) return toFailure(response);
      // An order that was cancelled before counts as voided.
      const found = await this.#client.findOrder(call, orderRef);
      const current = isUnresolved(found) ? found : toVoidResult(found);
      return current.kind === 'approved' ? current : refused('InvalidData');
    });
  }

  inquire(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    return inquire(this.#client, call, history, subject);
  }

  reverse(call: ProcessorCall, history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    return reverse(this.#client, call, history, subject);
  }

  async #createOrder(call: ProcessorCall, { amount }: Order, body: Json): Promise<Outcome> {
    const response = await this.#client.create(call, body);
    if (response.kind !== 'answered') return response;
    const subject = { ...pickNames(call), type: 'authorization', processorId: undefined, amount } as const;
    if (response.status === 409) return this.#confirmByInquiry(call, subject);
    if (response.status === 404) return refused('InvalidConfiguration');
    // KOIN does not document whether failed orders come with 200 or 400, so both may contain one.
    const isOrder = isSuccess(response) || response.status === 400;
    const order = isOrder ? parseOrder(response.body) : undefined;
    if (order === undefined) return response.status === 400 ? refused('InvalidData') : toFailure(response);
    if (!matchesOrder(toOrderRef(subject), order)) return unknown('contradiction');
    const { state } = order;
    if (state.kind === 'failed' && state.mayHideApproval)
      return this.#confirmByInquiry(call, { ...subject, processorId: order.id });
    const finding = toPaymentResult(order, amount);
    return isSuccess(response) || finding.kind === 'refused' ? toOutcome(finding) : unknown('contradiction');
  }

  /** Only the order's record shows the outcome. */
  async #confirmByInquiry(call: ProcessorCall, subject: OperationRef): Promise<Outcome> {
    return toOutcome(await inquire(this.#client, call, { referenceCode: undefined, operations: [] }, subject));
  }

  /** Calls `run` with KOIN's id of the order; nothing that changes the order is sent before. */
  async #withOrderId(
    call: ProcessorCall,
    history: PaymentHistory,
    run: (orderId: string, orderRef: OrderRef) => Promise<Outcome>,
  ): Promise<Outcome> {
    const orderRef = findOrderRef(history);
    if (orderRef === undefined) return refused('InvalidData');
    if (orderRef.orderId !== undefined) return run(orderRef.orderId, orderRef);
    const order = await this.#client.findOrder(call, orderRef);
    if (isUnresolved(order)) return order.kind === 'not-found' ? refused('InvalidData') : { kind: 'not-sent' };
    return order.id === undefined ? { kind: 'not-sent' } : run(order.id, orderRef);
  }
}

/** The card exchange failed, so that no order was sent. */
const NO_ORDER: NotSent = { kind: 'not-sent', failureCause: 'processor-failed' };

/** No order was created, and none will be with this token. */
function toTokenizeFailure(response: KoinResponse): Outcome {
  if (response.status === 400) return refused(rejectsCardNumber(response) ? 'InvalidCard' : 'InvalidData');
  if (response.status === 404 || isForbidden(response)) return refused('InvalidConfiguration');
  // The reference was used before, by an unknown order.
  return response.status === 409 ? unknown('http-409') : NO_ORDER;
}

/** Only checks that the word is present: the texts themselves may contain the card number. */
function rejectsCardNumber({ body }: KoinResponse): boolean {
  const causes = valueAt(body, 'causes');
  return Array.isArray(causes) && causes.some((cause) => typeof cause === 'string' && /number/i.test(cause));
}

const isForbidden = ({ status }: KoinResponse): boolean => status === 401 || status === 403;

/** KOIN rejected the operation, possibly for a temporary reason. */
const isRejection = ({ status }: KoinResponse): boolean => [400, 404, 409, 422].includes(status);

const toFailure = (response: KoinResponse): Outcome =>
  isForbidden(response)
    ? refused('InvalidConfiguration')
    : unknown(isSuccess(response) ? 'unreadable' : `http-${response.status}`);

/** A missing member contradicts nothing. */
const matchesOrder = (
  { orderId, operationRef }: OrderRef,
  order: Partial<Pick<KoinOrder, 'id' | 'operationRef'>>,
): boolean =>
  (order.operationRef === undefined || order.operationRef === operationRef) &&
  (orderId === undefined || order.id === undefined || order.id === orderId);

const toOutcome = (finding: InquiryResult): Outcome =>
  finding.kind === 'not-found' || finding.kind === 'reversed' ? unknown(finding.kind) : finding;
