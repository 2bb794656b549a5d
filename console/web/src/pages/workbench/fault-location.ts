/**
 * Location of the fault in a payload, parsed from the endpoint's description (see Errors in the guide about
 * placeholders).
 */
interface FaultLocation {
  /** Number of the placeholder in the payload, from 1. */
  readonly placeholder: number | undefined;
  /** JSON pointer. */
  readonly pointer: string | undefined;
  /** Line, from 1. */
  readonly line: number | undefined;
}

const lineAt = (payload: string, offset: number): number => payload.slice(0, offset).split('\n').length;

/** Returns the number that the pattern matches. */
function matchNumber(description: string, pattern: RegExp): number | undefined {
  const [, digits] = pattern.exec(description) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function findPlaceholderOffset(payload: string, number: number): number | undefined {
  const begins = [...payload.matchAll(/\{\{/g)];
  return begins[number - 1]?.index;
}

export function locateFault(payload: string, description: string): FaultLocation {
  const placeholder = matchNumber(description, /\bplaceholder (\d+)\b/);
  const [, pointer] = /^(\/\S*?)(?=:? )/.exec(description) ?? [];
  const character =
    matchNumber(description, /character (\d+) of the body/) ?? matchNumber(description, /JSON at character (\d+)/);
  const offset = character === undefined ? undefined : character - 1;
  const found = offset ?? (placeholder === undefined ? undefined : findPlaceholderOffset(payload, placeholder));
  const line = matchNumber(description, /\bline (\d+)\b/) ?? (found === undefined ? undefined : lineAt(payload, found));
  return { placeholder, pointer, line };
}
