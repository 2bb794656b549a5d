/** A place in a text, counted from 1; the column counts UTF-16 code units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Returns the position of an offset. Lines end with LF, CR or both. */
export function positionAt(text: string, offset: number): TextPosition {
  let line = 1;
  let start = 0;
  for (const { 0: end, index } of text.matchAll(/\r\n?|\n/g)) {
    if (index + end.length > offset) break;
    line++;
    start = index + end.length;
  }
  return { line, column: offset - start + 1 };
}
