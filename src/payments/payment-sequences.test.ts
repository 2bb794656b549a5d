import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  buildPayment,
  buildReconciliation,
  captured,
  failed,
  NOW,
  OUTCOMES,
  RULES,
  USD,
} from '../../test/fixtures/payment-fixtures.ts';
import { formatDecimal } from '../kernel/money.ts';
import { applyEvent, NEVER_CONFIRMED } from './apply-event.ts';
import { type Command, validateCommand } from './commands.ts';
import {
  newOperation,
  type Operation,
  type Payment,
  type PaymentSnapshot,
  type Reconciliation,
  stateOf,
} from './payment.ts';
import type { PaymentEvent } from './payment-event.ts';
import type { InquiryResult, OperationType, Outcome } from './processor.ts';
import { isAllowedTransition, type Status, type Trigger } from './transitions.ts';

/** Whatever callers ask and processors say, in any order: the payment is where a few plain rules would have it. */

const TOTAL = 10_000;

/** The rules of the guide, in integer cents. */
interface Model {
  status: Status;
  collected: number;
  refunded: number;
  busy: { type: OperationType; amount: number } | undefined;
  /** The effect of each completed operation, by its position in the order of time. */
  ended: { type: OperationType; amount: number; didSomething: boolean }[];
}

interface Real {
  payment: Payment;
  reconciliation: Reconciliation;
  readonly operations: Operation[];
}

const TRIGGERS: readonly Trigger[] = ['processor', 'capture', 'refund', 'void', 'expiry'];
const isAuthorized = (status: Status): boolean => status === 'Authorized';
const isLive = (status: Status): boolean => status === 'Opened' || status === 'Authorized';
const isGone = (status: Status): boolean => status === 'Cancelled' || status === 'Voided';
const reversedStatus = (status: Status): Status => (status === 'Opened' ? 'Cancelled' : 'Voided');

function begins(model: Model, type: Command['type'], cents: number | undefined): number | undefined {
  if (model.busy !== undefined) return undefined;
  if (type === 'authorization_void' || type === 'expiry') return isLive(model.status) ? TOTAL : undefined;
  if (type === 'capture' ? !isAuthorized(model.status) : model.status !== 'Collected') return undefined;
  const most = type === 'capture' ? TOTAL : model.collected - model.refunded;
  if (cents === undefined) return most > 0 ? most : undefined;
  return cents > 0 && cents <= most ? cents : undefined;
}

/** Applies the state of the payment at the processor where a transition allows it, and returns whether it did. */
function applyStateToModel(model: Model, result: Outcome | InquiryResult): boolean {
  const was = model.status;
  if (!isLive(was)) return false;
  if (result.kind === 'refused') model.status = result.failure.status;
  else if (result.kind === 'reversed') model.status = reversedStatus(was);
  else if (result.kind === 'approved' && result.captured !== undefined) {
    model.status = 'Collected';
    model.collected = Number(result.captured.minor);
  } else if (result.kind === 'approved' && was === 'Opened') model.status = 'Authorized';
  else return false;
  return true;
}

/** The effect of the operation in progress: yes, no, or unknown. */
function effect(
  model: Model,
  { type, amount }: NonNullable<Model['busy']>,
  result: Outcome | InquiryResult,
): boolean | undefined {
  const kind = result.kind;
  const isYes = kind === 'approved' || kind === 'pending';
  const isNo = kind === 'refused' || kind === 'not-sent';
  if (type === 'capture') {
    if (kind === 'reversed' && isAuthorized(model.status)) {
      model.status = 'Voided';
      return false;
    }
    if (kind === 'reversed' && model.status === 'Voided') return false;
    // True when a notification reported it first.
    if (isYes && model.status === 'Collected' && model.collected === amount) return true;
    if (!isYes || !isAuthorized(model.status)) return isNo ? false : undefined;
    model.status = 'Collected';
    model.collected = amount;
    return true;
  }
  if (type === 'payment_refund') {
    if (!isYes || model.refunded + amount > model.collected) return isNo ? false : undefined;
    model.refunded += amount;
    return true;
  }
  if (kind === 'approved' || kind === 'reversed') {
    if (!isLive(model.status) && !isGone(model.status)) return undefined;
    if (isLive(model.status)) model.status = reversedStatus(model.status);
    return true;
  }
  return isNo && type !== 'expiry' ? false : undefined;
}

