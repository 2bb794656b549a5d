import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { ExpectedRecords } from './expected-records.ts';
import { type ExpectedCapture, TOLERANCE_MS } from './expected-records.ts';
import type { Ledger, PlannedRequest } from './ledger.ts';
import type { Node } from './node.ts';
import { PaymentRequests } from './payment-requests.ts';
import type { RetryingClient } from './retrying-client.ts';
import { storedRecord, VaultRequests } from './vault-requests.ts';

const REGULARS = 60;
const PAYING_CARDS = 8;
/** Percentage of the requests with a response that are sent again to another node. */
const REPEATED = 8;
/**
 * Percentages of a client's requests that are payments, that send a new card through all nodes concurrently, and of
 * captures that expire soon.
 */
const SHARE = { payments: 25, duels: 4, shortCaptures: 30 };
/** Pause between two requests of one client, in milliseconds. */
const THINKING = { least: 10, most: 120 };
/** How long before and after its expiry a capture is read, in milliseconds. */
const BEFORE_END_MS = 3000;
const SPREAD_MS = 500;
/** Time after which a client continues with another request. */
const ASKS_FOR_MS = 30_000;

export interface LoadParts {
  readonly nodes: readonly Node[];
  readonly ledger: Ledger;
  readonly expectedRecords: ExpectedRecords;
  readonly retryingClient: RetryingClient;
  readonly seeded: SeededRandom;
}

/** Clients of all nodes, which send requests without pause. */
export class Load {
  readonly #parts: LoadParts;
  readonly #clients: number;
  readonly #shortCaptures: number;
  readonly #regulars: readonly string[];
  readonly #payingCards: readonly string[];
  readonly #watches = new Set<Promise<void>>();
  #isOver = false;
  #working: Promise<unknown> = Promise.resolve();

  constructor(parts: LoadParts, { clients, captureEnds }: { clients: number; captureEnds: boolean }) {
    this.#parts = parts;
    this.#clients = clients;
    this.#shortCaptures = captureEnds ? SHARE.shortCaptures : 0;
    this.#regulars = Array.from({ length: REGULARS }, () => parts.expectedRecords.newCard());
    this.#payingCards = Array.from({ length: PAYING_CARDS }, () => parts.expectedRecords.newCard());
  }

  start(): void {
    const { nodes, seeded } = this.#parts;
    const homes = Array.from({ length: this.#clients }, (_, index) => nodes[index % nodes.length] as Node);
    this.#working = Promise.all(homes.map((home, index) => this.#work(index + 1, home, seeded.branch())));
  }

  /** Resolves when the last client has its response, or its request must not be repeated. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  /** Resolves when every capture that expires soon has been read after its expiry. */
  async captureEnds(): Promise<void> {
    await Promise.all(this.#watches);
  }

  async #work(number: number, home: Node, seeded: SeededRandom): Promise<void> {
    const { expectedRecords } = this.#parts;
    const vault = new VaultRequests(seeded, expectedRecords, this.#regulars);
    const payments = new PaymentRequests(seeded, expectedRecords, number, this.#payingCards);
    while (!this.#isOver) {
      if (seeded.percent(SHARE.payments)) await this.#pay(payments, home, seeded);
      else if (seeded.percent(SHARE.duels)) await this.#duel(vault, seeded);
      else await this.#ask(vault.next(this.#shortCaptures), home, seeded);
      await wait(seeded.between(THINKING.least, THINKING.most));
    }
  }

  async #ask(planned: PlannedRequest | undefined, home: Node, seeded: SeededRandom): Promise<void> {
    if (planned === undefined) return;
    const { ledger, retryingClient, expectedRecords } = this.#parts;
    const request = ledger.enter(planned);
    await retryingClient.send(request, home, Date.now() + ASKS_FOR_MS);
    if (request.response === undefined) return;
    const capture = storedRecord(request);
    if (capture !== undefined) {
      const isLate = expectedRecords.isClockAhead(request.sentAt, request.answeredAt);
      this.#keep(capture, isLate, seeded.branch());
    }
    if (planned.isKeyed === true && seeded.percent(REPEATED))
      await retryingClient.attempt(request, retryingClient.other(home));
  }

  async #pay(payments: PaymentRequests, home: Node, seeded: SeededRandom): Promise<void> {
    const { ledger, retryingClient } = this.#parts;
    const request = ledger.enter(payments.next());
    await retryingClient.send(request, home, Date.now() + ASKS_FOR_MS);
    payments.onResponse(request);
    if (request.response !== undefined && request.planned.isKeyed === true && seeded.percent(REPEATED))
      await retryingClient.attempt(request, retryingClient.other(home));
  }

  /** Requests the token of a new card from every node concurrently. */
  async #duel(vault: VaultRequests, seeded: SeededRandom): Promise<void> {
    const { nodes, ledger, retryingClient, expectedRecords } = this.#parts;
    const fresh = expectedRecords.newCard();
    await Promise.all(
      [...nodes, seeded.pick(nodes)].map((node) =>
        retryingClient.send(ledger.enter(vault.persistent(fresh)), node, Date.now() + ASKS_FOR_MS),
      ),
    );
  }

  /** A capture that was created while the clock was ahead expires late: its expiry is not watched. */
  #keep(capture: ExpectedCapture, isLate: boolean, seeded: SeededRandom): void {
    const { expectedRecords } = this.#parts;
    if (capture.endsBefore - Date.now() > 2 * 60_000) expectedRecords.captures.push(capture);
    else if (!isLate) {
      const watch = this.#watch(capture, seeded).finally(() => this.#watches.delete(watch));
      this.#watches.add(watch);
    }
  }

  /** Retrieves a capture shortly before it expires, and from all nodes concurrently after its expiry. */
  async #watch(capture: ExpectedCapture, seeded: SeededRandom): Promise<void> {
    const { nodes, ledger, retryingClient, expectedRecords } = this.#parts;
    const plannedRequests = new VaultRequests(seeded, expectedRecords, this.#regulars);
    const until = async (time: number): Promise<void> => wait(Math.max(0, time - Date.now()));
    await until(capture.endsAfter - BEFORE_END_MS);
    await retryingClient.attempt(ledger.enter(plannedRequests.retrieve(capture)), seeded.pick(nodes));
    await until(capture.endsBefore + seeded.below(SPREAD_MS));
    for (const node of nodes) {
      const { id } = capture;
      const fault = () => `${id} was given out ${Date.now() - capture.endsBefore + TOLERANCE_MS} ms after its end`;
      const planned: PlannedRequest = { ...plannedRequests.retrieve(capture), fault };
      await retryingClient.attempt(ledger.enter(planned), node);
    }
  }
}
