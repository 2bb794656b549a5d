import { parseJson, type TextValue } from '../kernel/json.ts';
import { positionAt } from '../kernel/text-position.ts';
import { characterOfValue, type LocatedPlaceholder, locateIn } from './located-placeholder.ts';

/** Escapes as `JSON.stringify` does, without the quotes. */
export const escapeForJson = (value: string): string => JSON.stringify(value).slice(1, -1);

/** An opening brace, as it is or escaped, twice. */
const MAY_CONTAIN_PLACEHOLDER = /(?:\{|\\u007b){2}/i;

/**
 * Locates the placeholders in the string values of a JSON text; keys are not searched. In reported locations, keys that
 * are not `known` appear as `*`, because a caller may have put anything there. Throws `malformed_json` (a text without
 * placeholders is not parsed), `invalid_placeholder`.
 */
export function locateInJson(text: string, known: ReadonlySet<string>): LocatedPlaceholder[] {
  const located: LocatedPlaceholder[] = [];
  if (!MAY_CONTAIN_PLACEHOLDER.test(text)) return located;
  parseJson(text, (found) => {
    if (!found.value.includes('{{')) return;
    const pointer = pointerOf(found, known);
    const offsetOf = mapOffsets(text, found);
    const span = {
      text: found.value,
      offsetOf,
      positionOf: (index: number) => positionAt(text, offsetOf(index)),
      locationOf: () => pointer,
      characterOf: characterOfValue,
      encode: escapeForJson,
    };
    locateIn(span, located);
  });
  return located;
}

/**
 * RFC 6901; known keys contain nothing that needs escaping. Where a key is hidden, the position in the body identifies
 * the value.
 */
function pointerOf({ path, start }: TextValue, known: ReadonlySet<string>): string {
  const isKnown = (step: string | number): boolean => typeof step === 'number' || known.has(step);
  const pointer = path.map((step) => `/${isKnown(step) ? step : '*'}`).join('') || '/';
  return path.every(isKnown) ? pointer : `${pointer} (character ${start + 1} of the body)`;
}

function mapOffsets(text: string, { value, start, end }: TextValue): (index: number) => number {
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
