import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { FakeKoinApi, type ForcedStatus, type KoinRequestKind } from './fake-koin-api.ts';
import { type KoinLedger, type OrderStatus, refundedAmount } from './koin-ledger.ts';
import { type Alteration, altered, errorBody, orderBody, post, type ResponseFormat, send } from './koin-responses.ts';

/** Faults `before` and `after` the operation is executed. */
export type KoinFault =
  | 'drop-before'
  | 'drop-after'
  | 'hang-before'
  | 'hang-after'
  | 'error-before'
  | 'error-after'
  | 'garbage'
  /** Milliseconds until the request is processed. */
  | { readonly delay: number }
  /** Milliseconds by the clock of the fake until the request arrives. It gets no response. */
  | { readonly late: number }
  /** Answered immediately with this response, and not executed. */
  | { readonly status: number; readonly body?: string }
  | ForcedStatus
  /** The response differs from the records. */
  | Alteration;

export interface InjectedFault {
  readonly on: KoinRequestKind;
  readonly do: KoinFault;
  /** Absent: once. */
  readonly times?: number;
}

interface Options {
  readonly privateKey?: string;
  readonly account?: string;
  readonly now?: () => number;
  /** Results of orders as in KOIN's sandbox, by their amounts. */
  readonly byAmount?: boolean;
  /** The format of amounts in responses. */
  readonly spell?: (decimal: string) => string;
  /** Delivers a notification and returns the HTTP status. */
  readonly deliver?: (url: string, body: string) => Promise<number>;
  /** Called for a request that gets no response. */
  readonly onUnanswered?: () => void;
}

const ROUTES: readonly (readonly [KoinRequestKind, string, RegExp])[] = [
  ['tokenize', 'POST', /^\/v1\/payment\/tokenize$/],
  ['create', 'POST', /^\/v1\/payment\/orders$/],
  ['find', 'GET', /^\/v1\/payment\/orders\?reference_id=([^&]+)$/],
  ['get', 'GET', /^\/v1\/payment\/orders\/([^/?]+)$/],
  ['capture', 'POST', /^\/v1\/payment\/orders\/([^/?]+)\/capture$/],
  ['cancel', 'PUT', /^\/v1\/payment\/orders\/([^/?]+)\/cancel$/],
  ['refund', 'PUT', /^\/v1\/payment\/orders\/([^/?]+)\/refund$/],
  ['get-refund', 'GET', /^\/v1\/payment\/orders\/([^/?]+)\/refunds\/([^/?]+)$/],
];

/**
 * A strict fake of KOIN over real HTTP: requests that its contract does not allow are rejected and recorded in
 * `violations`. Its error messages repeat the request with the card number, as a careless service does.
 */
export class FakeKoin {
  readonly requests: KoinRequestKind[] = [];
  /** The ids and references in the paths of these requests. */
  readonly #named: (readonly string[])[] = [];
  readonly #options: Options;
  readonly #scribe: ResponseFormat;
  readonly #desk: FakeKoinApi;
  readonly #late: { readonly at: number; readonly execute: () => unknown }[] = [];
  readonly #faults: { on: KoinRequestKind; do: KoinFault; left: number }[] = [];
  #server: Server | undefined;
  #waiters: (() => void)[] = [];

  constructor(options: Options = {}) {
    this.#options = options;
    this.#scribe = { now: options.now ?? Date.now, spell: options.spell ?? ((decimal) => decimal) };
    const { privateKey = 'sk_test', account = 'ACC', byAmount = false } = options;
    this.#desk = new FakeKoinApi({ privateKey, account, byAmount }, this.#scribe);
  }

  /** The records, with the requests that have arrived late by now. */
  get ledger(): KoinLedger {
    this.#executeLate();
    return this.#desk.ledger;
  }

  get violations(): string[] {
    return this.#desk.violations;
  }

