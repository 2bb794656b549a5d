import { explain } from '../kernel/reasons.ts';
import { positionAt } from '../kernel/text-position.ts';
import { escapeForJson } from './in-json.ts';
import { type DecodedSpan, type LocatedPlaceholder, locateIn } from './located-placeholder.ts';

/** Locates the placeholders of a text; their values are escaped as in a JSON string. Throws `invalid_placeholder`. */
export function locateInText(text: string): LocatedPlaceholder[] {
  const located: LocatedPlaceholder[] = [];
  const span: DecodedSpan = {
    text,
    offsetOf: (index) => index,
    positionOf: (index) => positionAt(text, index),
    locationOf: (index) => `line ${positionAt(text, index).line}`,
    characterOf: (index) => explain('characterOfLine', { character: positionAt(text, index).column }),
    encode: escapeForJson,
  };
  locateIn(span, located);
  return located;
}
