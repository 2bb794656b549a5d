import { escapeForJson } from './in-json.ts';
import { createLineCounter, type LocatedPlaceholder, locateIn } from './located-placeholder.ts';

/** Locates the placeholders of a text; their values are escaped as in a JSON string. Throws `invalid_placeholder`. */
export function locateInText(text: string): LocatedPlaceholder[] {
  const located: LocatedPlaceholder[] = [];
  const positionOf = (index: number): string => `character ${index - findLineStart(text, index) + 1} of the line`;
  const offsetOf = (index: number): number => index;
  locateIn({ text, offsetOf, locationOf: createLineCounter(text, 1), positionOf, encode: escapeForJson }, located);
  return located;
}

const findLineStart = (text: string, index: number): number =>
  Math.max(text.lastIndexOf('\n', index - 1), text.lastIndexOf('\r', index - 1)) + 1;
