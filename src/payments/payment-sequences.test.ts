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
import { applyEvent, NEVER_CONFIRMED, type PaymentEvent } from './apply-event.ts';
import { type Command, validateCommand } from './commands.ts';
import {
  newOperation,
  type Operation,
  type Payment,
  type PaymentSnapshot,
  type Reconciliation,
  stateOf,
} from './payment.ts';
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
const given = (status: Status): Status => (status === 'Opened' ? 'Cancelled' : 'Voided');

function begins(model: Model, type: Command['type'], cents: number | undefined): number | undefined {
  if (model.busy !== undefined) return undefined;
  if (type === 'authorization_void' || type === 'expiry') return isLive(model.status) ? TOTAL : undefined;
  if (type === 'capture' ? !isAuthorized(model.status) : model.status !== 'Collected') return undefined;
  const most = type === 'capture' ? TOTAL : model.collected - model.refunded;
  if (cents === undefined) return most > 0 ? most : undefined;
  return cents > 0 && cents <= most ? cents : undefined;
}

/** How the payment stands at the processor, taken over where it can be. */
function stands(model: Model, word: Outcome | InquiryResult): boolean {
  const was = model.status;
  if (!isLive(was)) return false;
  if (word.kind === 'refused') model.status = word.failure.status;
  else if (word.kind === 'reversed') model.status = given(was);
  else if (word.kind === 'approved' && word.captured !== undefined) {
    model.status = 'Collected';
    model.collected = Number(word.captured.minor);
  } else if (word.kind === 'approved' && was === 'Opened') model.status = 'Authorized';
  else return false;
  return true;
}

/** The effect of the operation in progress: yes, no, or unknown. */
function effect(
  model: Model,
  { type, amount }: NonNullable<Model['busy']>,
  word: Outcome | InquiryResult,
): boolean | undefined {
  const says = word.kind;
  const isYes = says === 'approved' || says === 'pending';
  const isNo = says === 'refused' || says === 'not-sent';
  if (type === 'capture') {
    if (says === 'reversed' && isAuthorized(model.status)) {
      model.status = 'Voided';
      return false;
    }
    if (says === 'reversed' && model.status === 'Voided') return false;
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
  if (says === 'approved' || says === 'reversed') {
    if (!isLive(model.status) && !isGone(model.status)) return undefined;
    if (isLive(model.status)) model.status = given(model.status);
    return true;
  }
  return isNo && type !== 'expiry' ? false : undefined;
}

function ends(model: Model, word: Outcome | InquiryResult): void {
  const { busy } = model;
  if (busy === undefined) return;
  let did: boolean | undefined;
  if (busy.type !== 'authorization') did = effect(model, busy, word);
  else if (word.kind === 'pending') did = true;
  else if (word.kind === 'not-sent') {
    model.status = 'ProcessorError';
    did = false;
  } else if (stands(model, word)) did = word.kind !== 'refused';
  if (did === undefined) return;
  model.busy = undefined;
  model.ended.push({ ...busy, didSomething: did });
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

/** Carries out one step on both, and compares. */
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
  for (const operation of past)
    assert.equal(
      operations.find(({ id }) => id === operation.id),
      operation,
      about,
    );
}

class Ask implements fc.Command<Model, Real> {
  readonly type: Command['type'];
  readonly cents: number | undefined;
  constructor(type: Command['type'], cents: number | undefined) {
    this.type = type;
    this.cents = type === 'capture' || type === 'payment_refund' ? cents : undefined;
  }
  check = (): boolean => true;
  toString = (): string => `ask ${this.type} ${this.cents ?? ''}`;
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
      const operation = newOperation(id, NOW, real.payment, { type, amount: minor, referenceCode: undefined });
      const before = pairOf(real, real.payment.id);
      const after = before && apply(before, { type: 'started', operation });
      assert.ok(after !== undefined);
      real.operations.push(operation);
      put(real, after);
    });
  }
}

