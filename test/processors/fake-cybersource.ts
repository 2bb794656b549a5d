import type { KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { compactDecrypt } from 'jose';
import { CyberSourceLedger, type ForcedOutcome, RejectedRequest, type Transaction } from './cybersource-ledger.ts';
import { REQUEST_SCHEMAS, type Sent, schemaErrors, sentIn } from './cybersource-request-schemas.ts';
import {
  badRequest,
  detailsOf,
  type FakeResponse,
  followOnResponse,
  paymentResponse,
  serverError,
} from './cybersource-responses.ts';
import { corrupted, cutOff, type Fault, type RequestKind, send } from './fault-injection.ts';
import { type Keys, signatureErrors } from './signature-check.ts';

interface Options extends Keys {
  /** Milliseconds until searches and details find a transaction. */
  readonly indexDelayMs?: number;
  /** True when details name the other transactions of a payment. */
  readonly related?: boolean;
  /** When present, authorizations, sales and captures must be encrypted for this key, under this name. */
  readonly encryption?: { readonly key: KeyObject; readonly kid: string };
  readonly clock?: () => number;
  /** Called for a request that gets no response. */
  readonly onUnanswered?: () => void;
}

interface Ask {
  readonly kind: RequestKind;
  readonly id: string;
  readonly of: string;
  readonly body: Record<string, never>;
}

const ROUTES: readonly (readonly [method: string, path: RegExp, kind: RequestKind])[] = [
  ['POST', /^\/pts\/v2\/payments$/, 'payment'],
  ['POST', /^\/pts\/v2\/(payments)\/([0-9]{22})\/captures$/, 'capture'],
  ['POST', /^\/pts\/v2\/(payments)\/([0-9]{22})\/reversals$/, 'reversal'],
  ['POST', /^\/pts\/v2\/(payments|captures)\/([0-9]{22})\/refunds$/, 'refund'],
  ['POST', /^\/pts\/v2\/reversals$/, 'timeout-reversal'],
  ['POST', /^\/pts\/v2\/voids$/, 'timeout-void'],
  ['POST', /^\/tss\/v2\/searches$/, 'search'],
  ['GET', /^\/tss\/v2\/(transactions)\/([0-9]{22})$/, 'details'],
];

/**
 * A strict fake of CyberSource's REST interface, built from its description: requests that it would not accept, or that
 * must never occur, are rejected and recorded in `violations`.
 */
export class FakeCyberSource {
  readonly violations: string[] = [];
  /** The types of all requests, in their order. */
  readonly requests: RequestKind[] = [];
  readonly bodies: unknown[] = [];
  readonly ledger: CyberSourceLedger;
  readonly #options: Options;
  readonly #clock: () => number;
  readonly #server: Server;
  readonly #tokens = new Set<string>();
  readonly #keys = new Set<string>();
  readonly #last = new Map<RequestKind, FakeResponse>();
  readonly #scripted = new Map<RequestKind, FakeResponse>();
  #faults: Fault[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.ledger = new CyberSourceLedger(() => this.#clock() + (options.indexDelayMs ?? 0));
    this.#server = createServer((incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch((error: unknown) => {
        this.violations.push(`the stand-in failed: ${error}`);
        outgoing.destroy();
      });
    });
    // The clients close idle connections: a result must not depend on who is faster.
    this.#server.keepAliveTimeout = 0;
  }

  async start(): Promise<{ url: string }> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The next requests of the type meet the fault, once unless `times` says otherwise. */
  inject(fault: Fault): void {
    for (let time = 0; time < (fault.times ?? 1); time++) this.#faults.push(fault);
  }

  /** The next request of the type gets this response, and nothing is executed. */
  respondOnce(kind: RequestKind, response: FakeResponse): void {
    this.#scripted.set(kind, response);
  }

  /** Removes the faults that no request has met yet. */
  heal(): void {
    this.#faults = [];
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method = '', url = '', headers } = incoming;
    const faults = signatureErrors({ method, path: url, headers, body }, this.#options, this.#tokens, this.#clock());
    if (faults.length > 0) return this.#refuse(outgoing, 401, `${method} ${url}: ${faults.join(', ')}`);
    const request = this.#route(method, url, await this.#opened(method, url, body));
    if (request === undefined) return this.#refuse(outgoing, 404, `${method} ${url}`);
    this.requests.push(request.kind);
    this.bodies.push(request.body);
    const wrong = request.kind === 'details' ? [] : schemaErrors(request.body, REQUEST_SCHEMAS[request.kind]);
    if (wrong.length > 0) {
      this.violations.push(`${request.kind}: ${wrong.join(', ')}`);
      return send(outgoing, badRequest({ reason: 'INVALID_DATA', fields: wrong }));
    }
    await this.#answer(request, outgoing);
  }

  /** Returns the decrypted body, if it had to be encrypted. */
  async #opened(method: string, path: string, body: Buffer): Promise<Buffer> {
    const { encryption } = this.#options;
    if (encryption === undefined || method !== 'POST' || !/\/(payments|captures)$/.test(path)) return body;
    const { encryptedRequest, ...more } = JSON.parse(body.toString());
    const { plaintext, protectedHeader } = await compactDecrypt(encryptedRequest, encryption.key);
    const { iat, ...header } = protectedHeader as Record<string, unknown>;
    const expected = { alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT', kid: encryption.kid };
    const isRight = JSON.stringify([header, more]) === JSON.stringify([expected, {}]);
    if (!isRight || Math.abs(Number(iat) - this.#clock() / 1000) > 60) this.violations.push('encryption');
    return Buffer.from(plaintext);
  }

  #route(method: string, path: string, body: Buffer): Ask | undefined {
    for (const [verb, form, kind] of ROUTES) {
      const match = verb === method ? form.exec(path) : null;
      if (match !== null)
        return {
          kind,
          of: match[1] ?? '',
          id: match[2] ?? '',
          body: body.length === 0 ? {} : JSON.parse(body.toString()),
        };
    }
    return undefined;
  }

  #refuse(outgoing: ServerResponse, status: number, violation: string): void {
    this.violations.push(violation);
    send(outgoing, { status, body: { response: { rmsg: 'Authentication Failed' } } });
  }

  async #answer(request: Ask, outgoing: ServerResponse): Promise<void> {
    const scripted = this.#scripted.get(request.kind);
    if (scripted !== undefined && this.#scripted.delete(request.kind)) return send(outgoing, scripted);
    const fault = this.#take(request.kind);
    const kind = fault?.fault;
    if (kind === 'drop-before') return void outgoing.destroy();
    if (kind === '502-before') return send(outgoing, serverError('SYSTEM_ERROR'));
    const last = this.#last.get(request.kind);
    const response = this.#process(request, fault?.fault === 'verdict' ? fault.verdict : undefined);
    this.#last.set(request.kind, response);
    if (fault?.fault === 'delay') await wait(fault.ms);
    if (kind === 'drop-after') return void outgoing.destroy();
    if (kind === 'never-answer') return void this.#options.onUnanswered?.();
    if (kind === '502-after') return send(outgoing, serverError('SERVICE_TIMEOUT'));
    if (kind === 'truncated') return cutOff(outgoing, response);
    if (kind === 'garbage') return send(outgoing, { status: response.status, body: '<html>Bad Gateway</html>' });
    send(outgoing, kind === 'duplicate' ? (last ?? response) : corrupted(response, kind));
  }

  #take(kind: RequestKind): Fault | undefined {
    const index = this.#faults.findIndex(({ on }) => on === kind);
    return index < 0 ? undefined : this.#faults.splice(index, 1)[0];
  }

  #process(request: Ask, verdict: ForcedOutcome | undefined): FakeResponse {
    try {
      if (verdict?.http === 400) throw new RejectedRequest(verdict.reason ?? '', verdict.fields);
      if (verdict?.http !== undefined) return { status: verdict.http, body: { response: { rmsg: 'no' } } };
      return this.#execute(request, verdict);
    } catch (error) {
      if (error instanceof RejectedRequest) return badRequest(error);
      throw error;
    }
  }

  #execute({ kind, id, of, body }: Ask, verdict: ForcedOutcome | undefined): FakeResponse {
    const { ledger } = this;
    if (kind === 'search') return this.#search(body);
    if (kind === 'details') return this.#details(id);
    const sent = sentIn(body);
    if (kind === 'payment' || kind === 'capture' || kind === 'refund') this.#mustBeNew(sent.transactionId, sent.code);
    if (kind === 'payment') {
      const amount = verdict?.authorizedAmount ?? sent.amount;
      return paymentResponse(ledger.pay(sent, sent.capture, verdict), verdict, amount);
    }
    const done = this.#move(kind, id, of, sent, verdict);
    return followOnResponse(done, verdict, done.amount);
  }

  #move(kind: RequestKind, id: string, of: string, sent: Sent, verdict: ForcedOutcome | undefined): Transaction {
    const { ledger } = this;
    if (kind === 'capture') return ledger.capture(id, sent, verdict);
    if (kind === 'refund') return ledger.refund(id, of === 'payments' ? 'payments' : 'captures', sent, verdict);
    if (kind === 'reversal') return ledger.reverse(ledger.byId(id), sent);
    return kind === 'timeout-reversal'
      ? ledger.reverseByKey(sent.transactionId, sent)
      : ledger.voidByKey(sent.transactionId, sent.code);
  }

  /** A request must never be sent twice, nor two requests under one reference. */
  #mustBeNew(key: string, code: string): void {
    if (this.#keys.has(key) || !(code === key || code.endsWith(`.${key}`)))
      this.violations.push(`key used before: ${key}`);
    this.#keys.add(key);
  }

  #isVisible({ visibleAt }: Transaction): boolean {
    return visibleAt <= this.#clock();
  }

  #details(id: string): FakeResponse {
    const transaction = this.ledger.byId(id);
    if (transaction === undefined || !this.#isVisible(transaction))
      return { status: 404, body: { response: { rmsg: 'not found' } } };
    const related = this.ledger.chain(transaction.root).filter((each) => each.id !== id && this.#isVisible(each));
    const ids = this.#options.related === false ? [] : related.map((each) => each.id);
    return { status: 200, body: detailsOf(transaction, this.#options.merchantId, ids) };
  }

  #search({ query }: { readonly query?: string }): FakeResponse {
    const code = (query ?? '').split(':')[1];
    const found = this.ledger.transactions.filter((each) => each.code === code && this.#isVisible(each));
    const transactionSummaries = found.map((each) => detailsOf(each, this.#options.merchantId, []));
    const count = transactionSummaries.length;
    return { status: 201, body: { searchId: 'x', totalCount: count, count, _embedded: { transactionSummaries } } };
  }
}
