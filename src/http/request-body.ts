import { isUtf8 } from 'node:buffer';
import { Failure, invalidField } from '../kernel/failure.ts';
import { parseJson } from '../kernel/json.ts';
import { explain } from '../kernel/reasons.ts';
import type { Field } from './fields.ts';
import type { Route, RouteCall, TextBody } from './route.ts';

/** A body in the form that an endpoint reads. */
export type ParsedBody = Pick<RouteCall, 'source' | 'body'>;

const NO_SOURCE: ParsedBody['source'] = { text: '', spans: new Map() };

/** Throws `malformed_json`, `malformed_xml`, `invalid_field`, `Mismatch`. */
export const parseBody = ({ body: field, text }: Pick<Route, 'body' | 'text'>, body: Buffer): ParsedBody =>
  field === undefined ? parseTextBody(body, text) : parseJsonBody(body, field);

function parseJsonBody(body: Buffer, field: Field<unknown>): ParsedBody {
  if (!isUtf8(body)) throw new Failure('malformed_json', explain('notUtf8', { format: 'JSON' }));
  const text = body.toString('utf8');
  const { value, spans } = parseJson(text);
  return { source: { text, spans }, body: field.parse(value) };
}

function parseTextBody(body: Buffer, text: TextBody | undefined): ParsedBody {
  if (text === undefined) return { source: NO_SOURCE, body: undefined };
  if (isUtf8(body)) return { source: { ...NO_SOURCE, text: body.toString('utf8') }, body: undefined };
  if (text.media === 'xml') throw new Failure('malformed_xml', explain('notUtf8', { format: 'XML' }));
  throw invalidField('body', 'expectedUtf8');
}

/** Parses a query string; a member that occurs twice is ignored. Throws `FieldMismatch`. */
export function parseQuery<T>(field: Field<T>, query: string): T {
  const parameters = new URLSearchParams(query);
  const single = [...new Set(parameters.keys())].filter((name) => parameters.getAll(name).length === 1);
  return field.parse(Object.fromEntries(single.map((name) => [name, parameters.get(name) ?? ''])));
}
