import { invalid } from '../../../kernel/failure.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type Capabilities,
  type CardData,
  type Finding,
  type History,
  type NotSent,
  type Order,
  type Outcome,
  type Particulars,
  type Processor,
  type ProcessorCall,
  type ProcessorSettings,
  payerOf,
  refused,
  type Subject,
  unknown,
} from '../../processor.ts';
import { notSent, type Reply } from '../connection.ts';
import { type Answer, type Asked, authorizedIn, readAnswer } from './answer.ts';
import { amountBody, paymentBody, reversalBody, timeoutVoidBody } from './bodies.ts';
import { type ClientOptions, CYBERSOURCE_HOSTS, CYBERSOURCE_SETTINGS, CyberSourceClient } from './client.ts';
import { Inquiry } from './inquiry.ts';
import { type Call, namesKey, type SoftDecline, type Verdict, verdictOf } from './mapping.ts';

interface Undoing {
  readonly kind: 'reversal' | 'void';
  readonly reply: Reply;
  readonly byKey: boolean;
}

const NOTHING: Particulars = {};
/** What is said of an undoing that was done before. */
const DONE_BEFORE: readonly (string | undefined)[] = ['AUTH_ALREADY_REVERSED', 'CAPTURE_ALREADY_VOIDED'];
/** What is said of what cannot be undone any more. */
const SETTLED: readonly (string | undefined)[] = ['TRANSACTION_ALREADY_SETTLED', 'NOT_VOIDABLE'];
/** What is said where nothing can be reversed (any more), without telling why. */
const NOTHING_HELD: readonly (string | undefined)[] = ['MISSING_AUTH', 'TRANSACTION_ALREADY_REVERSED_OR_SETTLED'];
/** Digits that CyberSource has for it. */
const MAX_INSTALLMENTS = 99;

/**
 * CyberSource's REST payments, `/pts/v2` and `/tss/v2`. Each order that moves money is one request under our own key, by
 * which it can be undone without an answer ever having come.
 */
export class CyberSource implements Processor {
  // How long its search takes to know a transaction is not documented: not found says little.
  readonly capabilities: Capabilities = { sale: true, partialCapture: true, absences: Number.POSITIVE_INFINITY };
  readonly settings = CYBERSOURCE_SETTINGS;
  readonly productionHosts = CYBERSOURCE_HOSTS.production;
  readonly #client: CyberSourceClient;
  readonly #inquiry: Inquiry;

  conflict(settings: ProcessorSettings): string | undefined {
    const isBoth = settings['mle-certificate'] !== undefined && settings['auth'] === 'http-signature';
    return isBoth ? 'mle-certificate: goes with auth=jwt only' : undefined;
  }

  constructor(options: ClientOptions) {
    this.#client = new CyberSourceClient(options);
    this.#inquiry = new Inquiry(this.#client, (call, asked, id) => this.#giveBack(call, asked, id));
  }

  check(order: Order): void {
    const { country } = payerOf(order);
    const party = order.cardholder?.country === undefined ? 'bill_to' : 'cardholder_info';
    if (country !== undefined && !/^[A-Za-z]{2}$/.test(country))
      throw invalid(`${party}.country`, 'expected two letters (ISO 3166-1) for this processor');
    if ((order.installments ?? 1) > MAX_INSTALLMENTS)
      throw invalid('order_info.installments', `expected at most ${MAX_INSTALLMENTS} for this processor`);
  }

  async authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome> {
    const { amount } = order;
    const reply = await this.#client.postEncrypted(call, '/pts/v2/payments', paymentBody(call.key, order, card));
    const [verdict, answer] = judge('payment', reply, { key: call.key, amount }, call);
    if (verdict.kind !== 'undo') return outcomeOf(verdict, answer, order.capture ? amount : undefined);
    const { processorId } = answer?.particulars ?? NOTHING;
    const held = (answer && authorizedIn(answer.body, amount)) ?? amount;
    const isBack = await this.#giveBack(call, { key: call.key, amount: held }, processorId);
    return isBack ? refused(verdict.reason, answer?.particulars ?? NOTHING) : unknown('not-reversed');
  }

