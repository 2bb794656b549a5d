import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DigestKeys } from '../../src/crypto/digest-keys.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { parseCurrency } from '../../src/kernel/currency.ts';
import type { Environment, Tenant } from '../../src/kernel/environment.ts';
import { MonotonicIds } from '../../src/kernel/ids.ts';
import { type Money, parseAmount } from '../../src/kernel/money.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import {
  type CardData,
  type InquiryResult,
  type OperationRef,
  type OperationType,
  type Order,
  type Outcome,
  type PaymentHistory,
  type ProcessorCall,
  type ReversalResult,
  type Unknown,
  unknown,
} from '../../src/payments/processor.ts';
import { Simulator } from '../../src/payments/processors/simulator/simulator.ts';
import type { Driver } from '../../src/storage/database.ts';
import { insertAccounts } from '../fixtures/accounts.ts';
import { dropDatabase, openFolder, storedBytes } from '../fixtures/database.ts';
import { initializeJournal } from '../fixtures/journals.ts';
import { buildOrder } from '../fixtures/payment-fixtures.ts';

/** 2026-11-21T12:00:00Z. */
export const NOON = Date.UTC(2026, 10, 21, 12);

export const CARD: CardData = {
  pan: '4111111111111111' as Pan,
  expiry: { month: '12', year: '29' },
  securityCode: '737',
  holder: 'Ana Lopez',
};

export function money(amount: string, code = 'USD'): Money {
  const currency = parseCurrency(code);
  const minor = currency && parseAmount(amount, currency);
  if (currency === undefined || minor === undefined) throw new Error(`${amount} ${code} is no amount`);
  return { minor, currency };
}

export interface CallOptions {
  readonly amount?: Money;
  readonly capture?: boolean;
  readonly email?: string;
  readonly billToEmail?: string;
  readonly card?: Partial<CardData>;
  readonly key?: string;
  readonly tenant?: Tenant;
  /** How long to wait for the response, in milliseconds. */
  readonly timeoutMs?: number;
}

export const orderOf = ({ amount = money('100.00'), capture = false, email, billToEmail }: CallOptions): Order =>
  buildOrder({
    capture,
    amount,
    referenceCode: 'order 7',
    cardholder: email === undefined ? undefined : { email },
    billTo: billToEmail === undefined ? undefined : { email: billToEmail },
  });

type ModificationType = 'capture' | 'payment_refund' | 'authorization_void';

/** The simulator on its own database, and a caller with a clock that can be set. */
export class SimulatorFixture {
  readonly directory: string;
  readonly tenant: Tenant = { account: 'acc_1', environment: 'sandbox' as Environment };
  now = NOON;
  simulator: Simulator;
  database: Driver;
  readonly #keys = new MonotonicIds(() => this.now, systemRandom());

  private constructor(directory: string, database: Driver) {
    this.directory = directory;
    this.database = database;
    this.simulator = this.newSimulator();
  }

  static async open(): Promise<SimulatorFixture> {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-simulator-'));
    const fixture = new SimulatorFixture(directory, await openFolder(directory));
    await fixture.database.migrate(() => fixture.now);
    await initializeJournal(fixture.database, DigestKeys.of(createSecretKey(randomBytes(32))));
    await insertAccounts(fixture.database, ['acc_1', 'acc_2']);
    return fixture;
  }

  /** Another one on the same database, as on another node. */
  newSimulator(database = this.database): Simulator {
    return new Simulator({ database, clock: () => this.now, random: systemRandom() });
  }

  async restart(): Promise<void> {
    await this.database.close();
    this.database = await openFolder(this.directory);
    await this.database.migrate(() => this.now);
    this.simulator = this.newSimulator();
  }

  async close(): Promise<void> {
    await this.database.close();
    rmSync(this.directory, { recursive: true, force: true });
    await dropDatabase(this.directory);
  }

  newKey(): string {
    return this.#keys.next();
  }

  call({ key = this.newKey(), tenant = this.tenant, timeoutMs = 5000 }: CallOptions): ProcessorCall {
    return { tenant, operationId: key, operationRef: key, settings: {}, signal: AbortSignal.timeout(timeoutMs) };
  }

  /** Waits for the response until the deadline of the call, as `TimedProcessor` does. */
  async #within<T>(options: CallOptions, act: (call: ProcessorCall) => Promise<T>): Promise<T | Unknown> {
    const call = this.call(options);
    const late = new Promise<Unknown>((resolve) => {
      call.signal.addEventListener('abort', () => resolve(unknown('timeout')));
    });
    return Promise.race([act(call), late]);
  }

  authorize(options: CallOptions = {}): Promise<Outcome> {
    const card = { ...CARD, ...options.card };
    return this.#within(options, (call) => this.simulator.authorize(call, orderOf(options), card));
  }

  /** References of a new authorization or payment. */
  async authorized(
    options: CallOptions = {},
  ): Promise<{ key: string; history: PaymentHistory; subject: OperationRef }> {
    const key = options.key ?? this.newKey();
    await this.authorize({ ...options, key });
    return this.known(key, options);
  }

  known(key: string, options: CallOptions = {}): { key: string; history: PaymentHistory; subject: OperationRef } {
    const subject = this.subject(options.capture === true ? 'payment' : 'authorization', key, options.amount);
    return { key, subject, history: { referenceCode: undefined, operations: [subject] } };
  }

  subject(type: OperationType, key: string, amount = money('100.00')): OperationRef {
    return { type, operationId: key, operationRef: key, processorId: undefined, amount };
  }

  modify(type: ModificationType, history: PaymentHistory, amount?: Money, options: CallOptions = {}): Promise<Outcome> {
    const full = amount ?? history.operations[0]?.amount ?? money('100.00');
    return this.#within(options, (call) => {
      if (type === 'authorization_void') return this.simulator.void(call, history);
      return type === 'capture'
        ? this.simulator.capture(call, history, full)
        : this.simulator.refund(call, history, full);
    });
  }

  inquire(history: PaymentHistory, subject: OperationRef, options: CallOptions = {}): Promise<InquiryResult> {
    return this.#within({ ...options, key: subject.operationRef }, (call) =>
      this.simulator.inquire(call, history, subject),
    );
  }

  reverse(history: PaymentHistory, subject: OperationRef, options: CallOptions = {}): Promise<ReversalResult> {
    return this.#within({ ...options, key: subject.operationRef }, (call) =>
      this.simulator.reverse(call, history, subject),
    );
  }

  async rows(table: 'payments' | 'modifications'): Promise<number> {
    const [row] = await this.database.read(`select count(*) as rows from simulator_${table}`);
    return Number(row?.['rows']);
  }

  /** Every byte of the database and its log. */
  bytes(): Promise<Buffer> {
    return storedBytes(this.directory, this.database);
  }
}

/** In short: `approved`, `approved 10.50`, `Declined Rejected 05`, `pending`, … */
export function toSummary(outcome: Outcome | InquiryResult | ReversalResult): string {
  if (outcome.kind === 'refused')
    return `${outcome.failure.status} ${outcome.failure.reason} ${outcome.details.responseCode}`;
  if (outcome.kind === 'approved' && outcome.captured !== undefined) return `approved ${outcome.captured.minor}`;
  return outcome.kind === 'unknown' ? `unknown ${outcome.problem}` : outcome.kind;
}
