import { type Clock, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { StepObserver } from '../kernel/steps.ts';
import type { Operation, Payment } from './payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import {
  type CardData,
  type InquiryResult,
  type OperationNames,
  type OperationRef,
  type Order,
  type Outcome,
  type PaymentHistory,
  type Processor,
  type ProcessorCall,
  type ProcessorSettings,
  type ReversalResult,
  type Unknown,
  unknown,
} from './processor.ts';
import { recoveryTimes } from './reconciliation.ts';

/** The clock of a database is corrected each second, by less than this. */
const CLOCK_STEP_MS = SECOND;

/** Calls a processor with a deadline (`timeout-ms`). A timeout or a thrown error becomes `unknown`. */
export class TimedProcessor {
  /** The reason why the last call had no result, as a code for operators. */
  lastProblem: string | undefined;
  readonly #tenant: Tenant;
  readonly #configured: ConfiguredProcessor;
  readonly #clock: Clock;
  readonly #timeout: number;

  readonly #steps: StepObserver | undefined;

  constructor(options: {
    tenant: Tenant;
    configured: ConfiguredProcessor;
    clock: Clock;
    steps?: StepObserver | undefined;
  }) {
    this.#tenant = options.tenant;
    this.#configured = options.configured;
    this.#clock = options.clock;
    this.#steps = options.steps;
    this.#timeout = recoveryTimes(options.configured.settings).timeout;
  }

