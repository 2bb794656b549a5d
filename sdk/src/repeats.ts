/** Shorter values are in many texts by chance. */
const SHORTEST = 3;
/** Words such as `token` and `USD`, which a text of the service may have for reasons of its own. */
const WORD = /^(?:[a-z_]+|[A-Z]{3})$/;
const DIGITS = /\d{3,}/g;
/** Digits that JSON.parse would round. */
const LONG_DIGITS = /\d{16,}/g;
/** What texts of the service have whatever was sent: places in lists, addresses of this machine, and the example of a time. */
const OWN = /(?<=\w)\[\d{1,3}\]|http:\/\/localhost|(?:http:\/\/)?127\.0\.0\.1|\d{4}-\d{2}-\d{2}T[\d:.]+Z/g;

/** Adds the strings and numbers of a parsed body, without the names of its members. */
function addLeaves(value: unknown, leaves: string[]): void {
  if (typeof value === 'string') leaves.push(value);
  else if (typeof value === 'number') leaves.push(String(value));
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) addLeaves(each, leaves);
}

function leavesOf(part: string): string[] {
  const leaves: string[] = [];
  try {
    const value: unknown = JSON.parse(part);
    if (typeof value !== 'object' || value === null) leaves.push(part);
    addLeaves(value, leaves);
  } catch {
    leaves.push(part);
  }
  return leaves;
}

/**
 * Returns whether a text has a value of a request in it: one of its strings, as it is or as JSON writes it, or a run of three or more of
 * its digits. Texts of the service have none but by chance, such as a limit of 255 in the response to an amount of 255; something
 * between client and service may respond with what it was sent. Of a body that is no JSON only digits and the whole are known.
 */
export function repeatsValue(text: string, parts: readonly string[]): boolean {
  const own = text.replace(OWN, '');
  const values = parts.flatMap(leavesOf).filter((value) => value.length >= SHORTEST && !WORD.test(value));
  const written = (value: string): string[] => [value, JSON.stringify(value).slice(1, -1)];
  if (values.some((value) => /\D/.test(value) && written(value).some((each) => own.includes(each)))) return true;
  const numbers = new Set([
    ...values.flatMap((value) => value.match(DIGITS) ?? []),
    ...parts.flatMap((part) => part.match(LONG_DIGITS) ?? []),
  ]);
  return (own.match(DIGITS) ?? []).some((digits) => numbers.has(digits));
}
