import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findPlaceholders, type Placeholder, PlaceholderFault } from './grammar.ts';

/** A stretch of a payload in which placeholders may stand, decoded. */
export interface Stretch {
  readonly text: string;
  /** Where the character at this index of `text` begins in the payload; defined for the index after the last, too. */
  offsetOf(index: number): number;
  /** Of the character at this index, for people: a JSON pointer, or `line 7`. */
  placeOf(index: number): string;
  /** Where the character at this index is, counted as people do: `character 5 of the value`. */
  positionOf(index: number): string;
  /** The value as it must be written there; undefined when it cannot stand there. */
  write(value: string): string | undefined;
}

/** A placeholder where it stands in a payload. */
export interface Mark {
  readonly placeholder: Placeholder;
  /** In the payload, as [start, end). */
  readonly start: number;
  readonly end: number;
  readonly place: string;
  /** From 1, in the order of the payload. */
  readonly number: number;
  write(value: string): string | undefined;
}

/** Throws `invalid_placeholder`. */
export function markStretch(stretch: Stretch, marks: Mark[]): void {
  const before = marks.length;
  try {
    for (const { placeholder, start, end } of findPlaceholders(stretch.text, LIMITS.placeholders - before)) {
      const number = marks.length + 1;
      const write = (value: string): string | undefined => stretch.write(value);
      const span = { start: stretch.offsetOf(start), end: stretch.offsetOf(end) };
      marks.push({ placeholder, ...span, place: stretch.placeOf(start), number, write });
    }
  } catch (error) {
    if (!(error instanceof PlaceholderFault)) throw error;
    const at = { place: stretch.placeOf(error.at), number: before + error.number };
    throw faultAt(at, `${stretch.positionOf(error.at)}: ${error.message}`);
  }
}

/** A failure that names the number and the place of a placeholder, and nothing of its text. */
export const faultAt = (
  { place, number }: Pick<Mark, 'place' | 'number'>,
  what: string,
  code: 'invalid_placeholder' | 'unknown_token' | 'unknown_capture' = 'invalid_placeholder',
): Failure => new Failure(code, { field: place, message: `placeholder ${number}: ${what}` });

/** A mark with what comes in its place. */
export interface Filled {
  readonly mark: Mark;
  readonly value: string;
}

/** The payload with each mark replaced; everything else stays as it is. Throws `invalid_placeholder`. */
export function replaceMarks(payload: string, filled: readonly Filled[]): string {
  let result = '';
  let at = 0;
  for (const { mark, value } of filled) {
    const written = mark.write(value);
    if (written === undefined) throw faultAt(mark, 'the value cannot be written in this place');
    result += payload.slice(at, mark.start) + written;
    at = mark.end;
  }
  return result + payload.slice(at);
}

/** For stretches that people see alone. */
export const positionInValue = (index: number): string => `character ${index + 1} of the value`;

/** Counts lines; asked for ascending offsets it reads the text once. */
export function lineCounter(text: string, firstLine: number): (offset: number) => string {
  const ends = text.matchAll(/\r\n|\r|\n/g);
  let line = firstLine;
  let next = ends.next();
  return (offset) => {
    for (; next.done !== true && next.value.index < offset; next = ends.next()) line++;
    return `line ${line}`;
  };
}
