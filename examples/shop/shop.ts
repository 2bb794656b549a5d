import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  CardvaultClient,
  type CreatePaymentRequest,
  verifyWebhook,
  WebhookVerificationError,
} from '../../sdk/src/index.ts';
import { MAX_QUANTITY, orderPage, shopPage } from './pages.ts';

/**
 * A shop that takes cards without ever seeing one: the buyer types the card into the form of the vault, the shop pays with the
 * capture, and webhooks tell it what happened. It keeps its orders in memory, as an example may.
 */

/** What a merchant sets. */
export interface ShopOptions {
  /** Origin of the shop, as browsers write it. */
  readonly origin: string;
  /** Address of the vault's API, one environment. */
  readonly vaultUrl: string;
  /** Origin of the card form. */
  readonly formOrigin: string;
  readonly apiKey: string;
  /** Certificate of the vault, when it has one of its own. */
  readonly ca?: string | undefined;
  readonly webhookSecret: string;
}

export interface Order {
  readonly id: string;
  /** What is in the cart, such as `2 × A red chair`. */
  readonly description: string;
  /** In cents. */
  readonly amount: number;
  readonly sessionId: string;
  readonly clientSecret: string;
  status: 'open' | 'paid' | 'declined' | 'in doubt' | 'refunded';
  paymentId?: string;
  card?: string;
  /** The time of the newest event. */
  heardAt?: string;
  /** Types of the events that came for the order. */
  readonly events: string[];
}

/** The members that the shop reads of the event of a payment. */
interface PaymentInfo {
  readonly reference_code?: string;
  readonly payment_id?: string;
  readonly status?: string;
}

/** In cents. */
const ITEMS: Readonly<Record<string, number>> = { 'A red chair': 12_500, 'A blue lamp': 4900 };
const CURRENCY = 'USD';
const SESSION_MINUTES = 30;
const MAX_BODY_BYTES = 64 * 1024;

export class Shop {
  readonly orders = new Map<string, Order>();
  readonly #options: ShopOptions;
  readonly #vault: CardvaultClient;
  /** Ids of events that were handled: one may come more than once. */
  readonly #handled = new Set<string>();

  constructor(options: ShopOptions) {
    this.#options = options;
    const { vaultUrl: baseUrl, apiKey, ca } = options;
    this.#vault = new CardvaultClient({ baseUrl, apiKey, ca });
  }

