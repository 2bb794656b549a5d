import type { Json } from '../../../kernel/json.ts';
import type { Money } from '../../../kernel/money.ts';
import {
  type Capabilities,
  type CardData,
  type Finding,
  type History,
  type Order,
  type Outcome,
  type Processor,
  type ProcessorCall,
  refused,
  type Subject,
  unknown,
} from '../../processor.ts';
import type { Connections } from '../connection.ts';
import { checkOrder, orderBody, refundBody, tokenizeBody } from './bodies.ts';
import {
  type Answered,
  isFinding,
  isOk,
  KOIN_HOSTS,
  KOIN_SETTINGS,
  KoinClient,
  type Place,
  placeIn,
  placeOf,
} from './client.ts';
import { at, textAt } from './fields.ts';
import { abandon, inquire } from './inquiry.ts';
import { captureFinding, paymentFinding, readOrder, readRefund, refundOutcome, voidFinding } from './mapping.ts';

/**
 * KOIN Payments API 1.0. A card is first exchanged for a secure token, then the order is made; until that request leaves,
 * nothing can have been charged. Our key is the order's `reference_id`, by which it is found again.
 */
export class Koin implements Processor {
  readonly capabilities: Capabilities = { sale: false, partialCapture: false, absences: 3 };
  readonly settings = KOIN_SETTINGS;
  readonly productionHosts = Object.values(KOIN_HOSTS.production);
  readonly check = checkOrder;
  readonly #client: KoinClient;

  constructor({ connections }: { readonly connections: Connections }) {
    this.#client = new KoinClient(connections);
  }

  async authorize(call: ProcessorCall, order: Order, card: CardData): Promise<Outcome> {
    const answer = await this.#client.tokenize(call, tokenizeBody(call.key, card));
    if (answer.kind !== 'answered') return answer.kind === 'not-sent' ? answer : { kind: 'not-sent' };
    const token = isOk(answer) ? textAt(answer.body, 'secure_token') : undefined;
    return token ? this.#create(call, order, orderBody(call, order, token)) : withoutToken(answer);
  }

