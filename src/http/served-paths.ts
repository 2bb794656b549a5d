import { LIMITS } from '../kernel/limits.ts';
import type { Family } from './envelopes.ts';

interface Served {
  /** A pattern: a segment that begins with a colon is a parameter, and an asterisk at the end is any rest. */
  readonly path: string;
  readonly method: string;
  /** Shape of its failures. */
  readonly family: Family;
}

/** A path of a listener with the methods that it serves. */
export interface ServedPath {
  readonly path: string;
  readonly family: Family;
  /** In the order of their routes. */
  readonly methods: readonly string[];
}

/**
 * The paths of a listener, for requests whose method is not served. The router has a tree for each method, so it would
 * have to know each path some thirty times to find these, which took longer than the rest of a start.
 */
export class ServedPaths {
  readonly #paths = new Map<string, ServedPath>();

  add({ path, method, family }: Served): void {
    this.#paths.set(path, { path, family, methods: [...(this.#paths.get(path)?.methods ?? []), method] });
  }

  /**
   * Finds the path of a URL as the router does: the origin, the query and a trailing slash do not count. The URL can be decoded,
   * because the router has rejected others.
   */
  find(url: string): ServedPath | undefined {
    const path = url.replace(ORIGIN, '').replace(QUERY, '').replace(TRAILING_SLASH, '') || '/';
    const segments = path.split('/').map(decodeURIComponent);
    const found = [...this.#paths.values()].filter((each) => matches(each.path, segments));
    return found.find((each) => !each.path.includes(':')) ?? found[0];
  }

  /**
   * Lists the methods that a path does not serve, but a pattern that includes the path: no token is called `search`. The
   * router would take such a request for one of the other route.
   */
  hiddenMethods(): Pick<Served, 'path' | 'method'>[] {
    const all = [...this.#paths.values()];
    return all.flatMap(({ path, methods }) => {
      const including = all.filter((other) => other.path !== path && matches(other.path, path.split('/')));
      const hidden = new Set(including.flatMap((other) => other.methods)).difference(new Set(methods));
      return [...hidden].map((method) => ({ path, method }));
    });
  }
}

const ORIGIN = /^https?:\/\/[^/?]*/i;
const QUERY = /[?#].*$/s;
/** The slash of the root is none. */
const TRAILING_SLASH = /(?<=.)\/$/;

function matches(pattern: string, segments: readonly string[]): boolean {
  const expected = pattern.split('/');
  const isOpen = expected.at(-1) === '*';
  if (isOpen) expected.pop();
  if (isOpen ? segments.length <= expected.length : segments.length !== expected.length) return false;
  return expected.every((name, index) => {
    const segment = segments[index] ?? '';
    return name.startsWith(':') ? segment.length <= LIMITS.pathParameterCharacters : segment === name;
  });
}
