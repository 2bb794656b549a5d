import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';
import type { TextPosition } from '../kernel/text-position.ts';
import { findPlaceholders, type Placeholder, PlaceholderSyntaxError } from './grammar.ts';

/** A decoded part of a payload that may contain placeholders. Indexes count in `text`. */
export interface DecodedSpan {
  readonly text: string;
  /** The offset in the payload of the character at this index; defined for the index after the last, too. */
  offsetOf(index: number): number;
  /** Returns the position of the character in the payload. */
  positionOf(index: number): TextPosition;
  /** Returns the location of the character as failures name it: a JSON pointer, or `line 7`. */
  locationOf(index: number): string;
  /** Returns the position of the character in its value or line. */
  characterOf(index: number): Explanation;
  /** Returns the value as it must be written there; undefined when it cannot be written there. */
  encode(value: string): string | undefined;
}

/** A placeholder with its position in a payload. */
export interface LocatedPlaceholder {
  readonly placeholder: Placeholder;
  /** Offsets in the payload, [start, end). */
  readonly start: number;
  readonly end: number;
  /** Counts from 1, in the order of the payload. */
  readonly number: number;
  /** Returns the location as failures name it: a field, a JSON pointer, or `line 7`. */
  location(): string;
  /** Returns its start in the payload; undefined when it is a separate field. */
  position(): TextPosition | undefined;
  encode(value: string): string | undefined;
}

/** Throws `invalid_placeholder`. */
export function locateIn(decoded: DecodedSpan, located: LocatedPlaceholder[]): void {
  const before = located.length;
  try {
    for (const { placeholder, start, end } of findPlaceholders(decoded.text, LIMITS.placeholders - before)) {
      located.push({
        placeholder,
        start: decoded.offsetOf(start),
        end: decoded.offsetOf(end),
        number: located.length + 1,
        location: () => decoded.locationOf(start),
        position: () => decoded.positionOf(start),
        encode: (value) => decoded.encode(value),
      });
    }
  } catch (error) {
    if (!(error instanceof PlaceholderSyntaxError)) throw error;
    const { at, explanation: problem } = error;
    const values = { placeholder: before + error.number, position: decoded.characterOf(at), problem };
    throw new Failure('invalid_placeholder', explain('placeholderSyntax', { ...values, ...decoded.positionOf(at) }), {
      field: decoded.locationOf(at),
    });
  }
}

/** Builds a failure that names number and location of a placeholder, and nothing of its text. */
export const placeholderFailure = (
  { number, location, position }: Pick<LocatedPlaceholder, 'number' | 'location' | 'position'>,
  problem: Explanation,
  code: 'invalid_placeholder' | 'unknown_token' | 'unknown_capture' = 'invalid_placeholder',
): Failure =>
  new Failure(code, explain('placeholder', { placeholder: number, problem, ...position() }), { field: location() });

/** A placeholder and the value that replaces it. */
export interface Substitution {
  readonly located: LocatedPlaceholder;
  readonly value: string;
}

/** Returns the payload with each placeholder replaced; all other bytes are unchanged. Throws `invalid_placeholder`. */
export function substitute(payload: string, substitutions: readonly Substitution[]): string {
  let result = '';
  let at = 0;
  for (const { located, value } of substitutions) {
    const written = located.encode(value);
    if (written === undefined) throw placeholderFailure(located, explain('valueNotWritable'));
    result += payload.slice(at, located.start) + written;
    at = located.end;
  }
  return result + payload.slice(at);
}

/** Returns the position of a character within one value. */
export const characterOfValue = (index: number): Explanation => explain('characterOfValue', { character: index + 1 });
