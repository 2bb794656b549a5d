import { isUtf8 } from 'node:buffer';
import { LIMITS } from '../kernel/limits.ts';

/** `first`, `next` and `last`: the parts of a line that is longer than the limit, so that memory never holds all of it. */
type LinePart = 'whole' | 'first' | 'next' | 'last';

/** A line of a text, or a part of one, without its end. */
export interface TextLine {
  /** Counted from 1; the parts of a line have one number. */
  readonly number: number;
  readonly part: LinePart;
  readonly bytes: Buffer;
}

export const beginsLine = ({ part }: TextLine): boolean => part === 'whole' || part === 'first';
export const endsLine = ({ part }: TextLine): boolean => part === 'whole' || part === 'last';

const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

/** Splits bytes into lines, in groups of those that arrive together. The last line needs no end. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = LIMITS.importLineBytes,
): AsyncGenerator<readonly TextLine[]> {
  const line = new OpenLine(maxBytes);
  for await (const { buffer, byteOffset, length } of chunks) {
    const chunk = Buffer.from(buffer, byteOffset, length);
    const lines: TextLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(...line.end(chunk.subarray(start, end)));
      start = end + 1;
    }
    lines.push(...line.add(chunk.subarray(start)));
    if (lines.length > 0) yield lines;
  }
  if (!line.isEmpty) yield line.end(NOTHING);
}

/** A line of which the beginning has arrived. */
class OpenLine {
  readonly #maxBytes: number;
  #number = 1;
  /** The beginning of a line within the limit. */
  #bytes: Buffer = NOTHING;
  #isTooLong = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0 && !this.#isTooLong;
  }

  /** Returns the bytes at once when they belong to a line beyond the limit. */
  add(bytes: Buffer): TextLine[] {
    if (bytes.length === 0) return [];
    if (this.#isTooLong) return [this.#part('next', bytes)];
    const beginning = Buffer.concat([this.#bytes, bytes]);
    this.#isTooLong = beginning.length > this.#maxBytes;
    this.#bytes = this.#isTooLong ? NOTHING : beginning;
    return this.#isTooLong ? [this.#part('first', beginning)] : [];
  }

  end(rest: Buffer): TextLine[] {
    const parts = this.#endParts(rest);
    this.#number++;
    this.#bytes = NOTHING;
    this.#isTooLong = false;
    return parts;
  }

  #endParts(rest: Buffer): TextLine[] {
    if (this.#isTooLong) return [this.#part('last', rest)];
    const line = this.#bytes.length === 0 ? rest : Buffer.concat([this.#bytes, rest]);
    return line.length > this.#maxBytes
      ? [this.#part('first', line), this.#part('last', NOTHING)]
      : [this.#part('whole', line)];
  }

  #part(part: LinePart, bytes: Buffer): TextLine {
    return { number: this.#number, part, bytes };
  }
}

const BYTE_ORDER_MARK = '\ufeff';

/** Decodes a line, without a carriage return at its end and a byte order mark of the first one; undefined unless it is UTF-8. */
export function decodeLine({ number, bytes }: Omit<TextLine, 'part'>): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const end = text.endsWith('\r') ? text.length - 1 : text.length;
  return text.slice(number === 1 && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0, end);
}
