import type { Origin } from '../../src/audit/audit.ts';
import { toKeyedRequest } from '../../src/http/keyed-request.ts';
import { type BucketSource, type TokenBuckets, tokenBucketsPerMinute } from '../../src/http/rate-limit.ts';
import type { Door, RequestHead, ResponseHeaders, RouteCall } from '../../src/http/route.ts';
import type { TransactionContext } from '../../src/idempotency/transaction.ts';
import { ENVIRONMENTS, type Environment } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import { anonymousOrigin, type ClientContext, personOrigin } from '../people/client-context.ts';
import type { Profile } from '../people/people.ts';
import { can, type Role } from '../people/roles.ts';
import { assertStage, assertSteppedUp, isCsrfToken, isSignedIn, type Session } from '../people/session.ts';
import { changeEmail, changePassword, confirmEmail, sendEmailCode } from '../wire/profile.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import {
  EXPIRED_SESSION_COOKIE,
  formatBrowserCookie,
  formatSessionCookie,
  parseBrowserCookie,
  parseSessionCookie,
} from './cookie.ts';
import { translate } from './error-translation.ts';
import type { AnyCall, ConsoleGrant, ConsoleServices, Cookies, Route } from './route.ts';
import { assertSameOrigin } from './same-origin.ts';
import { assertNotSuspended } from './suspended.ts';
import { isId } from './user-input.ts';

const RELYING_PARTY_NAME = 'cardvault';
/** Access that can be requested without a session. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set(['public', 'signing-in', 'enrolling']);
/** These calls hash passwords, reveal whether an email address is known, or send mails, so their number is limited. */
const RATE_LIMITED_PATHS: ReadonlySet<string> = new Set(
  [changePassword, changeEmail, sendEmailCode, confirmEmail].map(({ path }) => path),
);
const STAGES: Readonly<Record<string, Session['stage']>> = { 'signing-in': 'password-given', enrolling: 'enrolling' };

export interface SessionDoorOptions {
  readonly services: ConsoleServices;
  /** The configured address; absent: any host that the browser names. */
  readonly consoleUrl: string | undefined;
  /** Attempts to sign in for each minute and network; 0 is no limit. */
  readonly attemptsPerMinute: number;
  /** For the limits of attempts and calls. */
  readonly buckets: BucketSource;
}

type CallerAccess = Pick<ConsoleGrant, 'person' | 'origin' | 'account' | 'role'>;

/** The door of the console: decides which calls a browser may make, by origin, session, role, and limits. */
export class SessionDoor implements Door<Route, ConsoleGrant> {
  readonly #services: ConsoleServices;
  readonly #consoleUrl: string | undefined;
  readonly #attempts: TokenBuckets | undefined;
  /** Calls in the last minute, by `callerOf`. */
  readonly #calls: TokenBuckets;
  readonly #concurrency = new ConcurrencyLimit(LIMITS.concurrentCallsPerUser);

  constructor({ services, consoleUrl, attemptsPerMinute, buckets }: SessionDoorOptions) {
    this.#services = services;
    this.#consoleUrl = consoleUrl;
    this.#attempts = attemptsPerMinute > 0 ? tokenBucketsPerMinute(buckets, 'attempts', attemptsPerMinute) : undefined;
    this.#calls = tokenBucketsPerMinute(buckets, 'calls', LIMITS.callsPerMinute);
  }

