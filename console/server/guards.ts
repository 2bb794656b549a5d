import type { GuardedRoute, RequestHead } from '../../src/http/json-routes.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { assertStage, isCsrfToken } from '../people/session.ts';
import type { Sessions } from '../people/sessions.ts';
import type { Definition } from '../wire/definition.ts';
import { signOut } from '../wire/session.ts';
import { parseSessionCookie } from './cookie.ts';
import { assertSameOrigin } from './same-origin.ts';

interface GuardOptions {
  readonly sessions: Sessions;
  /** As the operator set it; absent: whatever host the browser names. */
  readonly consoleUrl: string | undefined;
}

/** Tries to sign in; each is counted, also of who lacks the cookie. */
const COUNTED_ACCESS = new Set<Definition['access']>(['signing-in', 'enrolling']);

/**
 * What can be refused before a body is read, so that strangers fill no memory. The dispatcher checks all of it again, in the
 * same order and with the same failures; but for the word of who signs out, because it asks no session of `public`.
 */
export class Guards {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  of(definition: Definition): Pick<GuardedRoute, 'bodyLimit' | 'guard'> {
    return {
      bodyLimit: definition.largeBody === true ? LIMITS.bodyBytes : LIMITS.consoleBodyBytes,
      guard: (head) => this.#check(definition, head),
    };
  }

  /** Throws `cross_site`, `not_signed_in`. */
  async #check(definition: Definition, head: RequestHead): Promise<void> {
    const { method, access, largeBody: longBody } = definition;
    const [host, origin, site] = ['host', 'origin', 'sec-fetch-site'].map((name) => head.header(name));
    assertSameOrigin({ method, host, origin, site }, this.#options.consoleUrl);
    if (definition === signOut) return this.#assertMaySignOut(head);
    const secret = parseSessionCookie(head.header('cookie'));
    if (access === 'public' || COUNTED_ACCESS.has(access)) return;
    if (secret === undefined) throw new Failure('not_signed_in');
    if (longBody === true) await this.#assertSession(secret, head);
  }

  /** A cookie of the right form is easily made up. */
  async #assertSession(secret: string, head: RequestHead): Promise<void> {
    const session = await this.#options.sessions.find(secret, { isPassive: true });
    if (session === undefined) throw new Failure('not_signed_in');
    assertStage('signed-in', session);
    if (!isCsrfToken(session, head.header('x-csrf-token'))) throw new Failure('cross_site');
  }

  /** Whoever has a session ends it with its word, as they make any other change; who has none may sign out in vain. */
  async #assertMaySignOut(head: RequestHead): Promise<void> {
    const session = await this.#options.sessions.find(parseSessionCookie(head.header('cookie')), { isPassive: true });
    if (session !== undefined && !isCsrfToken(session, head.header('x-csrf-token'))) throw new Failure('cross_site');
  }
}
