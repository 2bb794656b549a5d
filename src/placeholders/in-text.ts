import { escapeForJson } from './in-json.ts';
import { lineCounter, type Mark, markStretch } from './mark.ts';

/** The placeholders anywhere in a text of any form; their values are escaped as in a JSON string. Throws `invalid_placeholder`. */
export function markText(text: string): Mark[] {
  const marks: Mark[] = [];
  const positionOf = (index: number): string => `character ${index - lineStart(text, index) + 1} of the line`;
  const offsetOf = (index: number): number => index;
  markStretch({ text, offsetOf, placeOf: lineCounter(text, 1), positionOf, write: escapeForJson }, marks);
  return marks;
}

const lineStart = (text: string, index: number): number =>
  Math.max(text.lastIndexOf('\n', index - 1), text.lastIndexOf('\r', index - 1)) + 1;
