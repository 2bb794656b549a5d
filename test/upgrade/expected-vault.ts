import { isDeepStrictEqual } from 'node:util';

/** A request whose response a later release must return again. */
export interface RecordedRead {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  /** JSON, or text as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly response: unknown;
}

/** The records that a release has acknowledged, and that no upgrade may lose. Card numbers are replaced: see `cards.ts`. */
export interface ExpectedVault {
  readonly release: string;
  /** Unix time in milliseconds, at which the vault was left. Captures in it expire days later. */
  readonly leftAt: number;
  /** The account of everything. */
  readonly account: string;
  readonly keys: { readonly till: string; readonly revoked: string; readonly rotated: string };
  readonly reads: readonly RecordedRead[];
  /** Requests with an Idempotency-Key; each response is repeated. */
  readonly replays: readonly RecordedRead[];
  /** A persistent token by the form of the request. */
  readonly persistent: readonly { readonly form: object; readonly card: number; readonly token: string }[];
  /** Payments whose outcome was unknown, and becomes known. */
  readonly unresolved: readonly string[];
  /** Arguments of commands, and what they print as JSON. */
  readonly commands: readonly { readonly args: readonly string[]; readonly document: unknown }[];
  readonly person: { readonly email: string; readonly password: string; readonly totp: string };
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

/** Changes by itself, by any use. */
const VOLATILE = new Set(['last_used', 'last_used_at', 'lastUsedAt', 'last_delivery', 'operator']);

/**
 * Returns the path of the first member that is missing in the response or has another value; undefined when all of the
 * recorded members are there. A later release may add members.
 */
export function findDifference(recorded: unknown, found: unknown, path = ''): string | undefined {
  if (Array.isArray(recorded)) {
    if (!Array.isArray(found) || found.length !== recorded.length) return path || '/';
    return first(recorded.map((each, index) => () => findDifference(each, found[index], `${path}/${index}`)));
  }
  if (typeof recorded !== 'object' || recorded === null)
    return isDeepStrictEqual(recorded, found) ? undefined : path || '/';
  if (typeof found !== 'object' || found === null) return path || '/';
  const members = Object.entries(recorded).filter(([name]) => !VOLATILE.has(name));
  return first(
    members.map(
      ([name, value]) =>
        () =>
          findDifference(value, (found as Record<string, unknown>)[name], `${path}/${name}`),
    ),
  );
}

function first(comparisons: readonly (() => string | undefined)[]): string | undefined {
  for (const compare of comparisons) {
    const difference = compare();
    if (difference !== undefined) return difference;
  }
  return undefined;
}
