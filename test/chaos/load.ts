import { setTimeout as wait } from 'node:timers/promises';
import type { Dice } from '../simulation/dice.ts';
import type { ExpectedRecords } from './expected-records.ts';
import { type ExpectedCapture, TOLERANCE_MS } from './expected-records.ts';
import type { Ledger, PlannedRequest } from './ledger.ts';
import type { Node } from './node.ts';
import type { Notifier } from './notifier.ts';
import { PaymentRequests } from './payment-requests.ts';
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
/** Between two requests of one client, milliseconds. */
const THINKING = { least: 10, most: 120 };
/** How long before and after its expiry a capture is read, in milliseconds. */
const BEFORE_END_MS = 3000;
const SPREAD_MS = 500;
/** Then a client continues with another request. */
const ASKS_FOR_MS = 30_000;

export interface LoadParts {
  readonly nodes: readonly Node[];
  readonly ledger: Ledger;
  readonly stock: ExpectedRecords;
  readonly courier: Notifier;
  readonly dice: Dice;
}

/** Clients of all nodes, who want something all the time. */
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
    this.#regulars = Array.from({ length: REGULARS }, () => parts.stock.newCard());
    this.#payingCards = Array.from({ length: PAYING_CARDS }, () => parts.stock.newCard());
  }

  start(): void {
    const { nodes, dice } = this.#parts;
    const homes = Array.from({ length: this.#clients }, (_, index) => nodes[index % nodes.length] as Node);
    this.#working = Promise.all(homes.map((home, index) => this.#work(index + 1, home, dice.branch())));
  }

  /** Resolves when the last client has its answer, or its request must not be repeated. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  /** Resolves when every capture that expires soon has been read after its expiry. */
  async captureEnds(): Promise<void> {
    await Promise.all(this.#watches);
  }

  async #work(number: number, home: Node, dice: Dice): Promise<void> {
    const { stock } = this.#parts;
    const vault = new VaultRequests(dice, stock, this.#regulars);
    const payments = new PaymentRequests(dice, stock, number, this.#payingCards);
    while (!this.#isOver) {
      if (dice.percent(SHARE.payments)) await this.#pay(payments, home, dice);
      else if (dice.percent(SHARE.duels)) await this.#duel(vault, dice);
      else await this.#ask(vault.next(this.#shortCaptures), home, dice);
      await wait(dice.between(THINKING.least, THINKING.most));
    }
  }

  async #ask(wish: PlannedRequest | undefined, home: Node, dice: Dice): Promise<void> {
    if (wish === undefined) return;
    const { ledger, courier, stock } = this.#parts;
    const request = ledger.enter(wish);
    await courier.carryOut(request, home, Date.now() + ASKS_FOR_MS);
    if (request.answer === undefined) return;
    const kept = storedRecord(request);
    if (kept !== undefined) this.#keep(kept, stock, dice.branch());
    if (wish.isKeyed === true && dice.percent(REPEATED)) await courier.attempt(request, courier.other(home));
  }

  async #pay(payments: PaymentRequests, home: Node, dice: Dice): Promise<void> {
    const { ledger, courier } = this.#parts;
    const request = ledger.enter(payments.next());
    await courier.carryOut(request, home, Date.now() + ASKS_FOR_MS);
    payments.heard(request);
    if (request.answer !== undefined && request.wish.isKeyed === true && dice.percent(REPEATED))
      await courier.attempt(request, courier.other(home));
  }

  /** Every node is asked at once for the token of a card that none has seen. */
  async #duel(vault: VaultRequests, dice: Dice): Promise<void> {
    const { nodes, ledger, courier, stock } = this.#parts;
    const fresh = stock.newCard();
    await Promise.all(
      [...nodes, dice.pick(nodes)].map((node) =>
        courier.carryOut(ledger.enter(vault.persistent(fresh)), node, Date.now() + ASKS_FOR_MS),
      ),
    );
  }

  #keep(kept: ExpectedCapture, stock: ExpectedRecords, dice: Dice): void {
    if (kept.endsBefore - Date.now() > 2 * 60_000) stock.captures.push(kept);
    else {
      const watch = this.#watch(kept, dice).finally(() => this.#watches.delete(watch));
      this.#watches.add(watch);
    }
  }

  /** Retrieves a capture a little before it ends, and from all nodes at once as soon as it must have ended. */
  async #watch(kept: ExpectedCapture, dice: Dice): Promise<void> {
    const { nodes, ledger, courier, stock } = this.#parts;
    const wishes = new VaultRequests(dice, stock, this.#regulars);
    const until = async (time: number): Promise<void> => wait(Math.max(0, time - Date.now()));
    await until(kept.endsAfter - BEFORE_END_MS);
    await courier.attempt(ledger.enter(wishes.retrieve(kept)), dice.pick(nodes));
    await until(kept.endsBefore + dice.below(SPREAD_MS));
    for (const node of nodes) {
      const { id } = kept;
      const fault = () => `${id} was given out ${Date.now() - kept.endsBefore + TOLERANCE_MS} ms after its end`;
      const wish: PlannedRequest = { ...wishes.retrieve(kept), fault };
      await courier.attempt(ledger.enter(wish), node);
    }
  }
}
