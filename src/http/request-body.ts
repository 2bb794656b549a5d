import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Failure, invalidField } from '../kernel/failure.ts';
import { parseJson } from '../kernel/json.ts';
import { explain } from '../kernel/reasons.ts';
import type { Field } from './fields.ts';
import type { Route, RouteCall, TextBody } from './route.ts';

const NO_BODY = Buffer.alloc(0);

/**
 * Reads the body of a request and calls back once: with `body_too_large` beyond `limit` bytes, or with the error of the connection.
 * The body is empty when there is none; that of a GET is not read.
 */
export function readBody(request: IncomingMessage, limit: number, callback: BodyCallback): void {
  const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers;
  const hasBody = request.method !== 'GET' && (encoding !== undefined || (declared !== undefined && declared !== '0'));
  if (!hasBody) {
    callback(undefined, NO_BODY);
    return;
  }
  if (Number(declared) > limit) {
    callback(new Failure('body_too_large'), NO_BODY);
    return;
  }
  // The client left while the access was checked, and no event will follow.
  if (request.destroyed) {
    callback(new Failure('malformed_request'), NO_BODY);
    return;
  }
  if (request.complete) readArrived(request, limit, callback);
  else awaitBody(request, limit, callback);
}

type BodyCallback = (error: unknown, body: Buffer) => void;

/** Without the events of a stream, which cost more than what they report here. */
function readArrived(request: IncomingMessage, limit: number, callback: BodyCallback): void {
  const body: Buffer = request.read() ?? NO_BODY;
  if (body.length > limit) callback(new Failure('body_too_large'), NO_BODY);
  else callback(undefined, body);
}

function awaitBody(request: IncomingMessage, limit: number, callback: BodyCallback): void {
  const chunks: Buffer[] = [];
  let length = 0;
  let isSettled = false;
  const settle = (error: unknown): void => {
    if (isSettled) return;
    isSettled = true;
    const [first = NO_BODY] = chunks;
    if (error !== undefined) callback(error, NO_BODY);
    else callback(undefined, chunks.length > 1 ? Buffer.concat(chunks, length) : first);
    // The caller clears the body, and not what it was put together from.
    if (error !== undefined || chunks.length > 1) for (const chunk of chunks) chunk.fill(0);
    // The rest of a rejected body still arrives, and this closure lives until its end.
    chunks.length = 0;
  };
  request.on('data', (chunk: Buffer) => {
    if (isSettled) return;
    length += chunk.length;
    if (length > limit) settle(new Failure('body_too_large'));
    else chunks.push(chunk);
  });
  request.on('end', settle);
  request.on('error', settle);
}

/** A body in the form that an endpoint reads. */
type ParsedBody = Pick<RouteCall, 'text' | 'body'>;

/** Throws `malformed_json`, `malformed_xml`, `invalid_field`, `FieldMismatch`. */
export const parseBody = ({ body: field, text }: Pick<Route, 'body' | 'text'>, body: Buffer): ParsedBody =>
  field === undefined ? parseTextBody(body, text) : parseJsonBody(body, field);

function parseJsonBody(body: Buffer, field: Field<unknown>): ParsedBody {
  if (!isUtf8(body)) throw new Failure('malformed_json', explain('notUtf8', { format: 'JSON' }));
  const text = body.toString('utf8');
  return { text, body: field.parse(parseJson(text)) };
}

function parseTextBody(body: Buffer, text: TextBody | undefined): ParsedBody {
  if (text === undefined) return { text: '', body: undefined };
  if (isUtf8(body)) return { text: body.toString('utf8'), body: undefined };
  if (text.media === 'xml') throw new Failure('malformed_xml', explain('notUtf8', { format: 'XML' }));
  throw invalidField('body', 'expectedUtf8');
}

/** Parses a query string; a member that occurs twice is ignored. Throws `FieldMismatch`. */
export function parseQuery<T>(field: Field<T>, query: string): T {
  const parameters = new URLSearchParams(query);
  const single = [...new Set(parameters.keys())].filter((name) => parameters.getAll(name).length === 1);
  return field.parse(Object.fromEntries(single.map((name) => [name, parameters.get(name) ?? ''])));
}