  async start(): Promise<{ url: string }> {
    const server = createServer((request, response) => {
      // Clients may close their connections at any time.
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    // The clients close idle connections: a result must not depend on who is faster.
    server.keepAliveTimeout = 0;
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  async stop(): Promise<void> {
    const server = this.#server;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  }

  inject({ on, do: fault, times = 1 }: InjectedFault): void {
    this.#faults.push({ on, do: fault, left: times });
  }

  /** Returns a signal that fires when the next request waits in vain: after a hang started, or a delay. */
  nextWait(): AbortSignal {
    const controller = new AbortController();
    this.#waiters.push(() => controller.abort());
    return controller.signal;
  }

  forgetFaults(): void {
    this.#faults.length = 0;
  }

  /** Changes an order without a notification. */
  setStatus(reference: string, status: OrderStatus, reason?: string): void {
    const order = this.ledger.orders.get(reference);
    if (order === undefined) throw new Error('no such order');
    Object.assign(order, { status, reason });
  }

  /**
   * Notifies the addresses of the order of its state, each the given number of times; returns the HTTP statuses of
   * their responses.
   */
  async notify(reference: string, { times = 1, late = 0 } = {}): Promise<number[]> {
    const order = this.ledger.orders.get(reference);
    if (order === undefined) throw new Error('no such order');
    await wait(late);
    const isRefunded = order.status === 'Collected' && refundedAmount(order) > 0n;
    const orderText = orderBody(order, this.#scribe, true);
    const body = JSON.stringify(isRefunded ? altered(orderText, { reportedStatus: 'Refunded' }) : orderText);
    const statuses: number[] = [];
    for (let time = 0; time < times; time++) {
      for (const url of order.notificationUrls) statuses.push(await (this.#options.deliver ?? post)(url, body));
    }
    return statuses;
  }

  /** Returns the number of requests about the order of this reference so far, without that which created it. */
  requestsAbout(reference: string): number {
    const id = this.ledger.orders.get(reference)?.id;
    return this.#named.filter((named) => named.some((name) => name === reference || name === id)).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const found = ROUTES.flatMap(([kind, method, pattern]) => {
      const match = method === request.method ? pattern.exec(request.url ?? '') : null;
      return match === null ? [] : [{ kind, ids: match.slice(1).map(decodeURIComponent) }];
    })[0];
    if (found === undefined) {
      this.violations.push(`path ${request.method} ${request.url}`);
      return send(response, 404, '<html>no such page</html>');
    }
    this.#executeLate();
    this.requests.push(found.kind);
    this.#named.push(found.ids);
    const fault = this.#deedOf(found.kind);
    if (typeof fault === 'object' && 'delay' in fault) {
      this.#waits();
      await wait(fault.delay);
    }
    if (fault === 'drop-before') return void request.socket.destroy();
    if (fault === 'hang-before') return this.#hangs();
    if (fault === 'error-before') return send(response, 500, errorBody(text));
    if (typeof fault === 'object' && 'status' in fault)
      return send(response, fault.status, fault.body ?? errorBody(text));
    const becoming = typeof fault === 'object' && 'becomes' in fault ? fault : undefined;
    const { headers } = request;
    const execute = () => this.#desk.respond({ headers, ...found, text, becoming });
    if (typeof fault === 'object' && 'late' in fault) {
      this.#late.push({ at: this.#scribe.now() + fault.late, execute });
      return this.#hangs();
    }
    const { status, body, isSilent } = execute();
    if (fault === 'drop-after') return void request.socket.destroy();
    if (fault === 'hang-after' || isSilent) return this.#hangs();
    if (fault === 'error-after') return send(response, 500, errorBody(text));
    send(response, status, fault === 'garbage' ? '{"order_id": "0badc' : JSON.stringify(altered(body, fault)));
  }

  #executeLate(): void {
    const now = this.#scribe.now();
    for (;;) {
      const at = Math.min(...this.#late.map((each) => each.at));
      const next = at <= now ? this.#late.find((each) => each.at === at) : undefined;
      if (next === undefined) return;
      this.#late.splice(this.#late.indexOf(next), 1);
      next.execute();
    }
  }

  #hangs(): void {
    this.#options.onUnanswered?.();
    this.#waits();
  }

  #waits(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #deedOf(kind: KoinRequestKind): KoinFault | undefined {
    const fault = this.#faults.find(({ on, left }) => on === kind && left > 0);
    if (fault !== undefined) fault.left--;
    return fault?.do;
  }
}
