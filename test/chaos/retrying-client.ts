import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import {
  type Attempt,
  type ChaosResponse,
  type Interruption,
  type Ledger,
  nameOf,
  type PlannedRequest,
  type Request,
} from './ledger.ts';
import { type Node, TIMEOUT_MS } from './node.ts';
import { infoOf, isFinal } from './payment-requests.ts';

/** A client asks again after so long. */
const AGAIN_MS = { least: 150, most: 600 };
/** Characters of a wrong response that are reported. Such responses contain no card numbers. */
const SHOWN_CHARACTERS = 300;

/** Carries requests to the nodes, again and again where that is right, and judges every answer. */
export class RetryingClient {
  /** Since when no answer may be lost or put off. Milliseconds of the right clock. */
  calmSince = Number.POSITIVE_INFINITY;
  readonly #nodes: readonly Node[];
  readonly #ledger: Ledger;
  readonly #key: string;
  readonly #seeded: SeededRandom;

  constructor(nodes: readonly Node[], ledger: Ledger, key: string, seeded: SeededRandom) {
    this.#nodes = nodes;
    this.#ledger = ledger;
    this.#key = key;
    this.#seeded = seeded;
  }

  /** Until it is answered, refused, or must not be repeated; or until then (milliseconds of the right clock). */
  async send(request: Request, first: Node, until = Number.POSITIVE_INFINITY): Promise<void> {
    for (let node = first; ; ) {
      const { end } = await this.attempt(request, node);
      if (!request.isUnknown || request.planned.isKeyed !== true || Date.now() > until) return;
      // A client without a usable response tries another node.
      if (typeof end !== 'object' || this.#seeded.percent(50)) node = this.other(node);
      await wait(this.#seeded.between(AGAIN_MS.least, AGAIN_MS.most));
    }
  }

  async attempt(request: Request, node: Node, timeoutMs?: number): Promise<Attempt> {
    const id = `chaos-${request.number}-${request.attempts.length + 1}`;
    const idempotencyKey = request.planned.isKeyed === true ? `key-${request.number}` : undefined;
    const attempt = await node.attempt(request.planned, { key: this.#key, id, idempotencyKey }, timeoutMs);
    const fault = this.#faultOf(request, attempt, node);
    if (fault !== undefined) this.#ledger.found(`${nameOf(request)}, node ${node.number}: ${fault}`, attempt);
    request.note(attempt);
    return attempt;
  }

  other(node: Node): Node {
    return this.#nodes[node.number % this.#nodes.length] as Node;
  }

  #faultOf(request: Request, attempt: Attempt, node: Node): string | undefined {
    const { end } = attempt;
    if (typeof end !== 'object') return this.#faultOfCut(end, attempt, node);
    const { planned, response } = request;
    if (end.status === 200) {
      return response === undefined ? planned.fault(end, request.number) : differenceOf(planned, response, end);
    }
    const ending = `${end.status} ${end.text.slice(0, SHOWN_CHARACTERS)}`;
    if (response !== undefined && planned.isKeyed === true && end.status === 400) return `answered 200, then ${ending}`;
    if (end.status === 400) return planned.refusal?.(end, attempt) === true ? undefined : ending;
    if (end.status !== 409 && end.status !== 503) return ending;
    if (!/^[0-9]+$/.test(end.retryAfter ?? '')) return `${ending} without retry-after`;
    if (end.status === 503 && attempt.sentAt >= this.calmSince) return `${ending} while all is well`;
    const isContended = planned.isKeyed === true || planned.reference !== undefined;
    return end.status === 409 && !isContended ? ending : undefined;
  }

  #faultOfCut(cut: Interruption, { sentAt, endedAt }: Attempt, node: Node): string | undefined {
    // A probe has less patience than clients.
    const isLong = endedAt - sentAt >= TIMEOUT_MS;
    if (cut === 'silence') return isLong && sentAt >= this.calmSince ? 'no answer while all is well' : undefined;
    if (cut === 'reset' && node.wasThreadEnded(sentAt, endedAt)) return undefined;
    return node.wasDown(sentAt, endedAt) ? undefined : `connection ${cut} by a node that lives`;
  }
}

/** A repeat with the same Idempotency-Key gets the same answer, but for payments that were not at their end. */
export function differenceOf(planned: PlannedRequest, first: ChaosResponse, again: ChaosResponse): string | undefined {
  if (planned.isKeyed !== true) return undefined;
  if (!again.replayed) return 'carried out again';
  if (first.text === again.text) return undefined;
  if (planned.reference === undefined || isFinal(first)) return 'answered otherwise than the first time';
  const [{ transaction_id: one }, { transaction_id: other }] = [infoOf(first), infoOf(again)];
  return one === other ? undefined : `transaction ${one}, then ${other}`;
}
