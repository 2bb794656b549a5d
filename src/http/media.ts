import { Failure } from '../kernel/failure.ts';
import type { RequestHead, Route } from './route.ts';

/** RFC 7303: `application/xml`, `text/xml`, and every type that ends in `+xml`, SOAP 1.2 among them. */
const XML_MEDIA = /^(application|text)\/xml$|^[a-z0-9.!#$&^_-]+\/[a-z0-9.!#$&^_+-]+\+xml$/;
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g;

/**
 * Checks before the body is read that it has no encoding and the type that the endpoint reads. Throws
 * `unsupported_media_type`.
 */
export function assertMediaType({ body, text }: Pick<Route, 'body' | 'text'>, head: RequestHead): void {
  if (head.header('content-encoding') !== undefined) throw new Failure('unsupported_media_type');
  const type = head.header('content-type') ?? '';
  if (body !== undefined && type === 'application/json') return;
  const media = (type.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (body !== undefined && media !== 'application/json') throw new Failure('unsupported_media_type');
  if (text?.media === 'xml' && !(XML_MEDIA.test(media) && declaresUtf8(type)))
    throw new Failure('unsupported_media_type');
}

/** The charset of the media type has priority over that of the document (RFC 7303, 3.2). */
const declaresUtf8 = (type: string): boolean =>
  [...type.matchAll(PARAMETER)]
    .filter(([, name = '']) => name.toLowerCase() === 'charset')
    .every(([, , value = '']) => /^("?)(utf-?8|us-ascii)\1$/i.test(value.trim()));
