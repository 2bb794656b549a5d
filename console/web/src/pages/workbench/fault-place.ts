/** Where in a payload the fault lies that an endpoint tells of (guide of the placeholders: Errors). */
interface FaultPlace {
  /** From 1, in the order of the payload. */
  readonly placeholder: number | undefined;
  /** A JSON pointer. */
  readonly pointer: string | undefined;
  /** From 1. */
  readonly line: number | undefined;
}

const lineAt = (payload: string, offset: number): number => payload.slice(0, offset).split('\n').length;

/** The number that the pattern finds. */
function numberIn(description: string, pattern: RegExp): number | undefined {
  const [, digits] = pattern.exec(description) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function offsetOfPlaceholder(payload: string, number: number): number | undefined {
  const begins = [...payload.matchAll(/\{\{/g)];
  return begins[number - 1]?.index;
}

export function faultPlace(payload: string, description: string): FaultPlace {
  const placeholder = numberIn(description, /\bplaceholder (\d+)\b/);
  const [, pointer] = /^(\/\S*?)(?=:? )/.exec(description) ?? [];
  const character =
    numberIn(description, /character (\d+) of the body/) ?? numberIn(description, /JSON at character (\d+)/);
  const offset = character === undefined ? undefined : character - 1;
  const found = offset ?? (placeholder === undefined ? undefined : offsetOfPlaceholder(payload, placeholder));
  const line = numberIn(description, /\bline (\d+)\b/) ?? (found === undefined ? undefined : lineAt(payload, found));
  return { placeholder, pointer, line };
}
