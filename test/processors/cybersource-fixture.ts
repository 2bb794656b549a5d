import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { systemRandom } from '../../src/crypto/random.ts';
import { parseCurrency } from '../../src/kernel/currency.ts';
import { parseExpiry } from '../../src/kernel/expiry.ts';
import { MonotonicIds } from '../../src/kernel/ids.ts';
import { type Money, parseAmount } from '../../src/kernel/money.ts';
import { parsePan } from '../../src/kernel/pan.ts';
import type {
  Approved,
  CardData,
  InquiryResult,
  OperationRef,
  Order,
  Outcome,
  PaymentHistory,
  ProcessorCall,
} from '../../src/payments/processor.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { CyberSource } from '../../src/payments/processors/cybersource/cybersource.ts';
import { OutboundHttp } from '../../src/payments/processors/outbound-http.ts';
import { effectiveSettings } from '../../src/payments/settings.ts';
import { buildOrder } from '../fixtures/payment-fixtures.ts';
import { FakeCyberSource } from './fake-cybersource.ts';

const KEYS = {
  merchantId: 'mymid',
  keyId: 'kid-1',
  sharedSecret: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
};
export const PAN = '4111111111111111';

/** The processor and a fake CyberSource, over HTTP on loopback. */
export interface CyberSourceFixture {
  readonly cybersource: CyberSource;
  readonly fake: FakeCyberSource;
  /** With a new operation reference unless one is given; the call ends after `timeout` milliseconds. */
  call(options?: { key?: string; timeout?: number; settings?: Record<string, string> }): ProcessorCall;
  newKey(): string;
  stop(): Promise<void>;
}

interface DeskOptions {
  readonly auth?: string;
  readonly indexDelayMs?: number;
  readonly related?: boolean;
  readonly encryption?: { readonly key: KeyObject; readonly kid: string };
  /** The clock of the test. Nothing waits by it. */
  readonly clock?: () => number;
}

export async function openCyberSourceFixture({
  auth = 'jwt',
  clock = Date.now,
  ...options
}: DeskOptions = {}): Promise<CyberSourceFixture> {
  const fake = new FakeCyberSource({ ...KEYS, ...options, clock });
  const { url } = await fake.start();
  const random = systemRandom();
  const ids = new MonotonicIds(clock, random);
  const connections = new OutboundHttp(new ProcessorHosts());
  const cybersource = new CyberSource({ outboundHttp: connections, clock, random });
  const configured = {
    'base-url': url,
    'merchant-id': KEYS.merchantId,
    'key-id': KEYS.keyId,
    'shared-secret': KEYS.sharedSecret,
    auth,
  };
  return {
    cybersource,
    fake,
    newKey: () => ids.next(),
    call: ({ key = ids.next(), timeout = 10_000, settings = {} } = {}) => ({
      tenant: { account: 'acct_1', environment: 'sandbox' },
      settings: { ...effectiveSettings(cybersource.settings, configured), ...settings },
      operationId: key,
      operationRef: refOf(key),
      signal: AbortSignal.timeout(timeout),
    }),
    stop: async () => {
      connections.close();
      await fake.stop();
    },
  };
}

export function money(decimal: string, code = 'USD'): Money {
  const currency = parseCurrency(code);
  const minor = currency && parseAmount(decimal, currency);
  if (currency === undefined || minor === undefined) throw new Error(`no amount: ${decimal} ${code}`);
  return { minor, currency };
}

export const order = (changes: Partial<Order> = {}): Order =>
  buildOrder({ amount: money('10.50'), referenceCode: 'REF-1', ...changes });

export function card(pan = PAN): CardData {
  const number = parsePan(pan);
  const expiry = parseExpiry('12/29');
  if (number === undefined || expiry === undefined) throw new Error('no card');
  return { pan: number, expiry, securityCode: '123', holder: 'Ana Maria Lopez' };
}

export const history = (...operations: OperationRef[]): PaymentHistory => ({ referenceCode: 'REF-1', operations });

export const subject = (
  type: OperationRef['type'],
  key: string,
  processorId?: string | undefined,
  amount = money('10.50'),
): OperationRef => ({ type, operationId: key, operationRef: refOf(key), processorId, amount });

/** The reference that the service gives an operation of the merchant's reference. */
const refOf = (key: string): string => `REF-1.${key}`;

/** Its id at CyberSource. */
export function approvedId(outcome: Outcome | InquiryResult): string {
  assert.equal(
    outcome.kind,
    'approved',
    JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  );
  const { processorId } = (outcome as Approved).details;
  assert.match(processorId ?? '', /^[0-9]{22}$/);
  return processorId ?? '';
}
