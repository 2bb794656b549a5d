import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AcquirerLedger, type AcquirerResponse } from '../simulation/acquirer-ledger.ts';
import type { SeededRandom } from '../simulation/seeded-random.ts';

/** The fate of one request: `before` and `after` say whether the ledger has executed it. */
export const TOY_FAULTS = ['drop-before', 'drop-after', 'hang-before', 'hang-after', 'error-after', 'garbage'] as const;
export type ToyFault = (typeof TOY_FAULTS)[number];

interface ToyRequest {
  readonly of?: string;
  readonly minor?: string;
  readonly capture?: boolean;
}

interface ToyOptions {
  readonly seeded: SeededRandom;
  readonly now: () => number;
  readonly onUnanswered?: () => void;
}

const CODES = { approved: 'yes', refused: 'no', pending: 'later', reversed: 'undone', 'not-found': 'none' } as const;

/** The server of the toy, over the books of an acquirer. */
export class FakeToy {
  readonly ledger: AcquirerLedger;
  /** The card numbers that it received. */
  readonly cards: string[] = [];
  readonly #server = createServer((incoming, outgoing) => this.#respond(incoming, outgoing));
  #fault: ToyFault | undefined;

  readonly #onUnanswered: () => void;

  /** `onUnanswered` is called for a request that gets no response. */
  constructor({ seeded, now, onUnanswered = () => undefined }: ToyOptions) {
    this.#onUnanswered = onUnanswered;
    const habits = {
      absences: 1,
      sale: true,
      partialCapture: true,
      undoing: 'capture',
      indexDelay: 0,
      remembersRefusals: true,
    } as const;
    this.ledger = new AcquirerLedger({ habits, seeded, now });
  }

  async start(): Promise<string> {
    // The clients close idle connections: a result must not depend on who is faster.
    this.#server.keepAliveTimeout = 0;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** The fault of the next request; undefined removes one that was not met. */
  inject(fault: ToyFault | undefined): void {
    this.#fault = fault;
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault === 'drop-before') return void incoming.socket.destroy();
    if (fault === 'hang-before') return this.#onUnanswered();
    const [, name = '', key = ''] = (incoming.url ?? '').split('/');
    const result = this.#execute(name, key, JSON.parse(Buffer.concat(chunks).toString('utf8')));
    if (fault === 'drop-after') return void incoming.socket.destroy();
    if (fault === 'hang-after') return this.#onUnanswered();
    outgoing.writeHead(fault === 'error-after' ? 500 : 200);
    const captured =
      result.kind === 'approved' && result.captured !== undefined ? { captured: String(result.captured) } : {};
    outgoing.end(
      fault === 'garbage' ? '<' : JSON.stringify({ word: CODES[result.kind], id: `toy-${key}`, ...captured }),
    );
  }

  #execute(name: string, key: string, request: ToyRequest & { readonly pan?: string }): AcquirerResponse {
    const { of = '', minor = '0', capture = false, pan } = request;
    if (pan !== undefined) this.cards.push(pan);
    switch (name) {
      case 'authorize':
        return this.ledger.authorize(key, BigInt(minor), capture);
      case 'capture':
        return this.ledger.capture(key, of, BigInt(minor));
      case 'refund':
        return this.ledger.refund(key, of, BigInt(minor));
      case 'void':
        return this.ledger.void(key, of);
      case 'inquire':
        return of === '' ? this.ledger.standing(key) : this.ledger.movement(key, of);
      default:
        return of === '' ? this.ledger.giveUpPayment(key) : this.ledger.giveUpMovement(key, of);
    }
  }
}
