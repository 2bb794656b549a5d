/** A place in a text, counted from 1; the column counts UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

const LF = 0x0a;
const CR = 0x0d;

/** Returns the position of an offset. Lines end with LF, CR or both. */
export function positionAt(text: string, offset: number): TextPosition {
  let line = 1;
  let start = 0;
  // Without an object for each line: a failure reads the whole payload before it.
  for (let at = 0; at < offset; at++) {
    const code = text.charCodeAt(at);
    if (code !== LF && (code !== CR || text.charCodeAt(at + 1) === LF)) continue;
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}