  listen(port: number): Promise<Server> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        const isUnsigned = error instanceof WebhookVerificationError;
        // What went wrong is for the shop's log, and not for buyers.
        if (response.headersSent) response.destroy();
        else send(response, isUnsigned ? 400 : 500, 'text/plain', isUnsigned ? error.message : 'That did not work.');
      });
    });
    return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
  }

  close(): void {
    this.#vault.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.#options.origin);
    const [, first, id = '', action] = pathname.split('/');
    const order = this.orders.get(id);
    if (request.method === 'GET' && pathname === '/')
      return send(response, 200, 'text/html', shopPage(ITEMS, this.orders), policyOf());
    if (request.method === 'POST' && pathname === '/webhook') return this.#receive(request, response);
    if (request.method === 'POST' && pathname === '/orders') return this.#order(request, response);
    if (first !== 'orders' || order === undefined) return send(response, 404, 'text/plain', 'There is no such page.');
    if (request.method === 'GET' && action === undefined) return this.#show(order, response);
    if (request.method === 'POST' && action === 'pay') return this.#pay(order, response);
    if (request.method === 'POST' && action === 'refund') return this.#refund(order, response);
    return send(response, 404, 'text/plain', 'There is no such page.');
  }

  /**
   * A page that holds the form protects itself (PCI DSS 6.4.3): the two scripts with the nonce of this response run on it, and no
   * other, also when an attacker finds a way to write into the page.
   */
  #show(order: Order, response: ServerResponse): void {
    const { formOrigin } = this.#options;
    const nonce = randomBytes(16).toString('base64url');
    const more = [`script-src 'nonce-${nonce}'`, "connect-src 'self'", `frame-src ${formOrigin}`];
    send(response, 200, 'text/html', orderPage(order, formOrigin, nonce), policyOf(more));
  }

  /** A session for the cart that the buyer sends. The shop computes the amount: a buyer names quantities alone. */
  async #order(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cart = readCart(new URLSearchParams(await readBody(request)));
    if (cart === undefined) return send(response, 400, 'text/plain', 'Choose at least one item.');
    const { amount, description } = cart;
    const id = randomUUID();
    const session = await this.#vault.captureSessions.create(
      {
        allowed_origins: [this.#options.origin],
        amount,
        currency: CURRENCY,
        additional_info: { order: id },
        ttl: SESSION_MINUTES,
        description,
      },
      { idempotencyKey: `session-${id}` },
    );
    this.orders.set(id, {
      ...{
        id,
        description,
        amount,
        sessionId: session.id,
        clientSecret: session.client_secret,
        status: 'open',
        events: [],
      },
    });
    response.writeHead(303, { location: `/orders/${id}` }).end();
  }

  /** The browser's word proves nothing: the shop reads the session, and pays once with its id as the key. */
  async #pay(order: Order, response: ServerResponse): Promise<void> {
    if (await this.#charge(order)) send(response, 200, 'application/json', JSON.stringify({ status: order.status }));
    else send(response, 409, 'text/plain', 'No card yet.');
  }

  /** Returns false while the order has no card. */
  async #charge(order: Order): Promise<boolean> {
    // A repeat gets the first response again, which says nothing of what happened since.
    if (order.status !== 'open') return true;
    const session = await this.#vault.captureSessions.get(order.sessionId);
    const capture = session.result?.capture?.id;
    if (session.status !== 'completed' || capture === undefined) return false;
    const placeholder = `{{${capture}:transaction}}`;
    const payment: CreatePaymentRequest = {
      transaction_info: { type: 'payment', reference_code: order.id },
      card: { number: placeholder, expiration_date: placeholder, security_code: placeholder, holder: placeholder },
      order_info: { amount_details: { total_amount: order.amount / 100, currency: CURRENCY } },
      bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com' },
    } as CreatePaymentRequest;
    const paid = await this.#vault.payments.create(payment, { idempotencyKey: session.id });
    order.paymentId = paid.data.transaction_info.payment_id;
    if (session.card !== undefined) order.card = `${session.card.brand} ${session.card.card}`;
    if (order.status === 'open') this.#note(order, paid.data.transaction_info.status);
    return true;
  }

  /** In a real shop this is for signed-in staff alone, and not on the page of the buyer. */
  async #refund(order: Order, response: ServerResponse): Promise<void> {
    if (order.paymentId === undefined || order.status !== 'paid')
      return send(response, 409, 'text/plain', 'This order is not paid.');
    const refund = { transaction_info: { type: 'payment_refund', reference_code: order.id } } as const;
    const refunded = await this.#vault.payments.refund(order.paymentId, refund, {
      idempotencyKey: `refund-${order.id}`,
    });
    if (refunded.status === 'success') order.status = 'refunded';
    response.writeHead(303, { location: `/orders/${order.id}` }).end();
  }

  /** Verifies first; then an event counts once, and the order goes by the newest, because events come in any order. */
  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const event = verifyWebhook({ headers: request.headers, body }, this.#options.webhookSecret);
    const eventId = String(request.headers['webhook-id']);
    // The page may have closed before it asked to pay. An event that is not acknowledged comes again.
    const completed = [...this.orders.values()].find(({ sessionId }) => sessionId === event.data['id']);
    if (event.type === 'capture_session.completed' && completed !== undefined) await this.#charge(completed);
    response.writeHead(204).end();
    if (this.#handled.has(eventId)) return;
    this.#handled.add(eventId);
    const info = event.data['transaction_info'] as PaymentInfo | undefined;
    const order = this.#find(info);
    if (order === undefined) return;
    order.events.push(event.type);
    if (order.heardAt !== undefined && event.timestamp < order.heardAt) return;
    order.heardAt = event.timestamp;
    if (event.type === 'payment.refunded') order.status = 'refunded';
    else if (event.type === 'payment.in_doubt') order.status = 'in doubt';
    else if (order.status !== 'refunded') this.#note(order, info?.status);
  }

  /**
   * The reference finds the order of an event that comes before the response with the id of the payment. That id finds it where the
   * reference came truncated, because it reads as a card number.
   */
  #find(info: PaymentInfo | undefined): Order | undefined {
    const paymentId = info?.payment_id;
    const isPaidBy = (order: Order): boolean => paymentId !== undefined && order.paymentId === paymentId;
    return this.orders.get(info?.reference_code ?? '') ?? [...this.orders.values()].find(isPaidBy);
  }

  #note(order: Order, status: string | undefined): void {
    if (status === 'Collected') order.status = 'paid';
    else if (status === 'Declined' || status === 'ProcessorError') order.status = 'declined';
    else order.status = 'in doubt';
  }
}

/** The content security policy of a page: nothing is allowed that it does not name. */
const policyOf = (more: readonly string[] = []): Readonly<Record<string, string>> => ({
  'content-security-policy': [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; '),
});

/** Undefined when the cart is empty, or a quantity is none. */
function readCart(sent: URLSearchParams): { readonly amount: number; readonly description: string } | undefined {
  const lines = Object.entries(ITEMS).map(([item, cents]) => ({ item, cents, quantity: Number(sent.get(item) ?? 0) }));
  if (!lines.every(({ quantity }) => Number.isInteger(quantity) && quantity >= 0 && quantity <= MAX_QUANTITY)) return;
  const chosen = lines.filter(({ quantity }) => quantity > 0);
  if (chosen.length === 0) return;
  return {
    amount: chosen.reduce((sum, { cents, quantity }) => sum + cents * quantity, 0),
    description: chosen.map(({ item, quantity }) => `${quantity} × ${item}`).join(', '),
  };
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store', ...headers })
    .end(body);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