function applyResultToModel(model: Model, result: Outcome | InquiryResult): void {
  const { busy } = model;
  if (busy === undefined) return;
  let hasApplied: boolean | undefined;
  if (busy.type !== 'authorization') hasApplied = effect(model, busy, result);
  else if (result.kind === 'pending') hasApplied = true;
  else if (result.kind === 'not-sent') {
    model.status = 'ProcessorError';
    hasApplied = false;
  } else if (applyStateToModel(model, result)) hasApplied = result.kind !== 'refused';
  if (hasApplied === undefined) return;
  model.busy = undefined;
  model.ended.push({ ...busy, didSomething: hasApplied });
}

const pairOf = ({ payment, reconciliation, operations }: Real, id: string | undefined): PaymentSnapshot | undefined => {
  const operation = operations.find((each) => each.id === id);
  return operation && { payment, operation, reconciliation };
};

const apply = (snapshot: PaymentSnapshot, event: PaymentEvent): PaymentSnapshot | undefined =>
  applyEvent(snapshot, event, NOW, RULES);

function put(real: Real, { payment, operation, reconciliation }: PaymentSnapshot): void {
  real.payment = payment;
  real.reconciliation = reconciliation;
  real.operations[real.operations.findIndex(({ id }) => id === operation.id)] = operation;
}

/** Carries out one step on both, and compares. With nothing in progress, contradictory operations alone put a payment in doubt. */
function step(model: Model, real: Real, about: string, act: () => void, mayChange?: string): void {
  const before = real.payment;
  const past = real.operations.filter(({ state, id }) => state !== 'in_progress' && id !== mayChange);
  act();
  const { payment, operations } = real;
  assert.equal(payment.status, model.status, about);
  const amounts = [payment.collected, payment.refunded].map(Number);
  assert.deepEqual(amounts, [model.collected, model.refunded], about);
  assert.equal(payment.operationInProgress !== undefined, model.busy !== undefined, about);
  const isLine = TRIGGERS.some((by) => isAllowedTransition(before.status, payment.status, by));
  assert.ok(before.status === payment.status || isLine, `${about}: ${before.status} to ${payment.status}`);
  assert.ok(payment.authorized >= payment.collected && payment.collected >= payment.refunded, about);
  assert.equal(payment.expiresAt !== undefined, isLive(payment.status), about);
  const { inDoubtSince, recheckIds, contradictoryIds } = real.reconciliation;
  assert.ok(new Set(recheckIds).isSupersetOf(new Set(contradictoryIds)), about);
  const isInDoubt = inDoubtSince !== undefined;
  if (payment.operationInProgress === undefined || !isInDoubt)
    assert.equal(isInDoubt, contradictoryIds.length > 0, about);
  for (const operation of past)
    assert.equal(
      operations.find(({ id }) => id === operation.id),
      operation,
      about,
    );
}