  /**
   * Throws `unsupported_media_type`, `cross_site`, `not_signed_in`, `body_too_large`, `rate_limited`, `unknown_record`,
   * `not_allowed`, `not_possible` or `step_up_required`, in this order of checks.
   */
  async admit(head: RequestHead, route: Route): Promise<ConsoleGrant> {
    assertJson(head);
    const origin = assertSameOrigin(toOriginHeaders(head, route), this.#consoleUrl);
    if (!WITHOUT_SESSION.has(route.access) && parseSessionCookie(head.header('cookie')) === undefined)
      throw new Failure('not_signed_in');
    if (Number(head.header('content-length') ?? 0) > route.bodyLimit) throw new Failure('body_too_large');
    this.#limitAttempts(route, head);
    const session = await this.#findSession(head);
    if (session !== undefined) this.#limitCalls(session, head);
    return this.#grant(head, route, session, origin);
  }

  /** Reads session and role again. Throws what `admit` throws. */
  async confirm(grant: ConsoleGrant, head: RequestHead, route: Route): Promise<ConsoleGrant> {
    return this.#grant(head, route, await this.#findSession(head), grant.relyingParty.origin);
  }

  /** Changes of users are changes of rows of many accounts. */
  contextOf({ origin }: ConsoleGrant): TransactionContext {
    return { origin };
  }

  /** Keys are those of the user alone. Throws `invalid_field`. */
  keyedRequest(grant: ConsoleGrant, head: RequestHead, route: Route, body: Buffer): ReturnType<typeof toKeyedRequest> {
    if (route.takesIdempotencyKey !== true) return undefined;
    return toKeyedRequest(route, head, grant.tenant, { lines: [grant.person?.id ?? ''], body });
  }

  /**
   * Stores the request of a change that needs a second person, and returns the id of the approval. A change that needs none
   * conflicts as `changed_meanwhile` when the account comes under dual control before its commit.
   */
  async intercept(route: Route, anyCall: RouteCall): Promise<{ approval: string; result: null } | undefined> {
    const call = anyCall as AnyCall;
    const { dualControl: action } = route;
    const { environment = 'production' } = call.params;
    if (action === undefined || environment !== 'production') return undefined;
    const { approvals, changeControl } = this.#services;
    if (await changeControl.holdExempt(call.transaction, call.account)) return undefined;
    const summary = (await route.summary?.(call)) ?? [];
    // The body as it was parsed: an approver approves nothing else.
    const requestedCall = { params: call.params, body: call.body === undefined ? '' : JSON.stringify(call.body) };
    const approval = await approvals.request(call.transaction, call, {
      environment,
      action,
      summary,
      call: requestedCall,
    });
    return { approval, result: null };
  }

  translate(error: unknown): unknown {
    return translate(error);
  }

  /** A failure does not change the cookie. */
  addHeaders(headers: ResponseHeaders, grant: ConsoleGrant | undefined, error?: unknown): void {
    if (error !== undefined || grant === undefined) return;
    const lines = [grant.cookies.session, grant.cookies.browser].filter((line) => line !== undefined);
    if (lines.length > 0) headers['set-cookie'] = lines;
  }

  #findSession(head: RequestHead): Promise<Session | undefined> {
    const isPassive = isPassiveCall(head);
    return this.#services.people.sessions.find(parseSessionCookie(head.header('cookie')), { isPassive });
  }

  /** A call without a body cannot be used to guess, so a user whose attempts are used up can still sign out. */
  #limitAttempts({ access, method, body, path }: Route, { address }: RequestHead): void {
    const isAttempt =
      (WITHOUT_SESSION.has(access) && method !== 'GET' && body !== undefined) || RATE_LIMITED_PATHS.has(path);
    if (!isAttempt) return;
    if (this.#attempts?.take(subscriberNetwork(address)).allowed === false) throw new Failure('rate_limited');
  }

  /** A response is in memory until it is sent, even when the client never reads it, so its call counts until then. */
  #limitCalls(session: Session, head: RequestHead): void {
    const caller = callerOf(session);
    if (!this.#calls.take(caller).allowed) throw new Failure('rate_limited');
    head.onFinished(this.#concurrency.acquire(caller));
  }

  async #grant(
    head: RequestHead,
    route: Route,
    session: Session | undefined,
    consoleOrigin: string,
  ): Promise<ConsoleGrant> {
    const client: ClientContext = {
      address: head.address,
      userAgent: head.header('user-agent') ?? '',
      browser: parseBrowserCookie(head.header('cookie')),
      requestId: head.id,
    };
    const access = await this.#authorize(head, route, session, client);
    const { account = '' } = access ?? {};
    const cookies: Cookies = {};
    return {
      at: this.#services.clock(),
      client,
      relyingParty: { id: new URL(consoleOrigin).hostname, name: RELYING_PARTY_NAME, origin: consoleOrigin },
      session,
      isPassive: isPassiveCall(head),
      person: undefined,
      role: undefined,
      origin: anonymousOrigin(client),
      ...access,
      account,
      tenant: { account, environment: head.params['environment'] as Environment },
      cookies,
      setSessionCookie: ({ secret, browser }) => {
        cookies.session = formatSessionCookie(secret);
        if (browser !== undefined) cookies.browser = formatBrowserCookie(browser);
      },
      clearSessionCookie: () => {
        cookies.session = EXPIRED_SESSION_COOKIE;
      },
    };
  }

