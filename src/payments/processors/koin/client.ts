import { type Json, parseJson } from '../../../kernel/json.ts';
import type { Absent, History, NotSent, ProcessorCall, Subject, Unknown } from '../../processor.ts';
import type { Connections, ProcessorRequest } from '../connection.ts';
import { at } from './fields.ts';
import { unknown } from './findings.ts';
import { type KoinOrder, type KoinRefund, readOrder, readRefund } from './mapping.ts';
import { type Api, addressOf } from './settings.ts';

/** What came back of a request. `body`: undefined when it is no JSON. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly body: Json | undefined;
}

export type Answer = Answered | NotSent | Unknown;

/** The order that an operation is about: KOIN's id of it where we know it, and our key. */
export interface Place {
  readonly orderId: string | undefined;
  readonly reference: string;
}

export const placeOf = ({ key, processorId }: Subject): Place => ({ orderId: processorId, reference: key });

/** Of the payment itself, which is the first operation. */
export function placeIn({ operations: [first] }: History): Place | undefined {
  return first && placeOf(first);
}

/** KOIN's calls. Each is one request; nothing is repeated. */
export class KoinClient {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  tokenize(call: ProcessorCall, body: Json): Promise<Answer> {
    return this.#send(call, 'POST', 'tokenize', '/tokenize', body);
  }

  create(call: ProcessorCall, body: Json): Promise<Answer> {
    return this.#send(call, 'POST', 'payments', '/orders', body);
  }

  /** The contract has no body, so there is no amount to choose. */
  capture(call: ProcessorCall, orderId: string): Promise<Answer> {
    return this.#send(call, 'POST', 'payments', `/orders/${encodeURIComponent(orderId)}/capture`);
  }

  cancel(call: ProcessorCall, orderId: string): Promise<Answer> {
    return this.#send(call, 'PUT', 'payments', `/orders/${encodeURIComponent(orderId)}/cancel`);
  }

  refund(call: ProcessorCall, orderId: string, body: Json): Promise<Answer> {
    return this.#send(call, 'PUT', 'payments', `/orders/${encodeURIComponent(orderId)}/refund`, body);
  }

  /** The order as it stands in KOIN's books now. */
  async find(call: ProcessorCall, { orderId, reference }: Place): Promise<KoinOrder | Absent | Unknown> {
    const query = `?reference_id=${encodeURIComponent(reference)}`;
    const place = orderId === undefined ? query : `/${encodeURIComponent(orderId)}`;
    const body = await this.#read(call, `/orders${place}`);
    if (isFinding(body)) return body;
    const order = readOrder(body.found);
    if (order === undefined) return unknown('unreadable');
    // Without this an answer about another order would decide about this one.
    const isOther = order.reference !== reference || (orderId !== undefined && order.id !== orderId);
    return isOther ? unknown('contradiction') : order;
  }

  async findRefund(call: ProcessorCall, orderId: string, refundId: string): Promise<KoinRefund | Absent | Unknown> {
    const path = `/orders/${encodeURIComponent(orderId)}/refunds/${encodeURIComponent(refundId)}`;
    const body = await this.#read(call, path);
    return isFinding(body) ? body : (readRefund(body.found) ?? unknown('unreadable'));
  }

  async #read(call: ProcessorCall, path: string): Promise<{ found: Json | undefined } | Absent | Unknown> {
    const answer = await this.#send(call, 'GET', 'payments', path);
    if (answer.kind === 'not-sent') return unknown('not-reached');
    if (answer.kind === 'unknown') return answer;
    if (isOk(answer)) return { found: answer.body };
    return isMissing(answer) ? { kind: 'absent' } : unknown(`http-${answer.status}`);
  }

  async #send(
    call: ProcessorCall,
    method: ProcessorRequest['method'],
    api: Api,
    path: string,
    body?: Json,
  ): Promise<Answer> {
    const reply = await this.#connections.send({
      method,
      url: addressOf(call, api, `/v1/payment${path}`),
      headers: {
        authorization: `Bearer ${call.settings['private-key']}`,
        accept: 'application/json',
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: call.signal,
    });
    if (reply.kind === 'not-sent') return { kind: 'not-sent' };
    return reply.kind === 'unknown' ? unknown(reply.why) : { ...reply, body: jsonOf(reply.body) };
  }
}

/** KOIN's contract names 200; the others of its kind mean no less. */
export const isOk = ({ status }: Answered): boolean => status >= 200 && status < 300;

export const isFinding = <T extends object>(found: T | Absent | Unknown): found is Absent | Unknown =>
  'kind' in found && (found.kind === 'absent' || found.kind === 'unknown');

/** A 404 of KOIN itself, in its error form or empty; that of a wrong address says nothing about an order. */
const isMissing = ({ status, body }: Answered): boolean =>
  status === 404 && (body === '' || typeof at(body, 'code') === 'string');

/** Nothing at all is read as an empty text. */
function jsonOf(text: string): Json | undefined {
  if (text === '') return '';
  try {
    return parseJson(text).value;
  } catch {
    return undefined;
  }
}
