import type { GuardedRoute, RequestHead } from '../../src/http/json-routes.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { isCsrf, mustBeAt } from '../people/session.ts';
import type { Sessions } from '../people/sessions.ts';
import type { Definition } from '../wire/definition.ts';
import { signOut } from '../wire/session.ts';
import { readCookie } from './cookie.ts';
import { originOfConsole } from './same-site.ts';

interface GuardOptions {
  readonly sessions: Sessions;
  /** As the operator set it; absent: whatever host the browser names. */
  readonly consoleUrl: string | undefined;
}

/** Tries to sign in; each is counted, also of who lacks the cookie. */
const COUNTED = new Set<Definition['access']>(['signing-in', 'joining']);

/**
 * What can be refused before a body is read, so that strangers fill no memory. The dispatcher checks all of it again, in the
 * same order and with the same failures; but for the word of who signs out, because it asks no session of `anybody`.
 */
export class Guards {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  of(definition: Definition): Pick<GuardedRoute, 'bodyLimit' | 'guard'> {
    return {
      bodyLimit: definition.longBody === true ? LIMITS.bodyBytes : LIMITS.consoleBodyBytes,
      guard: (head) => this.#guard(definition, head),
    };
  }

  /** Throws `cross_site`, `not_signed_in`. */
  async #guard(definition: Definition, head: RequestHead): Promise<void> {
    const { method, access, longBody } = definition;
    const [host, origin, site] = ['host', 'origin', 'sec-fetch-site'].map((name) => head.header(name));
    originOfConsole({ method, host, origin, site }, this.#options.consoleUrl);
    if (definition === signOut) return this.#mayEnd(head);
    const secret = readCookie(head.header('cookie'));
    if (access === 'anybody' || COUNTED.has(access)) return;
    if (secret === undefined) throw new Failure('not_signed_in');
    if (longBody === true) await this.#mustKnow(secret, head);
  }

  /** A cookie of the right form is easily made up. */
  async #mustKnow(secret: string, head: RequestHead): Promise<void> {
    const session = await this.#options.sessions.find(secret, { passive: true });
    if (session === undefined) throw new Failure('not_signed_in');
    mustBeAt('signed-in', session);
    if (!isCsrf(session, head.header('x-csrf-token'))) throw new Failure('cross_site');
  }

  /** Whoever has a session ends it with its word, as they make any other change; who has none may sign out in vain. */
  async #mayEnd(head: RequestHead): Promise<void> {
    const session = await this.#options.sessions.find(readCookie(head.header('cookie')), { passive: true });
    if (session !== undefined && !isCsrf(session, head.header('x-csrf-token'))) throw new Failure('cross_site');
  }
}