  async capture(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    // KOIN would capture it whole without a word.
    if (amount.minor !== history.operations[0]?.amount.minor) return refused('InvalidData');
    return this.#onOrder(call, history, async (orderId, place) => {
      const answer = await this.#client.capture(call, orderId);
      if (answer.kind !== 'answered') return answer;
      const order = isOk(answer) ? readOrder(answer.body) : undefined;
      if (order !== undefined && isAbout(place, order)) {
        const finding = captureFinding(order, amount);
        if (finding.kind !== 'refused') return finding.kind === 'approved' ? finding : unknown('not-collected');
      } else if (!isRefusal(answer)) return whyNot(answer);
      // An account that KOIN captures for by itself refuses, too, and then the money has moved.
      const subject = { type: 'capture', key: call.key, processorId: undefined, amount } as const;
      const now = await inquire(this.#client, call, history, subject);
      return now.kind === 'absent' || now.kind === 'reversed' ? refused('InvalidData') : now;
    });
  }

  async refund(call: ProcessorCall, history: History, amount: Money): Promise<Outcome> {
    return this.#onOrder(call, history, async (orderId) => {
      const answer = await this.#client.refund(call, orderId, refundBody(call.key, amount));
      if (answer.kind !== 'answered') return answer;
      if (isOk(answer)) return refundOutcome(readRefund(answer.body), amount);
      return answer.status === 400 || answer.status === 404 ? refused('InvalidData') : whyNot(answer);
    });
  }

  async void(call: ProcessorCall, history: History): Promise<Outcome> {
    return this.#onOrder(call, history, async (orderId, place) => {
      const answer = await this.#client.cancel(call, orderId);
      if (answer.kind !== 'answered') return answer;
      const order = isOk(answer) ? readOrder(answer.body) : undefined;
      const finding = order !== undefined && isAbout(place, order) ? voidFinding(order) : undefined;
      if (finding?.kind === 'approved') return finding;
      if (!isRefusal(answer)) return whyNot(answer);
      // Cancelled before is cancelled.
      const now = await this.#client.find(call, place);
      const before = isFinding(now) ? now : voidFinding(now);
      return before.kind === 'approved' ? before : refused('InvalidData');
    });
  }

  inquire(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    return inquire(this.#client, call, history, subject);
  }

  abandon(call: ProcessorCall, history: History, subject: Subject): Promise<Finding> {
    return abandon(this.#client, call, history, subject);
  }

  async #create(call: ProcessorCall, { amount }: Order, body: Json): Promise<Outcome> {
    const answer = await this.#client.create(call, body);
    if (answer.kind !== 'answered') return answer;
    const subject = { type: 'authorization', key: call.key, processorId: undefined, amount } as const;
    if (answer.status === 409) return this.#confirmed(call, subject);
    if (answer.status === 404) return refused('InvalidConfiguration');
    // KOIN does not tell whether failed orders come with 200 or 400, so both may bring one.
    const isOrder = isOk(answer) || answer.status === 400;
    const order = isOrder ? readOrder(answer.body) : undefined;
    if (order === undefined) return answer.status === 400 ? refused('InvalidData') : whyNot(answer);
    if (!isAbout(placeOf(subject), order)) return unknown('contradiction');
    const { standing } = order;
    if (standing.kind === 'failed' && standing.mayHideApproval)
      return this.#confirmed(call, { ...subject, processorId: order.id });
    const finding = paymentFinding(order, amount);
    return isOk(answer) || finding.kind === 'refused' ? asOutcome(finding) : unknown('contradiction');
  }

  /** Only the order's own record can tell. */
  async #confirmed(call: ProcessorCall, subject: Subject): Promise<Outcome> {
    return asOutcome(await inquire(this.#client, call, { referenceCode: undefined, operations: [] }, subject));
  }

  /** Runs with KOIN's id of the order; until then nothing is sent that changes something. */
  async #onOrder(
    call: ProcessorCall,
    history: History,
    run: (orderId: string, place: Place) => Promise<Outcome>,
  ): Promise<Outcome> {
    const place = placeIn(history);
    if (place === undefined) return refused('InvalidData');
    if (place.orderId !== undefined) return run(place.orderId, place);
    const order = await this.#client.find(call, place);
    if (isFinding(order)) return order.kind === 'absent' ? refused('InvalidData') : { kind: 'not-sent' };
    return order.id === undefined ? { kind: 'not-sent' } : run(order.id, place);
  }
}

/** No order was made, and none will be with this token. */
function withoutToken(answer: Answered): Outcome {
  if (answer.status === 400) return refused(blamesNumber(answer) ? 'InvalidCard' : 'InvalidData');
  if (answer.status === 404 || isForbidden(answer)) return refused('InvalidConfiguration');
  // The reference was used before, by an order that we know nothing of.
  return answer.status === 409 ? unknown('http-409') : { kind: 'not-sent' };
}

/** Asks only whether the word is there: the texts themselves may hold the card. */
function blamesNumber({ body }: Answered): boolean {
  const causes = at(body, 'causes');
  return Array.isArray(causes) && causes.some((cause) => typeof cause === 'string' && /number/i.test(cause));
}

const isForbidden = ({ status }: Answered): boolean => status === 401 || status === 403;

/** KOIN would not do it, at least not now. */
const isRefusal = ({ status }: Answered): boolean => [400, 404, 409, 422].includes(status);

const whyNot = (answer: Answered): Outcome =>
  isForbidden(answer)
    ? refused('InvalidConfiguration')
    : unknown(isOk(answer) ? 'unreadable' : `http-${answer.status}`);

/** What an answer leaves out contradicts nothing. */
const isAbout = (
  { orderId, reference }: Place,
  order: { readonly id?: string | undefined; readonly reference?: string | undefined },
): boolean =>
  (order.reference === undefined || order.reference === reference) &&
  (orderId === undefined || order.id === undefined || order.id === orderId);

const asOutcome = (finding: Finding): Outcome =>
  finding.kind === 'absent' || finding.kind === 'reversed' ? unknown(finding.kind) : finding;