  /** Undefined for a caller who need not have a session. */
  async #authorize(
    head: RequestHead,
    route: Route,
    session: Session | undefined,
    client: ClientContext,
  ): Promise<CallerAccess | undefined> {
    const { access, method, stepUp } = route;
    const hasToken = session !== undefined && isCsrfToken(session, head.header('x-csrf-token'));
    if (access === 'public') {
      if (route.provesSession === true && session !== undefined && !hasToken) throw new Failure('cross_site');
      return undefined;
    }
    if (session === undefined) throw new Failure('not_signed_in');
    const stage = STAGES[access] ?? 'signed-in';
    assertStage(stage, session);
    if (method !== 'GET' && !hasToken) throw new Failure('cross_site');
    if (stage !== 'signed-in') return undefined;
    // Text that is no id names no record, and a database may reject it.
    if (!Object.values(head.params).every(isId)) throw new Failure('unknown_record');
    const person = await this.#services.people.people.findProfile(session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    const { account, role } = await this.#resolveScope(route, head, person, client);
    await assertNotSuspended(route, { services: this.#services, account });
    if (stepUp === true) assertSteppedUp(session, this.#services.clock());
    return { person, origin: personOrigin(person, client), account, role };
  }

  /** Finds the account and the user's role in it. Other accounts do not exist for the user. */
  async #resolveScope(
    { access, path }: Route,
    { params }: RequestHead,
    person: Profile,
    client: ClientContext,
  ): Promise<{ account: string; role: Role | undefined }> {
    if (access === 'person') return { account: '', role: undefined };
    const account = access === 'operate' ? '' : (params['account'] ?? '');
    const role =
      access !== 'operate' && account === ''
        ? undefined
        : await this.#services.people.team.findRole(account, person.id);
    const isAllowed = role !== undefined && can(role, access as Parameters<typeof can>[1]);
    if (!isAllowed) {
      // A user who is no member must not be able to fill another account's log.
      await this.#recordDenied(path, role === undefined ? '' : account, personOrigin(person, client));
      throw new Failure(role === undefined && access !== 'operate' ? 'unknown_record' : 'not_allowed');
    }
    if (path.includes(':environment') && !ENVIRONMENTS.some((name) => name === params['environment']))
      throw new Failure('unknown_record');
    return { account, role };
  }

  /** The first denial is recorded immediately, and the number of the following ones later. */
  #recordDenied(route: string, account: string, origin: Origin): Promise<void> {
    const event = { action: 'access.denied', outcome: 'role', account, environment: '' } as const;
    const { actor, address = '' } = origin;
    const identity = [event.action, actor.id ?? '', address, account, route];
    return this.#services.people.repeats.record(identity, origin, (times) => [
      { ...event, detail: { route, ...(times !== undefined && { times }) } },
    ]);
  }
}

/**
 * Returns the id under which calls are limited: the user's when both factors were verified, otherwise that of the session, so
 * that an attacker who knows only the password cannot use up the calls of the user.
 */
const callerOf = (session: Session): string => (isSignedIn(session) ? session.person : session.id);

/** A form of another site can send text, but no JSON, without a preflight. Throws `unsupported_media_type`. */
function assertJson(head: RequestHead): void {
  const hasBody = head.header('transfer-encoding') !== undefined || Number(head.header('content-length') ?? 0) > 0;
  const media = (head.header('content-type')?.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isOther = head.header('content-encoding') !== undefined || (hasBody && media !== 'application/json');
  if (isOther) throw new Failure('unsupported_media_type');
}

/**
 * True for a periodic call of a page, which is no activity of the user. A caller who claims it only shortens their own
 * session.
 */
const isPassiveCall = (head: RequestHead): boolean => head.header('x-passive') !== undefined;

const toOriginHeaders = (head: RequestHead, { method }: Route) => ({
  method,
  host: head.header('host'),
  origin: head.header('origin'),
  site: head.header('sec-fetch-site'),
});
