import { type Operations, ROUTES } from './schema.ts';
import { type CallOptions, type ClientOptions, type Outgoing, type Timing, Transport } from './transport.ts';

type OperationId = keyof Operations;
type Body<Id extends OperationId> = Operations[Id]['body'];
type Response<Id extends OperationId> = Operations[Id]['response'];
/** The data of a response of the vault and the proxy, without its envelope. */
type Data<Id extends OperationId> = Response<Id> extends { readonly data: infer D } ? D : never;

type Query<Id extends OperationId> = Operations[Id]['query'];
/** The headers of an operation; `Idempotency-Key` is one of the options of a call. */
type Headers<Id extends OperationId> = Omit<NonNullable<Operations[Id]['headers']>, 'Idempotency-Key'>;

/** Header `ft-encryption` of the proxy (interface: Proxy). */
export type FieldEncryption = NonNullable<Headers<'proxyJose' | 'proxyWssec' | 'proxyHash'>['ft-encryption']>;

/** Options of a call of the proxy. */
export interface ProxyOptions extends CallOptions {
  readonly encryption?: FieldEncryption | undefined;
}

/** Which deliveries are listed. */
export type ListDeliveries = Query<'listDeliveries'>;

/** The parts of a request beside its path and a body of JSON. */
interface Parts<Id extends OperationId> extends Pick<Outgoing, 'body' | 'contentType'> {
  readonly query?: Query<Id>;
  readonly headers?: Headers<Id>;
}

/** Sends the operations of the interface by their ids. */
class Caller {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async call<Id extends OperationId>(
    id: Id,
    params: Readonly<Record<string, string>>,
    body: unknown,
    options: CallOptions | undefined,
    parts: Parts<NoInfer<Id>> = {},
  ): Promise<Response<Id>> {
    const { method, path } = ROUTES[id];
    const filled = path.replace(/\{([a-z]+)\}/gi, (_, name: string) => toSegment(name, params[name]));
    const { query, headers, ...rest } = parts;
    const outgoing: Outgoing = {
      method,
      path: `${filled}${toSearch(query)}`,
      keyHeader: path.startsWith('/proxy/') ? 'ft-access-key' : 'x-api-key',
      ...(body !== undefined && { body: toJson(body) }),
      ...rest,
      headers: toHeaders(headers),
    };
    return this.#transport.send<Response<Id>>(outgoing, options);
  }

  async data<Id extends OperationId>(
    id: Id,
    params: Readonly<Record<string, string>>,
    body: unknown,
    options: CallOptions | undefined,
    parts: Parts<NoInfer<Id>> = {},
  ): Promise<Data<Id>> {
    const response: unknown = await this.call(id, params, body, options, parts);
    return (response as { readonly data: Data<Id> }).data;
  }
}

/**
 * Throws a `TypeError` that does not contain the value for a number beyond 2^53 - 1, which JavaScript may have rounded before, and
 * for one that is not finite, which JSON would have as `null`.
 */
const toJson = (body: unknown): string => JSON.stringify(body, assertExact);

/** A replacer of `JSON.stringify` that replaces nothing. */
function assertExact(_name: string, value: unknown): unknown {
  if (typeof value !== 'number' && !(value instanceof Number)) return value;
  const isExact = Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER;
  if (!isExact) throw new TypeError('a number in the request has lost digits or is not finite: send it as a string');
  return value;
}