  capture(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    const id = history.operations[0]?.processorId;
    return this.#move('capture', call, id === undefined ? undefined : `payments/${id}/captures`, amount);
  }

  async refund(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    return this.#move('refund', call, refundPath(history) ?? (await this.#refundPathFound(call, history)), amount);
  }

  async void(call: ProcessorCall, history: History): Promise<Outcome> {
    const [subject] = history.operations;
    if (subject === undefined) return { kind: 'not-sent' };
    const { kind, reply } = await this.#undo(call, subject, call.key);
    const [verdict, answer] = judge(kind, reply, { key: call.key, amount: subject.amount, undone: subject.key }, call);
    return wasDoneBefore(verdict, answer)
      ? { kind: 'approved', particulars: NOTHING }
      : outcomeOf(verdict, answer, undefined);
  }

  inquire(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    return this.#inquiry.find(call, history, subject);
  }

  async abandon(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    const isVoid = subject.type === 'authorization_void' || subject.type === 'expiry';
    // A reversal cannot be undone, but doing it again makes certain that it is done.
    const target = isVoid ? history.operations[0] : subject;
    if (target === undefined) return { kind: 'absent' };
    const { kind, reply, byKey } = await this.#undo(call, target, subject.key);
    const [verdict, answer] = judge(kind, reply, { key: subject.key, amount: target.amount, undone: target.key }, call);
    if (verdict.kind === 'approved' || wasDoneBefore(verdict, answer))
      // The answer's particulars are those of the undoing.
      return { kind: isVoid || subject.type === 'capture' ? 'reversed' : 'approved', particulars: NOTHING };
    if (byKey && isNothingThere(reply)) return this.#nothingThere(call, history, subject);
    if (verdict.kind === 'refused' && SETTLED.includes(answer?.reason)) return refused(verdict.reason, NOTHING);
    if (verdict.kind === 'refused' && NOTHING_HELD.includes(answer?.reason)) {
      const word = await this.#asBooked(call, history, subject, target);
      // Both say so, the search and the one who would have to reverse it.
      return word.kind === 'absent' && !(byKey && answer?.reason === 'MISSING_AUTH') ? unknown('not-undone') : word;
    }
    return unknown(verdict.kind === 'unknown' ? verdict.why : 'not-undone');
  }

