import { escapeForJson } from './in-json.ts';
import { lineCounter, type Mark, markStretch } from './mark.ts';

/** The placeholders anywhere in a text of any form; their values are escaped as in a JSON string. Throws `invalid_placeholder`. */
export function markText(text: string): Mark[] {
  const marks: Mark[] = [];
  markStretch({ text, offsetOf: (index) => index, placeOf: lineCounter(text, 1), write: escapeForJson }, marks);
  return marks;
}
