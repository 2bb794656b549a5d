import type { Environment } from '../../../kernel/environment.ts';
import { type Json, parseJson } from '../../../kernel/json.ts';
import { explain } from '../../../kernel/reasons.ts';
import {
  type NotFound,
  type NotSent,
  type OperationNames,
  type OperationRef,
  type PaymentHistory,
  type ProcessorCall,
  pickNames,
  type Unknown,
  unknown,
} from '../../processor.ts';
import { oneOf, type SettingTable, text, url } from '../../settings.ts';
import { type Destination, HOST_REFUSED, notSent, type OutboundHttp, type ProcessorRequest } from '../outbound-http.ts';
import { valueAt } from '../response-fields.ts';

import { type KoinOrder, type KoinRefund, parseOrder, parseRefund } from './mapping.ts';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,64}$/;

export const KOIN_SETTINGS = {
  'base-url': url(
    {
      en: 'Address of the KOIN payments API. Default: the address of the environment',
      es: 'Dirección de la API de pagos de KOIN. Predeterminada: la del entorno',
    },
    { destination: true, namesAccount: true },
  ),
  'tokenize-url': url(
    {
      en: 'Address where cards are exchanged for a secure token. Default: base-url, or the address of the environment',
      es: 'Dirección donde las tarjetas se cambian por un token seguro. Predeterminada: base-url, o la del entorno',
    },
    { destination: true },
  ),
  'private-key': text(
    { en: 'Private key that KOIN gave you', es: 'Clave privada que le dio KOIN' },
    /^[\x21-\x7e]{1,512}$/,
    explain('valueVisible'),
    // KOIN finds orders by it alone.
    { required: true, secret: true, namesAccount: true },
  ),
  account: text(
    { en: 'Account number that KOIN gave you', es: 'Número de cuenta que le dio KOIN' },
    VISIBLE_ASCII,
    explain('valueVisibleUpTo', { max: 64 }),
    { required: true, namesAccount: true },
  ),
  'store-code': text(
    { en: 'Store code that KOIN gave you', es: 'Código de tienda que le dio KOIN' },
    VISIBLE_ASCII,
    explain('valueVisibleUpTo', { max: 64 }),
    { namesAccount: true },
  ),
  'store-category': text(
    {
      en: 'Merchant category code; sent with antifraud',
      es: 'Código de categoría del comercio; se envía con el antifraude',
    },
    /^[0-9]{4}$/,
    explain('valueFourDigits'),
    {},
  ),
  'country-code': text(
    {
      en: 'Country of the payments. Default: the country of the payer',
      es: 'País de los pagos. Predeterminado: el del pagador',
    },
    /^[A-Z]{2}$/,
    explain('valueCountry'),
    {},
  ),
  'notification-url': url(
    {
      en: 'Public address of this service for notifications. When not set, none are requested',
      es: 'Dirección pública de este servicio para notificaciones. Si no se define, no se solicitan',
    },
    {},
  ),
  antifraud: oneOf(
    { en: 'Send payments through the antifraud of KOIN', es: 'Enviar los pagos por el antifraude de KOIN' },
    ['true', 'false'],
    { defaultValue: 'false' },
  ),
} satisfies SettingTable;

/** The hosts that `docs/processors/koin.md` names. */
export const KOIN_HOSTS: Readonly<Record<Environment, { readonly payments: string; readonly tokenize: string }>> = {
  sandbox: { payments: 'https://api-sandbox.koin.com.br', tokenize: 'https://api-sandbox.koin.com.br' },
  production: { payments: 'https://api-payments.koin.com.br', tokenize: 'https://api-secure.koin.com.br' },
};

type Api = keyof (typeof KOIN_HOSTS)['sandbox'];

const DESTINATION: Destination = { processor: 'koin', documentedOrigins: Object.values(KOIN_HOSTS.production) };

/** Returns the address of a path, which starts with a slash and may contain a query. */
export function buildUrl({ settings, tenant }: ProcessorCall, api: Api, path: string): URL {
  const configured = api === 'tokenize' ? (settings['tokenize-url'] ?? settings['base-url']) : settings['base-url'];
  const base = configured ?? KOIN_HOSTS[tenant.environment][api];
  return new URL(`${base.replace(/\/+$/, '')}${path}`);
}

/** The response to a request. `body` is undefined when it is no JSON. */
export interface KoinResponse {
  readonly kind: 'answered';
  readonly status: number;
  readonly body: Json | undefined;
}

type KoinResult = KoinResponse | NotSent | Unknown;

/** The order of an operation: KOIN's id of it where it is known, and our names. */
export interface OrderRef extends OperationNames {
  readonly orderId: string | undefined;
}