  /** The books tell why there is nothing to reverse: it was declined, or reversed, or captured. */
  async #asBooked(call: ProcessorCall, history: History, { type }: Subject, target: Subject): Promise<Finding> {
    const word = await this.#inquiry.find(call, history, target);
    if (word.kind === 'approved' && (word.captured !== undefined || type === 'capture'))
      return refused('Rejected', NOTHING);
    if (word.kind === 'absent' || (word.kind === 'reversed' && type !== 'authorization' && type !== 'payment'))
      return word;
    const isGone = word.kind === 'reversed' || word.kind === 'refused';
    return isGone ? { kind: 'approved', particulars: NOTHING } : unknown('not-undone');
  }

  /** A capture that was undone before has taken its authorization along, and then nothing of it is found either. */
  async #nothingThere(call: ProcessorCall, history: History, { type }: Subject): Promise<Finding> {
    const [first] = history.operations;
    if (type !== 'capture' || first === undefined) return { kind: 'absent' };
    const payment = await this.#inquiry.find(call, history, first);
    return payment.kind === 'reversed' || payment.kind === 'unknown' ? payment : { kind: 'absent' };
  }

  /** A capture or refund. */
  async #move(
    kind: 'capture' | 'refund',
    call: ProcessorCall,
    path: string | undefined,
    amount: Money,
  ): Promise<Outcome> {
    if (path === undefined) return { kind: 'not-sent' };
    const body = amountBody(call.key, amount);
    // CyberSource names no encrypted form of refunds.
    const reply =
      kind === 'capture'
        ? await this.#client.postEncrypted(call, `/pts/v2/${path}`, body)
        : await this.#client.post(call, `/pts/v2/${path}`, body);
    const [verdict, answer] = judge(kind, reply, { key: call.key, amount }, call);
    return outcomeOf(verdict, answer, undefined);
  }

  /** By its id where it has one and is only authorized, else by our key. `code` is the reference of the undoing itself. */
  async #undo(call: ProcessorCall, target: Subject, code: string): Promise<Undoing> {
    const { type, key, amount, processorId } = target;
    const isVoiding = code !== key;
    if (processorId !== undefined && (type === 'authorization' || (type === 'payment' && isVoiding))) {
      const body = reversalBody(code, amount, 'void');
      const reply = await this.#client.post(call, `/pts/v2/payments/${processorId}/reversals`, body);
      return { kind: 'reversal', reply, byKey: false };
    }
    if (type !== 'authorization') {
      const reply = await this.#client.post(call, '/pts/v2/voids', timeoutVoidBody(code, key));
      // Of a sale that was not captured there is only an authorization.
      const isDone = type !== 'payment' || !isNothingThere(reply);
      if (isDone) return { kind: 'void', reply, byKey: true };
    }
    const reply = await this.#client.post(call, '/pts/v2/reversals', reversalBody(code, amount, 'timeout', key));
    return { kind: 'reversal', reply, byKey: true };
  }

  /** Of an authorization that was captured without us knowing the capture: in the Business Center, or with a lost answer. */
  async #refundPathFound(call: ProcessorCall, history: History): Promise<string | undefined> {
    const id = await this.#inquiry.captureOf(call, history);
    return id === undefined ? undefined : `captures/${id}/refunds`;
  }

  /** Is an authorization certainly given back? */
  async #giveBack(call: ProcessorCall, asked: Asked, id: string | undefined): Promise<boolean> {
    if (id === undefined) return false;
    const body = reversalBody(asked.key, asked.amount, 'declined');
    const reply = await this.#client.post(call, `/pts/v2/payments/${id}/reversals`, body);
    const [verdict, answer] = judge('reversal', reply, asked, call);
    return verdict.kind === 'approved' || wasDoneBefore(verdict, answer);
  }
}

/** Of a sale by the id of the sale, else by that of the capture. */
function refundPath({ operations }: History): string | undefined {
  const capture = operations.find(({ type }) => type === 'capture');
  const [first] = operations;
  const [kind, subject] = capture !== undefined ? ['captures', capture] : ['payments', first];
  if (subject?.processorId === undefined || subject.type === 'authorization') return undefined;
  return `${kind}/${subject.processorId}/refunds`;
}

function judge(
  kind: Call,
  reply: Reply,
  asked: Asked,
  call: ProcessorCall,
): readonly [Verdict | NotSent, Answer | undefined] {
  if (reply.kind === 'not-sent') return [notSent(reply), undefined];
  if (reply.kind === 'unknown') return [unknown(reply.why), undefined];
  const answer = readAnswer(reply.body);
  const softDecline: SoftDecline = call.settings['soft-decline'] === 'accept' ? 'accept' : 'reverse';
  return [verdictOf(kind, reply.status, answer, asked, softDecline), answer];
}

function outcomeOf(verdict: Verdict | NotSent, answer: Answer | undefined, captured: Money | undefined): Outcome {
  const particulars = answer?.particulars ?? NOTHING;
  switch (verdict.kind) {
    case 'approved':
      return captured === undefined ? { kind: 'approved', particulars } : { kind: 'approved', captured, particulars };
    case 'held':
      return { kind: 'approved', particulars };
    case 'pending':
      return { kind: 'pending', particulars };
    case 'refused':
    case 'undo':
      return refused(verdict.reason, particulars);
    default:
      return verdict;
  }
}

const wasDoneBefore = ({ kind }: { readonly kind: string }, answer: Answer | undefined): boolean =>
  kind === 'refused' && DONE_BEFORE.includes(answer?.reason);

/** So CyberSource answers for a key under which it has nothing; a fault of another field would be ours. */
function isNothingThere(reply: Reply): boolean {
  if (reply.kind !== 'answered' || reply.status !== 400) return false;
  const answer = readAnswer(reply.body);
  return answer?.reason === 'INVALID_DATA' && (answer.fields.length === 0 || namesKey(answer));
}