/** Returns nothing for a query without any value. */
function toSearch(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter((each): each is [string, string] => each[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** Values of headers that are no text are JSON. */
function toHeaders(headers: object | undefined): Record<string, string> {
  const given = Object.entries(headers ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** Nothing, and names that mean a folder, would make it the path of another operation. Throws a `TypeError`. */
function toSegment(name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: expected an id`);
  return encodeURIComponent(value);
}

/** Permanent tokens. */
class Tokens {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  create(body: Body<'tokenizeCards'>, options?: CallOptions): Promise<Data<'tokenizeCards'>> {
    return this.#caller.data('tokenizeCards', {}, body, options);
  }

  inspect(token: string, options?: CallOptions): Promise<Data<'inspectToken'>> {
    return this.#caller.data('inspectToken', { token }, undefined, options);
  }

  /** One entry for each distinct token; `fail` when there is no such token. */
  delete(tokens: readonly string[], options?: CallOptions): Promise<Data<'deleteTokens'>> {
    return this.#caller.data('deleteTokens', {}, { tokens }, options);
  }
}

/** Captures: card data kept for a while. */
class Captures {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  create(body: Body<'createCapture'>, options?: CallOptions): Promise<Data<'createCapture'>> {
    return this.#caller.data('createCapture', {}, body, options);
  }

  /** With the card number and sensitive data. A number beyond 2^53 in `additional_info` loses digits: create it as a string. */
  retrieve(id: string, options?: CallOptions): Promise<Data<'retrieveCapture'>> {
    return this.#caller.data('retrieveCapture', { id }, undefined, options);
  }

  /**
   * Without sensitive data; `status` is `fail` when there is no such capture. A number beyond 2^53 in `additional_info` loses
   * digits: create it as a string.
   */
  inspect(id: string, options?: CallOptions): Promise<Data<'inspectCapture'>> {
    return this.#caller.data('inspectCapture', { id }, undefined, options);
  }

  tokenize(id: string, body: Body<'tokenizeCapture'>, options?: CallOptions): Promise<Data<'tokenizeCapture'>> {
    return this.#caller.data('tokenizeCapture', { id }, body, options);
  }

  delete(id: string, options?: CallOptions): Promise<Data<'deleteCapture'>> {
    return this.#caller.data('deleteCapture', { id }, undefined, options);
  }
}

/** Sessions of the card form. */
class CaptureSessions {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** `client_secret` is in this response alone; it belongs to the buyer's browser. */
  create(body: Body<'createCaptureSession'>, options?: CallOptions): Promise<Data<'createCaptureSession'>> {
    return this.#caller.data('createCaptureSession', {}, body, options);
  }

  get(id: string, options?: CallOptions): Promise<Data<'showCaptureSession'>> {
    return this.#caller.data('showCaptureSession', { id }, undefined, options);
  }

  cancel(id: string, options?: CallOptions): Promise<Data<'deleteCaptureSession'>> {
    return this.#caller.data('deleteCaptureSession', { id }, undefined, options);
  }
}

/**
 * Payments. A response with `status` `Fail` (declined) or `Error` (failed at the processor, or outcome unknown) is a result and no
 * exception: look at `status` and `data.transaction_info`.
 */
class Payments {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  create(body: Body<'createPayment'>, options?: CallOptions): Promise<Response<'createPayment'>> {
    return this.#caller.call('createPayment', {}, body, options);
  }

  capture(id: string, body: Body<'capturePayment'>, options?: CallOptions): Promise<Response<'capturePayment'>> {
    return this.#caller.call('capturePayment', { id }, body, options);
  }

  refund(id: string, body: Body<'refundPayment'>, options?: CallOptions): Promise<Response<'refundPayment'>> {
    return this.#caller.call('refundPayment', { id }, body, options);
  }

  void(id: string, body: Body<'voidPayment'>, options?: CallOptions): Promise<Response<'voidPayment'>> {
    return this.#caller.call('voidPayment', { id }, body, options);
  }

  /** By the id of any operation, yours or the processor's. */
  lookup(id: string, options?: CallOptions): Promise<Response<'showPayment'>> {
    return this.#caller.call('showPayment', { id }, undefined, options);
  }
}

/** The proxy: placeholders in a payload are replaced by card data, and the payload is secured or hashed. */
class PayloadProxy {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * `payload`: JSON text is sent as it is, so that no digit of a number is lost; any other value as JSON, without numbers beyond
   * 2^53 - 1.
   */
  async jose(payload: unknown, options: ProxyOptions = {}): Promise<Data<'proxyJose'>> {
    const body = typeof payload === 'string' ? payload : toJson(payload);
    return this.#caller.data('proxyJose', {}, undefined, options, { body, headers: headersOf(options) });
  }

  wssec(xml: string, options: ProxyOptions = {}): Promise<Data<'proxyWssec'>> {
    const more = { body: xml, contentType: 'application/xml', headers: headersOf(options) };
    return this.#caller.data('proxyWssec', {}, undefined, options, more);
  }

  hash(
    payload: string | Uint8Array,
    type: Query<'proxyHash'>['type'],
    options: ProxyOptions = {},
  ): Promise<Data<'proxyHash'>> {
    const more = { body: payload, contentType: 'text/plain', query: { type }, headers: headersOf(options) };
    return this.#caller.data('proxyHash', {}, undefined, options, more);
  }
}

const headersOf = ({ encryption }: ProxyOptions): Headers<'proxyJose' | 'proxyWssec' | 'proxyHash'> => ({
  'ft-encryption': encryption,
});

/** Where events are sent. */
class Webhooks {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The secret is in this response alone. */
  create(body: Body<'createWebhook'>, options?: CallOptions): Promise<Data<'createWebhook'>> {
    return this.#caller.data('createWebhook', {}, body, options);
  }

  list(options?: CallOptions): Promise<Data<'listWebhooks'>> {
    return this.#caller.data('listWebhooks', {}, undefined, options);
  }

  get(id: string, options?: CallOptions): Promise<Data<'showWebhook'>> {
    return this.#caller.data('showWebhook', { id }, undefined, options);
  }

  update(id: string, body: Body<'updateWebhook'>, options?: CallOptions): Promise<Data<'updateWebhook'>> {
    return this.#caller.data('updateWebhook', { id }, body, options);
  }

  delete(id: string, options?: CallOptions): Promise<Data<'deleteWebhook'>> {
    return this.#caller.data('deleteWebhook', { id }, undefined, options);
  }

  rotate(id: string, body: Body<'rotateWebhook'> = {}, options?: CallOptions): Promise<Data<'rotateWebhook'>> {
    return this.#caller.data('rotateWebhook', { id }, body, options);
  }

  test(id: string, options?: CallOptions): Promise<Data<'testWebhook'>> {
    return this.#caller.data('testWebhook', { id }, undefined, options);
  }

  listDeliveries(id: string, filter: ListDeliveries = {}, options?: CallOptions): Promise<Data<'listDeliveries'>> {
    return this.#caller.data('listDeliveries', { id }, undefined, options, { query: filter });
  }

  replay(id: string, body: Body<'replayWebhook'>, options?: CallOptions): Promise<Data<'replayWebhook'>> {
    return this.#caller.data('replayWebhook', { id }, body, options);
  }
}

/** A client of one environment of a vault. Its connections are kept open; `close` ends them. */
export class CardvaultClient {
  readonly tokens: Tokens;
  readonly captures: Captures;
  readonly captureSessions: CaptureSessions;
  readonly payments: Payments;
  readonly proxy: PayloadProxy;
  readonly webhooks: Webhooks;
  readonly #caller: Caller;
  readonly #transport: Transport;

  /** `timing` is for tests. Throws a `TypeError` for a bad option. */
  constructor(options: ClientOptions, timing?: Timing) {
    this.#transport = new Transport(options, timing);
    const caller = new Caller(this.#transport);
    this.#caller = caller;
    this.tokens = new Tokens(caller);
    this.captures = new Captures(caller);
    this.captureSessions = new CaptureSessions(caller);
    this.payments = new Payments(caller);
    this.proxy = new PayloadProxy(caller);
    this.webhooks = new Webhooks(caller);
  }

  /** The account, what is enabled on it, and the calling key. */
  account(options?: CallOptions): Promise<Data<'getAccount'>> {
    return this.#caller.data('getAccount', {}, undefined, options);
  }

  close(): void {
    this.#transport.close();
  }
}