class Start implements fc.Command<Model, Real> {
  readonly type: Command['type'];
  readonly cents: number | undefined;
  constructor(type: Command['type'], cents: number | undefined) {
    this.type = type;
    this.cents = type === 'capture' || type === 'payment_refund' ? cents : undefined;
  }
  check = (): boolean => true;
  toString = (): string => `start ${this.type} ${this.cents ?? ''}`;
  run(model: Model, real: Real): void {
    const expected = begins(model, this.type, this.cents);
    if (expected !== undefined) model.busy = { type: this.type, amount: expected };
    const { type, cents } = this;
    const text = cents === undefined ? undefined : formatDecimal({ minor: BigInt(cents), currency: USD });
    const amount = text === undefined ? undefined : { text, currency: undefined };
    const command = type === 'capture' || type === 'payment_refund' ? { type, amount } : { type };
    step(model, real, this.toString(), () => {
      if (expected === undefined) {
        assert.throws(() => validateCommand(real.payment, command, { partialCapture: true }), { name: 'Failure' });
        return;
      }
      const minor = validateCommand(real.payment, command, { partialCapture: true });
      assert.equal(Number(minor), expected);
      const id = `operation ${real.operations.length}`;
      const operation = newOperation(id, NOW, real.payment, {
        type,
        amount: minor,
        referenceCode: undefined,
        operationRef: id,
        requestedBy: undefined,
      });
      const before = pairOf(real, real.payment.id);
      const after = before && apply(before, { type: 'started', operation });
      assert.ok(after !== undefined);
      real.operations.push(operation);
      put(real, after);
    });
  }
}

/** Applies the processor's response about the operation in progress. */
class Respond implements fc.Command<Model, Real> {
  readonly result: Outcome | InquiryResult;
  readonly event: PaymentEvent;
  constructor(result: Outcome | InquiryResult, isResponse: boolean) {
    this.result = result;
    const isInquiry =
      result.kind === 'reversed' || result.kind === 'not-found' || (!isResponse && result.kind !== 'not-sent');
    this.event = isInquiry ? { type: 'inquired', result: result } : { type: 'responded', outcome: result };
  }
  check = ({ busy }: Readonly<Model>): boolean => busy !== undefined;
  toString = (): string =>
    `respond ${JSON.stringify(this.result, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`;
  run(model: Model, real: Real): void {
    applyResultToModel(model, this.result);
    step(model, real, this.toString(), () => {
      const pair = pairOf(real, real.payment.operationInProgress);
      const after = pair && apply(pair, this.event);
      if (after !== undefined) put(real, after);
      const isCompleted = after !== undefined && after.operation.state !== 'in_progress';
      assert.equal(after?.operation.stateAfter !== undefined, isCompleted);
    });
  }
}

/** Recovery completes the operation in progress without the processor's response. */
class Complete implements fc.Command<Model, Real> {
  readonly result: InquiryResult | undefined;
  constructor(result: InquiryResult | undefined) {
    this.result = result;
  }
  check = ({ busy }: Readonly<Model>): boolean => {
    const isEnding = busy?.type === 'authorization_void' || busy?.type === 'expiry';
    // A void may be reversed, too, and is then rechecked; an expiry never is.
    const isVoid = busy?.type === 'authorization_void' && this.result === undefined;
    return busy !== undefined && (isVoid || isEnding === (this.result !== undefined));
  };
  toString = (): string => (this.result === undefined ? 'reverse' : `supersede by ${this.result.kind}`);
  run(model: Model, real: Real): void {
    const { busy } = model;
    assert.ok(busy !== undefined);
    if (this.result !== undefined) applyStateToModel(model, this.result);
    else if (busy.type === 'authorization') model.status = 'ProcessorError';
    model.busy = undefined;
    model.ended.push({ ...busy, didSomething: false });
    step(model, real, this.toString(), () => {
      const pair = pairOf(real, real.payment.operationInProgress);
      assert.ok(pair !== undefined);
      const after =
        this.result === undefined
          ? apply(pair, { type: 'reversed', failure: NEVER_CONFIRMED })
          : apply(pair, { type: 'superseded', state: this.result });
      assert.ok(after !== undefined);
      assert.deepEqual(after.operation.stateAfter, stateOf(after.payment));
      put(real, after);
    });
  }
}

