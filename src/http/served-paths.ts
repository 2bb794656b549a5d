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
interface ServedPath {
  readonly path: string;
  readonly family: Family;
  /** In the order of their routes. */
  readonly methods: readonly string[];
  readonly segments: readonly string[];
}

/**
 * The paths of a listener, for requests whose method is not served. The router has a tree for each method, so it would
 * have to know each path some thirty times to find these, which took longer than the rest of a start.
 */
export class ServedPaths {
  readonly #paths = new Map<string, ServedPath>();

  add({ path, method, family }: Served): void {
    const methods = [...(this.#paths.get(path)?.methods ?? []), method];
    this.#paths.set(path, { path, family, methods, segments: path.split('/') });
  }

  /**
   * Finds the path of a URL as the router does: the origin, the query and a trailing slash do not count. The URL can be decoded,
   * because the router has rejected others.
   */
  find(url: string): ServedPath | undefined {
    const path = url.replace(ORIGIN, '').replace(QUERY, '').replace(TRAILING_SLASH, '') || '/';
    const found = this.#matching(path.split('/').map(decodeURIComponent));
    return found.sort((one, other) => countParameters(one) - countParameters(other))[0];
  }

  /**
   * Lists the methods that a path does not serve, but a pattern that includes the path: no token is called `search`. The
   * router would take such a request for one of the other route.
   */
  hiddenMethods(): Pick<Served, 'path' | 'method'>[] {
    return [...this.#paths.values()].flatMap(({ path, methods, segments }) => {
      const including = this.#matching(segments).flatMap((each) => each.methods);
      return [...new Set(including).difference(new Set(methods))].map((method) => ({ path, method }));
    });
  }

  #matching(segments: readonly string[]): ServedPath[] {
    return [...this.#paths.values()].filter((each) => matches(each.segments, segments));
  }
}

const ORIGIN = /^https?:\/\/[^/?]*/i;
const QUERY = /[?#].*$/s;
/** The slash of the root is none. */
const TRAILING_SLASH = /(?<=.)\/$/;

const countParameters = ({ segments }: ServedPath): number =>
  segments.filter((segment) => segment.startsWith(':') || segment === '*').length;

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*';
  const count = isOpen ? pattern.length - 1 : pattern.length;
  if (isOpen ? segments.length <= count : segments.length !== count) return false;
  for (let index = 0; index < count; index++) {
    const [name = '', segment = ''] = [pattern[index], segments[index]];
    if (name.startsWith(':') ? segment.length > LIMITS.pathParameterCharacters : segment !== name) return false;
  }
  return true;
}
