import type { IncomingHttpHeaders } from 'node:http';
import {
  KoinLedger,
  type OrderEntry,
  type OrderResult,
  type OrderStatus,
  type RefundStatus,
  sandboxResult,
  unitsOf,
} from './koin-ledger.ts';
import { type Literal, orderFaults, REFUND, readBody, TOKENIZE } from './koin-request-schemas.ts';
import { cancelBody, errorBody, orderBody, type ResponseFormat, refundBody } from './koin-responses.ts';

/** Types of requests. `find` inquires by our reference, `get` by KOIN's id. */
export type KoinRequestKind = 'tokenize' | 'create' | 'find' | 'get' | 'capture' | 'cancel' | 'refund' | 'get-refund';

/** The result of an order or refund. */
export interface ForcedStatus {
  readonly becomes: string;
  readonly reason?: string;
}

export interface FakeResponse {
  readonly status: number;
  readonly body: unknown;
  /** It is executed, and no response is sent. */
  readonly isSilent?: boolean;
}

export interface FakeKoinSettings {
  readonly privateKey: string;
  readonly account: string;
  /** Results of orders as in KOIN's sandbox, by their amounts. */
  readonly byAmount: boolean;
}

export interface FakeRequest {
  readonly headers: IncomingHttpHeaders;
  readonly kind: KoinRequestKind;
  readonly ids: readonly string[];
  readonly text: string;
  readonly becoming: ForcedStatus | undefined;
}

/** Executes requests as far as KOIN's contract allows them, and records violations of the contract. */
export class FakeKoinApi {
  readonly ledger = new KoinLedger();
  readonly violations: string[] = [];
  readonly #tokens = new Map<string, { reference: string; used: boolean }>();
  readonly #tokenized = new Set<string>();
  readonly #terms: FakeKoinSettings;
  readonly #scribe: ResponseFormat;

  constructor(terms: FakeKoinSettings, scribe: ResponseFormat) {
    this.#terms = terms;
    this.#scribe = scribe;
  }

  respond({ headers, kind, ids, text, becoming }: FakeRequest): FakeResponse {
    const refusal = (status: number): FakeResponse => ({ status, body: JSON.parse(errorBody(text)) });
    if (headers.authorization !== `Bearer ${this.#terms.privateKey}`) return refusal(401);
    for (const name of ['accept', 'content-type'] as const) {
      if (headers[name] !== 'application/json') this.violations.push(`${kind}: header ${name}`);
    }
    const takesBody = kind === 'tokenize' || kind === 'create' || kind === 'refund';
    if (!takesBody && text !== '') this.violations.push(`${kind}: a body`);
    try {
      const body = takesBody ? readBody(text) : undefined;
      if (kind === 'tokenize') return this.#tokenize(body);
      if (kind === 'create') return this.#create(body, becoming);
      return this.#onOrder(kind, ids, body, becoming);
    } catch (error) {
      if (!(error instanceof Refusal)) this.violations.push(`${kind}: unreadable`);
      return refusal(error instanceof Refusal ? error.status : 400);
    }
  }

  #judge(faults: readonly string[]): void {
    this.violations.push(...faults);
    if (faults.length > 0) throw new Refusal(400);
  }

  #tokenize(body: unknown): FakeResponse {
    this.#judge(TOKENIZE(body, 'tokenize'));
    const { transaction } = body as { transaction: { reference_id: string } };
    const isUsed = this.#tokenized.has(transaction.reference_id);
    this.#judge(isUsed ? ['tokenize.transaction.reference_id: used before'] : []);
    this.#tokenized.add(transaction.reference_id);
    const token = (this.#tokens.size + 1).toString(16).padStart(200, 'f0');
    this.#tokens.set(token, { reference: transaction.reference_id, used: false });
    return { status: 200, body: { secure_token: token } };
  }

  #create(body: unknown, becoming: ForcedStatus | undefined): FakeResponse {
    this.#judge(orderFaults(body));
    const { transaction, payment_method, country_code, notification_url } = body as OrderBody;
    const { account, byAmount } = this.#terms;
    this.#judge(transaction.account === account ? [] : ['order.transaction.account: another']);
    const token = this.#tokens.get(payment_method.secure_token);
    const isGood = token !== undefined && !token.used && token.reference === transaction.reference_id;
    this.#judge(isGood ? [] : ['order.payment_method.secure_token: not one to use']);
    if (token !== undefined) token.used = true;
    const units = unitsOf(transaction.amount.value.literal);
    const fate: OrderResult = fateOf(becoming) ?? (byAmount ? sandboxResult(units) : { status: 'Authorized' });
    const facts = {
      reference: transaction.reference_id,
      businessId: transaction.business_id,
      account,
      currency: transaction.amount.currency_code,
      units,
      country: country_code,
      notificationUrls: notification_url,
    };
    const order = this.ledger.book(facts, fate);
    if (order === undefined) throw new Refusal(409);
    return { status: 200, body: orderBody(order, this.#scribe, true), isSilent: fate.isSilent === true };
  }

  #onOrder(
    kind: KoinRequestKind,
    [id = '', refundId]: readonly string[],
    body: unknown,
    becoming: ForcedStatus | undefined,
  ): FakeResponse {
    const order = kind === 'find' ? this.ledger.orders.get(id) : this.ledger.byId(id);
    if (order === undefined) throw new Refusal(404);
    if (kind === 'find' || kind === 'get') return { status: 200, body: orderBody(order, this.#scribe, false) };
    if (kind === 'capture' || kind === 'cancel') {
      if (!this.ledger[kind](order)) throw new Refusal(400);
      return {
        status: 200,
        body: kind === 'capture' ? orderBody(order, this.#scribe, false) : cancelBody(order, this.#scribe),
      };
    }
    if (kind === 'refund') return this.#refund(order, body, becoming);
    const refund = order.refunds.find((each) => each.id === refundId);
    if (refund === undefined) throw new Refusal(404);
    return { status: 200, body: refundBody(refund, order, this.#scribe, true) };
  }

  #refund(order: OrderEntry, body: unknown, becoming: ForcedStatus | undefined): FakeResponse {
    this.#judge(REFUND(body, 'refund'));
    const { transaction, amount } = body as RefundBody;
    this.#judge(amount.currency_code === order.currency ? [] : ['refund.amount.currency_code: another']);
    const status = (becoming?.becomes ?? 'Refunded') as RefundStatus;
    const refund = this.ledger.refund(order, transaction.reference_id, unitsOf(amount.value.literal), status);
    if (refund === undefined) throw new Refusal(400);
    return { status: 200, body: refundBody(refund, order, this.#scribe, false) };
  }
}

const fateOf = (becoming: ForcedStatus | undefined): OrderResult | undefined =>
  becoming && { status: becoming.becomes as OrderStatus, reason: becoming.reason };

class Refusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`refused with ${status}`);
    this.status = status;
  }
}

interface AmountBody {
  readonly currency_code: string;
  readonly value: Literal;
}

interface OrderBody {
  readonly transaction: {
    readonly reference_id: string;
    readonly business_id?: string;
    readonly account: string;
    readonly amount: AmountBody;
  };
  readonly payment_method: { readonly secure_token: string };
  readonly country_code: string;
  readonly notification_url: readonly string[];
}

interface RefundBody {
  readonly transaction: { readonly reference_id: string };
  readonly amount: AmountBody;
}
