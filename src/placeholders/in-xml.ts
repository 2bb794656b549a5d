import type { TextPosition } from '../kernel/text-position.ts';
import { characterOfValue, type DecodedSpan, type LocatedPlaceholder, locateIn } from './located-placeholder.ts';

/**
 * Locates the placeholders in the text, CDATA and attribute values of an element that was checked to be well-formed;
 * names, comments and namespace declarations are not searched. `positionAt` returns the position of an offset of the
 * element in the document. Throws `invalid_placeholder`.
 */
export function locateInXml(text: string, positionAt: (offset: number) => TextPosition): LocatedPlaceholder[] {
  const located: LocatedPlaceholder[] = [];
  const hasBraces = createFinder(text, '{{');
  const hasReference = createFinder(text, '&#');
  const last = Math.max(text.lastIndexOf('{{'), text.lastIndexOf('&#'));
  for (const { start, end, write, isLiteral } of findSpans(text)) {
    if (start > last) break;
    if (!hasBraces(start, end) && (isLiteral || !hasReference(start, end))) continue;
    const raw = text.slice(start, end);
    const decoded = isLiteral || !raw.includes('&') ? undefined : decode(raw);
    const offsetOf = (index: number): number => start + (decoded === undefined ? index : (decoded.offsets[index] ?? 0));
    const positionOf = (index: number): TextPosition => positionAt(offsetOf(index));
    const span: DecodedSpan = {
      text: decoded?.text ?? raw,
      offsetOf,
      positionOf,
      locationOf: (index) => `line ${positionOf(index).line}`,
      characterOf: characterOfValue,
      encode: write,
    };
    locateIn(span, located);
  }
  return located;
}

/** True when the text occurs in [start, end). For ascending spans it reads the text once. */
function createFinder(text: string, sign: string): (start: number, end: number) => boolean {
  let next = text.indexOf(sign);
  return (start, end) => {
    if (next >= 0 && next < start) next = text.indexOf(sign, start);
    return next >= 0 && next + sign.length <= end;
  };
}

interface RawSpan {
  readonly start: number;
  readonly end: number;
  /** Entities have no meaning in CDATA. */
  readonly isLiteral: boolean;
  write(value: string): string | undefined;
}

const COMMENT = { open: '<!--', close: '-->' };
const CDATA = { open: '<![CDATA[', close: ']]>' };
// Names may contain what JavaScript treats as blanks and XML does not.
const TAG = /<[^ \t\r\n/>]+/y;
const ATTRIBUTE = /[ \t\r\n]*([^ \t\r\n=/>]+)[ \t\r\n]*=[ \t\r\n]*(["'])/y;

function* findSpans(text: string): Generator<RawSpan> {
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '<') {
      const end = findOrEnd(text, '<', at);
      yield { start: at, end, isLiteral: false, write: escapeText };
      at = end;
    } else if (text.startsWith(COMMENT.open, at)) {
      at = text.indexOf(COMMENT.close, at + COMMENT.open.length) + COMMENT.close.length;
    } else if (text.startsWith(CDATA.open, at)) {
      const end = text.indexOf(CDATA.close, at);
      yield { start: at + CDATA.open.length, end, isLiteral: true, write: escapeCdata };
      at = end + CDATA.close.length;
    } else {
      at = yield* findAttributes(text, at);
    }
  }
}

/** Yields the attribute values of the tag that starts here; returns where the tag ends. */
function* findAttributes(text: string, tagAt: number): Generator<RawSpan, number> {
  if (text[tagAt + 1] === '/') return text.indexOf('>', tagAt) + 1;
  let at = endOf(TAG, text, tagAt) ?? tagAt;
  for (;;) {
    if (text[at] === '>') return at + 1;
    ATTRIBUTE.lastIndex = at;
    const [head, name = '', quote = ''] = ATTRIBUTE.exec(text) ?? [];
    if (head === undefined) return text.indexOf('>', at) + 1;
    const start = at + head.length;
    const end = text.indexOf(quote, start);
    const write = (value: string): string | undefined => escapeAttribute(value, quote);
    if (!/^xmlns(:|$)/.test(name)) yield { start, end, isLiteral: false, write };
    at = end + 1;
  }
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function findOrEnd(text: string, sign: string, at: number): number {
  const index = text.indexOf(sign, at);
  return index < 0 ? text.length : index;
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const REFERENCE = /&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-z]+));/y;

function decode(raw: string): { text: string; offsets: Uint32Array } {
  const offsets = new Uint32Array(raw.length + 1);
  const chunks: string[] = [];
  let length = 0;
  for (let at = 0; at < raw.length; ) {
    let chunk = raw[at] ?? '';
    let next = at + 1;
    if (chunk === '&') {
      REFERENCE.lastIndex = at;
      const [reference = '', hex, decimal, name = ''] = REFERENCE.exec(raw) ?? [];
      const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal);
      chunk = NAMED[name] ?? String.fromCodePoint(code);
      next = at + reference.length;
    }
    for (let unit = 0; unit < chunk.length; unit++) offsets[length++] = at;
    chunks.push(chunk);
    at = next;
  }
  offsets[length] = raw.length;
  return { text: chunks.join(''), offsets };
}

/** XML 1.0, production 2, which excludes lone surrogates. */
const CHARACTERS = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

const escapeCharacters = (value: string): string | undefined =>
  CHARACTERS.test(value) ? value.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;') : undefined;

/** Brackets at the end could make `]]>`, which text must not contain, together with the characters behind them. */
const escapeText = (value: string): string | undefined =>
  escapeCharacters(value)?.replace(/\]+$/, (brackets) => '&#93;'.repeat(brackets.length));

function escapeAttribute(value: string, quote: string): string | undefined {
  const escaped = escapeCharacters(value)?.replace(/"/g, '&quot;');
  return quote === "'" ? escaped?.replace(/'/g, '&apos;') : escaped;
}

/** Literal, unless it could complete the end of the section; then it is written outside, between two sections. */
function escapeCdata(value: string): string | undefined {
  if (/[\]>]/.test(value)) {
    const escaped = escapeText(value);
    return escaped === undefined ? undefined : `${CDATA.close}${escaped}${CDATA.open}`;
  }
  return CHARACTERS.test(value) ? value : undefined;
}
