import { isUtf8 } from 'node:buffer';
import { LIMITS } from '../kernel/limits.ts';

/** A line of a text, without its end. */
export interface TextLine {
  /** Counted from 1. */
  readonly number: number;
  /** Undefined for a line that is longer than the limit: it is skipped without being held in memory. */
  readonly bytes: Buffer | undefined;
}

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
      lines.push(line.end(chunk.subarray(start, end)));
      start = end + 1;
    }
    line.add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (!line.isEmpty) yield [line.end(NOTHING)];
}

/** A line of which the beginning has arrived. */
class OpenLine {
  readonly #maxBytes: number;
  #number = 1;
  #bytes = NOTHING;
  #isTooLong = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0 && !this.#isTooLong;
  }

  add(bytes: Buffer): void {
    if (this.#isTooLong || bytes.length === 0) return;
    if (this.#bytes.length + bytes.length > this.#maxBytes) {
      this.#isTooLong = true;
      this.#bytes = NOTHING;
    } else this.#bytes = Buffer.concat([this.#bytes, bytes]);
  }

  end(rest: Buffer): TextLine {
    const isTooLong = this.#isTooLong || this.#bytes.length + rest.length > this.#maxBytes;
    const bytes = this.#bytes.length === 0 ? rest : Buffer.concat([this.#bytes, rest]);
    const line = { number: this.#number++, bytes: isTooLong ? undefined : bytes };
    this.#bytes = NOTHING;
    this.#isTooLong = false;
    return line;
  }
}

const BYTE_ORDER_MARK = '\ufeff';

/** Decodes a line, without a carriage return at its end and a byte order mark of the first one; undefined unless it is UTF-8. */
export function decodeLine({ number, bytes }: { number: number; bytes: Buffer }): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const end = text.endsWith('\r') ? text.length - 1 : text.length;
  return text.slice(number === 1 && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0, end);
}
