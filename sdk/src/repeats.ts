/** Shorter values are in many texts by chance. */
const SHORTEST = 3;
/** Words such as `token` and `USD`, which a text of the service may have for reasons of its own. */
const WORD = /^(?:[a-z_]+|[A-Z]{3})$/;
const DIGITS = /\d{3,}/g;

/** Adds the strings and numbers of a parsed body, without the names of its members. */
function addLeaves(value: unknown, leaves: string[]): void {
  if (typeof value === 'string') leaves.push(value);
  else if (typeof value === 'number') leaves.push(String(value));
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) addLeaves(each, leaves);
}

function leavesOf(body: string): string[] {
  const leaves: string[] = [];
  try {
    addLeaves(JSON.parse(body), leaves);
  } catch {
    leaves.push(body);
  }
  return leaves;
}

/**
 * Returns whether a text has a value of a request in it: one of its strings, as it is or as JSON writes it, or any number of its
 * digits. Texts of the service never do, but something between client and service may respond with what it was sent.
 */
export function repeatsValue(text: string, parts: readonly string[]): boolean {
  const values = parts.flatMap(leavesOf).filter((value) => value.length >= SHORTEST && !WORD.test(value));
  const written = (value: string): string[] => [value, JSON.stringify(value).slice(1, -1)];
  if (values.some((value) => /\D/.test(value) && written(value).some((each) => text.includes(each)))) return true;
  const numbers = new Set(values.flatMap((value) => value.match(DIGITS) ?? []));
  return (text.match(DIGITS) ?? []).some((digits) => numbers.has(digits));
}
