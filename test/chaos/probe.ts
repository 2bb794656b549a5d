import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { ExpectedRecords } from './expected-records.ts';
import type { Ledger } from './ledger.ts';
import type { Node } from './node.ts';
import type { RetryingClient } from './retrying-client.ts';
import { VaultRequests } from './vault-requests.ts';

const EVERY_MS = 50;
/** So that one write that hangs does not hide a later one that would not. */
const TIMEOUT_MS = 2000;

interface Success {
  readonly sentAt: number;
  readonly endedAt: number;
}

/** How long a node was without a write around a fault; milliseconds, undefined when it never wrote again. */
export interface Recovery {
  /** From the beginning of the fault to the end of the first write that was sent after it. */
  readonly sinceBegan: number | undefined;
  /** The same for the end of the fault. */
  readonly sinceEnded: number | undefined;
  /** The longest time between two writes. */
  readonly longest: number;
}

/** Writes one card after another through one node, to see when it can. */
export class Probe {
  readonly node: Node;
  readonly #successes: Success[] = [];
  readonly #plannedRequests: VaultRequests;
  readonly #ledger: Ledger;
  readonly #retryingClient: RetryingClient;
  #isOver = false;
  #working: Promise<void> = Promise.resolve();

  constructor(
    node: Node,
    parts: { ledger: Ledger; retryingClient: RetryingClient; expectedRecords: ExpectedRecords; seeded: SeededRandom },
  ) {
    this.node = node;
    this.#ledger = parts.ledger;
    this.#retryingClient = parts.retryingClient;
    this.#plannedRequests = new VaultRequests(parts.seeded, parts.expectedRecords, []);
  }

  start(): void {
    this.#working = this.#work();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  /** The end of the first write that was sent after this time. */
  firstAfter(time: number): number | undefined {
    return this.#successes.find(({ sentAt }) => sentAt >= time)?.endedAt;
  }

  recovery(began: number, ended: number): Recovery {
    const sinceBegan = this.firstAfter(began);
    const sinceEnded = this.firstAfter(ended);
    const ends = this.#successes.map(({ endedAt }) => endedAt).filter((at) => at >= began && at <= (sinceEnded ?? at));
    const points = [began, ...ends];
    return {
      sinceBegan: sinceBegan && sinceBegan - began,
      sinceEnded: sinceEnded && sinceEnded - ended,
      longest: Math.max(0, ...points.slice(1).map((point, index) => point - (points[index] as number))),
    };
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const request = this.#ledger.enter(this.#plannedRequests.tokenize(false, 1));
      const { sentAt, endedAt } = await this.#retryingClient.attempt(request, this.node, TIMEOUT_MS);
      if (request.response !== undefined) this.#successes.push({ sentAt, endedAt });
      await wait(EVERY_MS);
    }
  }
}
