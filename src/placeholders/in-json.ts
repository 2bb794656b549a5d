import { parseJson, type TextValue } from '../kernel/json.ts';
import { type Mark, markStretch } from './mark.ts';

/** As `JSON.stringify` writes it, without the quotes. */
export const escapeForJson = (value: string): string => JSON.stringify(value).slice(1, -1);

/**
 * The placeholders in the string values of a JSON text; keys are not looked at. In places that are told, keys that are
 * not `known` stand as `*`, because a caller may have put anything there. Throws `malformed_json`,
 * `invalid_placeholder`.
 */
export function markJson(text: string, known: ReadonlySet<string>): Mark[] {
  const marks: Mark[] = [];
  parseJson(text, (found) => {
    if (!found.value.includes('{{')) return;
    const place = pointer(found.path, known);
    const offsetOf = offsetsOf(text, found);
    markStretch({ text: found.value, offsetOf, placeOf: () => place, write: escapeForJson }, marks);
  });
  return marks;
}

/** RFC 6901; known keys hold nothing that it would have to escape. */
const pointer = (path: readonly (string | number)[], known: ReadonlySet<string>): string =>
  path.map((step) => `/${typeof step === 'number' || known.has(step) ? step : '*'}`).join('') || '/';

function offsetsOf(text: string, { value, start, end }: TextValue): (index: number) => number {
  const first = start + 1;
  if (end - 1 - first === value.length) return (index) => first + index;
  const offsets: number[] = [];
  for (let at = first; at < end - 1; ) {
    offsets.push(at);
    at += text[at] !== '\\' ? 1 : text[at + 1] === 'u' ? 6 : 2;
  }
  offsets.push(end - 1);
  return (index) => offsets[index] ?? end - 1;
}