  get #processor(): Processor {
    return this.#configured.processor;
  }

  async authorize(operation: Operation, order: Order, card: CardData): Promise<Outcome> {
    const { sale } = this.#processor.capabilities;
    return this.#send(operation, async (call) => {
      const outcome = await this.#processor.authorize(call, order, card);
      if (outcome.kind !== 'approved' || !order.capture || sale || outcome.captured !== undefined) return outcome;
      const { processorId } = outcome.details;
      const subject = { ...namesOf(operation), type: operation.type, processorId, amount: order.amount };
      const history = { referenceCode: order.referenceCode, operations: [subject] };
      const captured = await this.#processor.capture(call, history, order.amount);
      if (captured.kind === 'unknown') return captured;
      if (captured.kind === 'approved' || captured.kind === 'pending') return { ...outcome, captured: order.amount };
      // A capture that was not sent has changed nothing. A refusal may mean that the order is no longer held, or was captured there.
      return captured.kind === 'not-sent' ? outcome : this.#afterRefusedCapture(call, history, outcome);
    });
  }

  /** Returns the outcome of a payment whose capture was refused: the state of its order at the processor decides. */
  async #afterRefusedCapture(
    call: ProcessorCall,
    history: PaymentHistory,
    authorized: Extract<Outcome, { kind: 'approved' }>,
  ): Promise<Outcome> {
    const [subject] = history.operations;
    const state = subject === undefined ? UNKNOWN_CAPTURE : await this.#processor.inquire(call, history, subject);
    if (state.kind === 'approved') return { ...authorized, captured: state.captured };
    // Recovery finds out about an order that was reversed, is unknown there, or is pending again.
    return state.kind === 'refused' ? state : UNKNOWN_CAPTURE;
  }

  /** Sends a capture, refund, void or expiry. */
  operate(payment: Payment, operation: Operation, history: PaymentHistory): Promise<Outcome> {
    const amount = { minor: operation.amount, currency: payment.currency };
    return this.#send(operation, (call) => {
      if (operation.type === 'capture') return this.#processor.capture(call, history, amount);
      if (operation.type === 'payment_refund') return this.#processor.refund(call, history, amount);
      return this.#processor.void(call, history);
    });
  }

  /** Captures what an operation of type payment authorized, under the reference of that operation. */
  captureAuthorized(payment: Payment, operation: Operation, history: PaymentHistory): Promise<Outcome> {
    const amount = { minor: payment.amount, currency: payment.currency };
    return this.#within(namesOf(operation), 'capture', (call) => this.#processor.capture(call, history, amount));
  }

  /** A repeated void is idempotent. */
  repeatVoid(operation: Operation, history: PaymentHistory): Promise<Outcome> {
    return this.#within(namesOf(operation), 'void', (call) => this.#processor.void(call, history));
  }

  inquire(history: PaymentHistory, subject: OperationRef): Promise<InquiryResult> {
    return this.#within(subject, 'inquire', (call) => this.#processor.inquire(call, history, subject));
  }

  reverse(history: PaymentHistory, subject: OperationRef): Promise<ReversalResult> {
    return this.#within(subject, 'reverse', (call) => this.#processor.reverse(call, history, subject));
  }

  /**
   * A process that was delayed between the intent and now must not send an operation that recovery may have reversed
   * already, nor exceed the time at which recovery starts. An intent from the near future shows that the clock was set
   * back since; the operation is at least as old as that difference.
   */
  #send(operation: Operation, act: (call: ProcessorCall) => Promise<Outcome>): Promise<Outcome> {
    const age = this.#clock() - operation.createdAt;
    if (age < -CLOCK_STEP_MS || Math.abs(age) >= this.#timeout) return Promise.resolve({ kind: 'not-sent' });
    return this.#within(namesOf(operation), operation.type, act, this.#timeout - Math.abs(age));
  }

  async #within<T extends Outcome | InquiryResult | ReversalResult>(
    names: OperationNames,
    operation: string,
    act: (call: ProcessorCall) => Promise<T>,
    time = this.#timeout,
  ): Promise<T | Unknown> {
    const run = (): Promise<T | Unknown> => this.#inTime(names, act, time);
    const step = { name: 'processor', processor: this.#configured.name, operation } as const;
    const answer = await (this.#steps === undefined ? run() : this.#steps.observe(step, run, ({ kind }) => kind));
    if (answer.kind === 'unknown') this.lastProblem = answer.problem;
    else if (answer.kind === 'not-found') this.lastProblem = 'not-found';
    return answer;
  }

  #inTime<T>(names: OperationNames, act: (call: ProcessorCall) => Promise<T>, time: number): Promise<T | Unknown> {
    const call = new TimedCall(this.#tenant, this.#configured.settings, names);
    return new Promise((resolve) => {
      const end = setTimeout(() => {
        call.abort();
        resolve(unknown('timeout'));
      }, time);
      const respond = (response: T | Unknown): void => {
        clearTimeout(end);
        resolve(response);
      };
      Promise.try(act, call).then(respond, () => respond(unknown('failed')));
    });
  }
}

const UNKNOWN_CAPTURE: Unknown = unknown('capture');

/** A call whose signal is made when it is first read: it costs more than the rest of a call to a processor in this process. */
class TimedCall implements ProcessorCall {
  readonly tenant: Tenant;
  readonly settings: ProcessorSettings;
  readonly operationId: string;
  readonly operationRef: string;
  #controller: AbortController | undefined;
  #isAborted = false;

  constructor(tenant: Tenant, settings: ProcessorSettings, { operationId, operationRef }: OperationNames) {
    this.tenant = tenant;
    this.settings = settings;
    this.operationId = operationId;
    this.operationRef = operationRef;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort();
  }
}

const namesOf = ({ id, operationRef }: Operation): OperationNames => ({ operationId: id, operationRef });

export const toOperationRef = (payment: Payment, operation: Operation): OperationRef => ({
  ...namesOf(operation),
  type: operation.type,
  processorId: operation.details.processorId,
  amount: { minor: operation.amount, currency: payment.currency },
  ...(operation.id === payment.id && payment.authorized > 0n && { isAuthorized: true }),
});

/** Returns the operations other than `operation` that had an effect. */
export function buildHistory(payment: Payment, operations: readonly Operation[], operation: Operation): PaymentHistory {
  const others = operations.filter(({ id, state }) => id !== operation.id && state === 'accepted');
  return { referenceCode: payment.referenceCode, operations: others.map((each) => toOperationRef(payment, each)) };
}
