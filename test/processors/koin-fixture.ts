import assert from 'node:assert/strict';
import { parseCurrency } from '../../src/kernel/currency.ts';
import type { Money } from '../../src/kernel/money.ts';
import { parsePan } from '../../src/kernel/pan.ts';
import type {
  CardData,
  InquiryResult,
  OperationRef,
  Order,
  Outcome,
  PaymentHistory,
  ProcessorCall,
  ProcessorSettings,
  ReversalResult,
} from '../../src/payments/processor.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { Koin } from '../../src/payments/processors/koin/koin.ts';
import { OutboundHttp } from '../../src/payments/processors/outbound-http.ts';
import { effectiveSettings } from '../../src/payments/settings.ts';
import { buildOrder } from '../fixtures/payment-fixtures.ts';
import { FakeKoin } from './fake-koin.ts';

export const PAN = '4111111111111111';
const CVV = '9876';

export function money(minor: bigint, code = 'BRL'): Money {
  const currency = parseCurrency(code);
  assert.ok(currency);
  return { minor, currency };
}

const pan = parsePan(PAN);
assert.ok(pan);
export const CARD: CardData = { pan, expiry: { month: '04', year: '31' }, securityCode: CVV, holder: 'ANA SILVA' };

export const ORDER = buildOrder({
  amount: money(150056n),
  referenceCode: 'shop-1',
  cardholder: { country: 'BR', firstName: 'Ana', lastName: 'Silva', email: 'ana@example.com' },
});

export const ITEM = {
  type: 'Generic',
  id: 'sku-1',
  name: 'Book',
  price: { currency_code: 'BRL', value: 10 },
  quantity: 1,
  category: { id: '1', name: 'Books' },
};

/** An order with everything that antifraud needs. */
export const ORDER_WITH_ANTIFRAUD: Order = { ...ORDER, fingerprintSessionId: 'session-1', lineItems: [ITEM] };

/** A processor, its fake KOIN, and the calls of the processor interface for one payment. */
export class KoinFixture {
  readonly fake: FakeKoin;
  readonly koin: Koin;
  readonly #connections = new OutboundHttp(new ProcessorHosts());
  #url = '';
  #keys = 0;

  constructor(options: ConstructorParameters<typeof FakeKoin>[0] = {}) {
    this.fake = new FakeKoin(options);
    this.koin = new Koin({ outboundHttp: this.#connections });
  }

  async start(): Promise<void> {
    this.#url = (await this.fake.start()).url;
  }

  async stop(): Promise<void> {
    this.#connections.close();
    await this.fake.stop();
  }

  /** 25 letters, as in the references of the service. */
  newKey(): string {
    return `key${String(++this.#keys).padStart(22, '0')}`.replace(
      /[0-9]/g,
      (digit) => 'abcdefghij'[Number(digit)] ?? '',
    );
  }

  call(key: string, settings: ProcessorSettings = {}, signal = AbortSignal.timeout(10_000)): ProcessorCall {
    const values = { 'base-url': this.#url, 'private-key': 'sk_test', account: 'ACC', ...settings };
    return {
      tenant: { account: 'acc_1', environment: 'sandbox' },
      settings: effectiveSettings(this.koin.settings, values),
      operationId: key,
      operationRef: refOf(key),
      signal,
    };
  }

  async authorize(key: string, order: Order = ORDER, settings: ProcessorSettings = {}, signal?: AbortSignal) {
    const call = this.call(key, settings, signal);
    this.koin.check(order, CARD, call.settings);
    return withoutCardData(await this.koin.authorize(call, order, CARD));
  }

  /** An order that exists at the fake, and its history in the service. */
  async authorized(amount = ORDER.amount): Promise<OperationRef> {
    const key = this.newKey();
    const outcome = await this.authorize(key, { ...ORDER, amount });
    assert.equal(outcome.kind, 'approved', JSON.stringify(this.fake.violations));
    return subject('authorization', key, amount, this.fake.ledger.orders.get(refOf(key))?.id);
  }

  async collected(amount = ORDER.amount): Promise<OperationRef> {
    const first = await this.authorized(amount);
    this.fake.setStatus(first.operationRef, 'Collected');
    return first;
  }

  async capture(first: OperationRef, signal?: AbortSignal): Promise<Outcome> {
    return withoutCardData(
      await this.koin.capture(this.call(this.newKey(), {}, signal), historyOf(first), first.amount),
    );
  }

  async refund(
    first: OperationRef,
    amount: Money,
    { key = this.newKey(), signal }: { key?: string; signal?: AbortSignal | undefined } = {},
  ) {
    return withoutCardData(await this.koin.refund(this.call(key, {}, signal), historyOf(first), amount));
  }

  async void(first: OperationRef, signal?: AbortSignal): Promise<Outcome> {
    return withoutCardData(await this.koin.void(this.call(this.newKey(), {}, signal), historyOf(first)));
  }

  async inquire(about: OperationRef, ...operations: readonly OperationRef[]): Promise<InquiryResult> {
    return withoutCardData(await this.koin.inquire(this.call(about.operationId), historyOf(...operations), about));
  }

  async abandon(about: OperationRef, ...operations: readonly OperationRef[]): Promise<ReversalResult> {
    return withoutCardData(await this.koin.reverse(this.call(about.operationId), historyOf(...operations), about));
  }
}

export const historyOf = (...operations: readonly OperationRef[]): PaymentHistory => ({
  referenceCode: 'shop-1',
  operations,
});

export const subject = (
  type: OperationRef['type'],
  key: string,
  amount: Money,
  processorId?: string,
): OperationRef => ({
  type,
  operationId: key,
  operationRef: refOf(key),
  processorId,
  amount,
});

/** The reference that the service gives an operation of the order. */
export const refOf = (key: string): string => `shop-1.${key}`;

/** No result may contain card data, though the fake repeats it in every message. */
export function withoutCardData<T extends object>(result: T): T {
  const text = JSON.stringify(result, (_, value) =>
    typeof value === 'bigint' || typeof value === 'number' ? 0 : value,
  );
  for (const secret of [PAN, CVV, 'sk_test', 'cannot process']) assert.ok(!text.includes(secret), text);
  return result;
}

/** Formats a result as its kind, with the reason of a failure. */
export function toSummary(result: Outcome | InquiryResult | ReversalResult): string {
  if (result.kind === 'refused') return `${result.failure.status} ${result.failure.reason}`;
  if (result.kind === 'approved' && result.captured !== undefined) return 'approved, captured';
  return result.kind;
}
