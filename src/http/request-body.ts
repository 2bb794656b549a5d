import { isUtf8 } from 'node:buffer';
import { Failure, invalid } from '../kernel/failure.ts';
import { parseJson } from '../kernel/json.ts';
import type { Call, Endpoint, TextBody } from './endpoint.ts';
import type { Field } from './fields.ts';

/** A body as an endpoint takes it. */
export type ReadBody = Pick<Call<unknown, unknown>, 'source' | 'body'>;

const NO_SOURCE: ReadBody['source'] = { text: '', spans: new Map() };

/** Throws `malformed_json`, `malformed_xml`, `invalid_field`, `Mismatch`. */
export const readBody = ({ body: field, text }: Pick<Endpoint, 'body' | 'text'>, body: Buffer): ReadBody =>
  field === undefined ? readText(body, text) : readJson(body, field);

function readJson(body: Buffer, field: Field<unknown>): ReadBody {
  if (!isUtf8(body)) throw new Failure('malformed_json', { message: 'malformed JSON: the body is not UTF-8' });
  const text = body.toString('utf8');
  const { value, spans } = parseJson(text);
  return { source: { text, spans }, body: field.read(value) };
}

function readText(body: Buffer, text: TextBody | undefined): ReadBody {
  if (text === undefined) return { source: NO_SOURCE, body: undefined };
  if (isUtf8(body)) return { source: { ...NO_SOURCE, text: body.toString('utf8') }, body: undefined };
  if (text.media === 'xml') throw new Failure('malformed_xml', { message: 'malformed XML: the body is not UTF-8' });
  throw invalid('body', 'expected UTF-8 text');
}