/** Applies a late outcome of a completed operation that is rechecked. */
class RespondLate implements fc.Command<Model, Real> {
  readonly pick: number;
  readonly result: InquiryResult;
  constructor(pick: number, result: InquiryResult) {
    this.pick = pick;
    this.result = result;
  }
  check = (): boolean => true;
  toString = (): string => `respond late to ${this.pick}: ${this.result.kind}`;
  run(model: Model, real: Real): void {
    const { recheckIds } = real.reconciliation;
    const id = recheckIds[this.pick % recheckIds.length];
    const pair = pairOf(real, id);
    if (pair === undefined) return;
    this.#expect(
      model,
      pair,
      real.operations.filter(({ state }) => state !== 'in_progress'),
    );
    step(
      model,
      real,
      this.toString(),
      () => {
        const after = apply(pair, { type: 'inquired', result: this.result });
        assert.ok(after !== undefined);
        put(real, after);
      },
      id,
    );
  }
  #expect(model: Model, { operation }: PaymentSnapshot, ended: readonly Operation[]): void {
    if (operation.type === 'authorization') {
      applyStateToModel(model, this.result);
      return;
    }
    const entry = model.ended[ended.findIndex(({ id }) => id === operation.id)];
    assert.ok(entry !== undefined);
    if (entry.didSomething && entry.type === 'payment_refund' && this.result.kind === 'refused') {
      model.refunded -= entry.amount;
      entry.didSomething = false;
    } else if (!entry.didSomething) {
      // An inquiry about a void returns the state of the payment.
      const isVoid = entry.type === 'authorization_void';
      const isYes = isVoid ? this.result.kind === 'reversed' && isLive(model.status) : this.result.kind === 'approved';
      if (isYes) entry.didSomething = effect(model, entry, this.result) ?? false;
    }
  }
}

const cents = fc.option(fc.integer({ min: 0, max: TOTAL + 1 }), { nil: undefined });
const finding = fc.oneof(
  fc.constantFrom<InquiryResult>(
    OUTCOMES.approved,
    OUTCOMES.refused,
    OUTCOMES.broken,
    OUTCOMES.pending,
    OUTCOMES.reversed,
    OUTCOMES['not-found'],
    OUTCOMES.unknown,
  ),
  fc
    .integer({ min: 1, max: TOTAL })
    .map((minor): InquiryResult => ({ ...OUTCOMES.captured, captured: captured(BigInt(minor)) })),
);
const commandType = fc.constantFrom<Command['type']>('capture', 'payment_refund', 'authorization_void', 'expiry');
const commands = fc.commands(
  [
    fc.tuple(commandType, cents).map((of) => new Start(...of)),
    fc.constantFrom<Command['type']>('capture', 'payment_refund').map((type) => new Start(type, 10)),
    fc
      .tuple(fc.oneof(finding, fc.constant<Outcome>(OUTCOMES['not sent'])), fc.boolean())
      .map((of) => new Respond(...of)),
    fc.boolean().map((isResponse) => new Respond(OUTCOMES.approved, isResponse)),
    fc
      .constantFrom<InquiryResult | undefined>(undefined, OUTCOMES.captured, { ...OUTCOMES.refused, failure: failed })
      .map((result) => new Complete(result)),
    fc.tuple(fc.nat(9), finding).map((of) => new RespondLate(...of)),
  ],
  { maxCommands: 30 },
);

describe('any sequence of commands and outcomes', () => {
  it('follows the transition table and the sums of the processed amounts', () => {
    const reached = new Map<Status, number>();
    fc.assert(
      fc.property(commands, (sequence) => {
        const payment = buildPayment({ operationInProgress: 'first' });
        const first = newOperation('first', NOW, payment, {
          type: 'authorization',
          amount: payment.amount,
          referenceCode: undefined,
          operationRef: 'first',
          requestedBy: undefined,
        });
        const real: Real = { payment, reconciliation: buildReconciliation(), operations: [first] };
        const busy = { type: 'authorization' as const, amount: TOTAL };
        const model: Model = { status: 'Opened', collected: 0, refunded: 0, busy, ended: [] };
        fc.modelRun(() => ({ model, real }), sequence);
        reached.set(real.payment.status, (reached.get(real.payment.status) ?? 0) + 1);
      }),
      { numRuns: 400 },
    );
    assert.equal(reached.size, 7, `every status is met: ${[...reached.keys()]}`);
  });
});