export const toOrderRef = (operation: OperationRef): OrderRef => ({
  ...pickNames(operation),
  orderId: operation.processorId,
});

/** The order of the payment, which is the first operation. */
export function findOrderRef({ operations: [first] }: PaymentHistory): OrderRef | undefined {
  return first && toOrderRef(first);
}

/** KOIN's calls. Each is one request, which is never repeated. */
export class KoinClient {
  readonly #connections: OutboundHttp;

  constructor(connections: OutboundHttp) {
    this.#connections = connections;
  }

  tokenize(call: ProcessorCall, body: Json): Promise<KoinResult> {
    return this.#send(call, 'POST', 'tokenize', '/tokenize', body);
  }

  create(call: ProcessorCall, body: Json): Promise<KoinResult> {
    return this.#send(call, 'POST', 'payments', '/orders', body);
  }

  /** The contract defines no body, so the amount cannot be chosen. */
  capture(call: ProcessorCall, orderId: string): Promise<KoinResult> {
    return this.#send(call, 'POST', 'payments', `/orders/${encodeURIComponent(orderId)}/capture`);
  }

  cancel(call: ProcessorCall, orderId: string): Promise<KoinResult> {
    return this.#send(call, 'PUT', 'payments', `/orders/${encodeURIComponent(orderId)}/cancel`);
  }

  refund(call: ProcessorCall, orderId: string, body: Json): Promise<KoinResult> {
    return this.#send(call, 'PUT', 'payments', `/orders/${encodeURIComponent(orderId)}/refund`, body);
  }

  /** Returns the present state of the order at KOIN. */
  async findOrder(call: ProcessorCall, { orderId, operationRef }: OrderRef): Promise<KoinOrder | NotFound | Unknown> {
    const query = `?reference_id=${encodeURIComponent(operationRef)}`;
    const path = orderId === undefined ? query : `/${encodeURIComponent(orderId)}`;
    const body = await this.#read(call, `/orders${path}`);
    if (isUnresolved(body)) return body;
    const order = parseOrder(body.found);
    if (order === undefined) return unknown('unreadable');
    // Without this check, a response about another order would decide about this one.
    const isOther = order.operationRef !== operationRef || (orderId !== undefined && order.id !== orderId);
    return isOther ? unknown('contradiction') : order;
  }

  async findRefund(call: ProcessorCall, orderId: string, refundId: string): Promise<KoinRefund | NotFound | Unknown> {
    const path = `/orders/${encodeURIComponent(orderId)}/refunds/${encodeURIComponent(refundId)}`;
    const body = await this.#read(call, path);
    return isUnresolved(body) ? body : (parseRefund(body.found) ?? unknown('unreadable'));
  }

  async #read(call: ProcessorCall, path: string): Promise<{ found: Json | undefined } | NotFound | Unknown> {
    const answer = await this.#send(call, 'GET', 'payments', path);
    if (answer.kind === 'not-sent') return unknown(answer.failure === undefined ? 'not-reached' : HOST_REFUSED);
    if (answer.kind === 'unknown') return answer;
    if (isSuccess(answer)) return { found: answer.body };
    return isNotFound(answer) ? { kind: 'not-found' } : unknown(`http-${answer.status}`);
  }

  async #send(
    call: ProcessorCall,
    method: ProcessorRequest['method'],
    api: Api,
    path: string,
    body?: Json,
  ): Promise<KoinResult> {
    const reply = await this.#connections.send({
      tenant: call.tenant,
      to: DESTINATION,
      method,
      url: buildUrl(call, api, `/v1/payment${path}`),
      headers: {
        authorization: `Bearer ${call.settings['private-key']}`,
        accept: 'application/json',
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: call.signal,
    });
    if (reply.kind === 'not-sent') return notSent(reply);
    return reply.kind === 'unknown' ? unknown(reply.why) : { ...reply, body: parseBody(reply.body) };
  }
}

/** KOIN's contract names 200; the other success statuses are treated alike. */
export const isSuccess = ({ status }: KoinResponse): boolean => status >= 200 && status < 300;

export const isUnresolved = <T extends object>(found: T | NotFound | Unknown): found is NotFound | Unknown =>
  'kind' in found && (found.kind === 'not-found' || found.kind === 'unknown');

/** True for a 404 of KOIN itself, in its error format or empty. A 404 of another server says nothing about an order. */
const isNotFound = ({ status, body }: KoinResponse): boolean =>
  status === 404 && (body === '' || typeof valueAt(body, 'code') === 'string');

/** An empty body is read as an empty text. */
function parseBody(text: string): Json | undefined {
  if (text === '') return '';
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
