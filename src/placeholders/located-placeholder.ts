import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { findPlaceholders, type Placeholder, PlaceholderSyntaxError } from './grammar.ts';

/** A decoded part of a payload that may contain placeholders. */
export interface DecodedSpan {
  readonly text: string;
  /** Where the character at this index of `text` begins in the payload; defined for the index after the last, too. */
  offsetOf(index: number): number;
  /** Returns the location of the character at this index: a JSON pointer, or `line 7`. */
  locationOf(index: number): string;
  /** Where the character at this index is, counted as people do: `character 5 of the value`. */
  positionOf(index: number): string;
  /** Returns the value as it must be written there; undefined when it cannot be written there. */
  encode(value: string): string | undefined;
}

/** A placeholder with its position in a payload. */
export interface LocatedPlaceholder {
  readonly placeholder: Placeholder;
  /** Offsets in the payload, [start, end). */
  readonly start: number;
  readonly end: number;
  readonly location: string;
  /** Counts from 1, in the order of the payload. */
  readonly number: number;
  encode(value: string): string | undefined;
}

/** Throws `invalid_placeholder`. */
export function locateIn(decoded: DecodedSpan, located: LocatedPlaceholder[]): void {
  const before = located.length;
  try {
    for (const { placeholder, start, end } of findPlaceholders(decoded.text, LIMITS.placeholders - before)) {
      const number = located.length + 1;
      const encode = (value: string): string | undefined => decoded.encode(value);
      const span = { start: decoded.offsetOf(start), end: decoded.offsetOf(end) };
      located.push({ placeholder, ...span, location: decoded.locationOf(start), number, encode });
    }
  } catch (error) {
    if (!(error instanceof PlaceholderSyntaxError)) throw error;
    const at = { location: decoded.locationOf(error.at), number: before + error.number };
    throw placeholderFailure(at, `${decoded.positionOf(error.at)}: ${error.message}`);
  }
}

/** Builds a failure that names number and location of a placeholder, and nothing of its text. */
export const placeholderFailure = (
  { location, number }: Pick<LocatedPlaceholder, 'location' | 'number'>,
  what: string,
  code: 'invalid_placeholder' | 'unknown_token' | 'unknown_capture' = 'invalid_placeholder',
): Failure => new Failure(code, { field: location, message: `placeholder ${number}: ${what}` });

/** A placeholder and the value that replaces it. */
export interface Substitution {
  readonly located: LocatedPlaceholder;
  readonly value: string;
}

/** Returns the payload with each placeholder replaced; all other bytes stay. Throws `invalid_placeholder`. */
export function substitute(payload: string, substitutions: readonly Substitution[]): string {
  let result = '';
  let at = 0;
  for (const { located, value } of substitutions) {
    const written = located.encode(value);
    if (written === undefined) throw placeholderFailure(located, 'the value cannot be written in this place');
    result += payload.slice(at, located.start) + written;
    at = located.end;
  }
  return result + payload.slice(at);
}

/** Formats a position within one value. */
export const positionInValue = (index: number): string => `character ${index + 1} of the value`;

/** Counts lines; asked for ascending offsets it reads the text once. */
export function createLineCounter(text: string, firstLine: number): (offset: number) => string {
  const ends = text.matchAll(/\r\n|\r|\n/g);
  let line = firstLine;
  let next = ends.next();
  return (offset) => {
    for (; next.done !== true && next.value.index < offset; next = ends.next()) line++;
    return `line ${line}`;
  };
}