/** Applies the processor's response about the operation in progress. */
class Say implements fc.Command<Model, Real> {
  readonly word: Outcome | InquiryResult;
  readonly event: PaymentEvent;
  constructor(word: Outcome | InquiryResult, isResponse: boolean) {
    this.word = word;
    const isInquiry =
      word.kind === 'reversed' || word.kind === 'not-found' || (!isResponse && word.kind !== 'not-sent');
    this.event = isInquiry ? { type: 'inquired', result: word } : { type: 'responded', outcome: word };
  }
  check = ({ busy }: Readonly<Model>): boolean => busy !== undefined;
  toString = (): string =>
    `say ${JSON.stringify(this.word, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`;
  run(model: Model, real: Real): void {
    ends(model, this.word);
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
class GiveUp implements fc.Command<Model, Real> {
  readonly word: InquiryResult | undefined;
  constructor(word: InquiryResult | undefined) {
    this.word = word;
  }
  check = ({ busy }: Readonly<Model>): boolean => {
    const isEnding = busy?.type === 'authorization_void' || busy?.type === 'expiry';
    // A void may be reversed, too, and is then rechecked; an expiry never is.
    const isVoid = busy?.type === 'authorization_void' && this.word === undefined;
    return busy !== undefined && (isVoid || isEnding === (this.word !== undefined));
  };
  toString = (): string => (this.word === undefined ? 'give up' : `overtake by ${this.word.kind}`);
  run(model: Model, real: Real): void {
    const { busy } = model;
    assert.ok(busy !== undefined);
    if (this.word !== undefined) stands(model, this.word);
    else if (busy.type === 'authorization') model.status = 'ProcessorError';
    model.busy = undefined;
    model.ended.push({ ...busy, didSomething: false });
    step(model, real, this.toString(), () => {
      const pair = pairOf(real, real.payment.operationInProgress);
      assert.ok(pair !== undefined);
      const after =
        this.word === undefined
          ? apply(pair, { type: 'reversed', failure: NEVER_CONFIRMED })
          : apply(pair, { type: 'superseded', state: this.word });
      assert.ok(after !== undefined);
      assert.deepEqual(after.operation.stateAfter, stateOf(after.payment));
      put(real, after);
    });
  }
}

/** A later word about an operation that has ended and is watched. */
class SayLater implements fc.Command<Model, Real> {
  readonly pick: number;
  readonly word: InquiryResult;
  constructor(pick: number, word: InquiryResult) {
    this.pick = pick;
    this.word = word;
  }
  check = (): boolean => true;
  toString = (): string => `say later of ${this.pick}: ${this.word.kind}`;
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
        const after = apply(pair, { type: 'inquired', result: this.word });
        assert.ok(after !== undefined);
        put(real, after);
      },
      id,
    );
  }
  #expect(model: Model, { operation }: PaymentSnapshot, ended: readonly Operation[]): void {
    if (operation.type === 'authorization') {
      stands(model, this.word);
      return;
    }
    const entry = model.ended[ended.findIndex(({ id }) => id === operation.id)];
    assert.ok(entry !== undefined);
    if (entry.didSomething && entry.type === 'payment_refund' && this.word.kind === 'refused') {
      model.refunded -= entry.amount;
      entry.didSomething = false;
    } else if (!entry.didSomething) {
      // An inquiry about a void returns the state of the payment.
      const isVoid = entry.type === 'authorization_void';
      const isYes = isVoid ? this.word.kind === 'reversed' && isLive(model.status) : this.word.kind === 'approved';
      if (isYes) entry.didSomething = effect(model, entry, this.word) ?? false;
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
const asked = fc.constantFrom<Command['type']>('capture', 'payment_refund', 'authorization_void', 'expiry');
const commands = fc.commands(
  [
    fc.tuple(asked, cents).map((of) => new Ask(...of)),
    fc.constantFrom<Command['type']>('capture', 'payment_refund').map((type) => new Ask(type, 10)),
    fc.tuple(fc.oneof(finding, fc.constant<Outcome>(OUTCOMES['not sent'])), fc.boolean()).map((of) => new Say(...of)),
    fc.boolean().map((isResponse) => new Say(OUTCOMES.approved, isResponse)),
    fc
      .constantFrom<InquiryResult | undefined>(undefined, OUTCOMES.captured, { ...OUTCOMES.refused, failure: failed })
      .map((word) => new GiveUp(word)),
    fc.tuple(fc.nat(9), finding).map((of) => new SayLater(...of)),
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
