import { lineCounter, type Mark, markStretch, positionInValue } from './mark.ts';

/**
 * The placeholders in the text, CDATA and attribute values of an element that was checked to be well-formed; names,
 * comments and namespace declarations are not looked at. `firstLine` is that of the element. Throws
 * `invalid_placeholder`.
 */
export function markXml(text: string, firstLine: number): Mark[] {
  const marks: Mark[] = [];
  const lineOf = lineCounter(text, firstLine);
  const hasBraces = finder(text, '{{');
  const hasReference = finder(text, '&#');
  for (const { start, end, write, isLiteral } of stretchesOf(text)) {
    if (!hasBraces(start, end) && (isLiteral || !hasReference(start, end))) continue;
    const raw = text.slice(start, end);
    const decoded = isLiteral || !raw.includes('&') ? undefined : decode(raw);
    const offsetOf = (index: number): number => start + (decoded === undefined ? index : (decoded.offsets[index] ?? 0));
    const placeOf = (index: number): string => lineOf(offsetOf(index));
    markStretch({ text: decoded?.text ?? raw, offsetOf, placeOf, positionOf: positionInValue, write }, marks);
  }
  return marks;
}

/** Does it stand in [start, end)? Asked for ascending stretches it reads the text once. */
function finder(text: string, sign: string): (start: number, end: number) => boolean {
  let next = text.indexOf(sign);
  return (start, end) => {
    if (next >= 0 && next < start) next = text.indexOf(sign, start);
    return next >= 0 && next + sign.length <= end;
  };
}

interface RawStretch {
  readonly start: number;
  readonly end: number;
  /** Entities mean nothing in it. */
  readonly isLiteral: boolean;
  write(value: string): string | undefined;
}

const COMMENT = { open: '<!--', close: '-->' };
const CDATA = { open: '<![CDATA[', close: ']]>' };
// Names may hold what JavaScript takes for blanks and XML does not.
const TAG = /<[^ \t\r\n/>]+/y;
const ATTRIBUTE = /[ \t\r\n]*([^ \t\r\n=/>]+)[ \t\r\n]*=[ \t\r\n]*(["'])/y;

function* stretchesOf(text: string): Generator<RawStretch> {
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '<') {
      const end = indexOrEnd(text, '<', at);
      yield { start: at, end, isLiteral: false, write: escapeText };
      at = end;
    } else if (text.startsWith(COMMENT.open, at)) {
      at = text.indexOf(COMMENT.close, at + COMMENT.open.length) + COMMENT.close.length;
    } else if (text.startsWith(CDATA.open, at)) {
      const end = text.indexOf(CDATA.close, at);
      yield { start: at + CDATA.open.length, end, isLiteral: true, write: escapeCdata };
      at = end + CDATA.close.length;
    } else {
      at = yield* attributesOf(text, at);
    }
  }
}

/** Those of the tag that begins here; returns where it ends. */
function* attributesOf(text: string, tagAt: number): Generator<RawStretch, number> {
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

function indexOrEnd(text: string, sign: string, at: number): number {
  const index = text.indexOf(sign, at);
  return index < 0 ? text.length : index;
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const REFERENCE = /&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-z]+));/y;

function decode(raw: string): { text: string; offsets: Uint32Array } {
  const offsets = new Uint32Array(raw.length + 1);
  const pieces: string[] = [];
  let length = 0;
  for (let at = 0; at < raw.length; ) {
    let piece = raw[at] ?? '';
    let next = at + 1;
    if (piece === '&') {
      REFERENCE.lastIndex = at;
      const [reference = '', hex, decimal, name = ''] = REFERENCE.exec(raw) ?? [];
      const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal);
      piece = NAMED[name] ?? String.fromCodePoint(code);
      next = at + reference.length;
    }
    for (let unit = 0; unit < piece.length; unit++) offsets[length++] = at;
    pieces.push(piece);
    at = next;
  }
  offsets[length] = raw.length;
  return { text: pieces.join(''), offsets };
}

/** XML 1.0, production 2. A lone surrogate is no character of it. */
const CHARACTERS = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

const escapeSigns = (value: string): string | undefined =>
  CHARACTERS.test(value) ? value.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;') : undefined;

/** Brackets at the end could make `]]>`, which text must not hold, together with what stands behind them. */
const escapeText = (value: string): string | undefined =>
  escapeSigns(value)?.replace(/\]+$/, (brackets) => '&#93;'.repeat(brackets.length));

function escapeAttribute(value: string, quote: string): string | undefined {
  const escaped = escapeSigns(value)?.replace(/"/g, '&quot;');
  return quote === "'" ? escaped?.replace(/'/g, '&apos;') : escaped;
}

/** Literal, unless it could help to end the section; then it stands outside, between two sections. */
function escapeCdata(value: string): string | undefined {
  if (/[\]>]/.test(value)) {
    const escaped = escapeText(value);
    return escaped === undefined ? undefined : `${CDATA.close}${escaped}${CDATA.open}`;
  }
  return CHARACTERS.test(value) ? value : undefined;
}
