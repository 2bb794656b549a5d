import { buildAuditEntry } from '../../src/audit/audit.ts';
import { createJsonWriter, type JsonRoute, type RawRequest, type RawResponse } from '../../src/http/json-routes.ts';
import { type TokenBuckets, tokenBucketsPerMinute } from '../../src/http/rate-limit.ts';
import { parseBody } from '../../src/http/request-body.ts';
import { ENVIRONMENTS, type Environment, type Tenant } from '../../src/kernel/environment.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { subscriberNetwork } from '../../src/kernel/network.ts';
import { anonymousOrigin, type ClientContext, personOrigin } from '../people/client-context.ts';
import type { Profile } from '../people/people.ts';
import { can, type Role } from '../people/roles.ts';
import { assertStage, assertSteppedUp, isCsrfToken, type Session } from '../people/session.ts';
import type { Definition } from '../wire/definition.ts';
import { changeEmail, changePassword } from '../wire/profile.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import {
  EXPIRED_SESSION_COOKIE,
  formatBrowserCookie,
  formatSessionCookie,
  parseBrowserCookie,
  parseSessionCookie,
} from './cookie.ts';
import { parseQuery } from './query.ts';
import type { ConsoleCall, ConsoleServices, PublicCall, Route } from './route.ts';
import { assertSameOrigin } from './same-origin.ts';
import { assertNotSuspended } from './suspended.ts';
import { isId } from './user-input.ts';

const RELYING_PARTY_NAME = 'cardvault';
/** Ways in that can be tried without a session. */
const CREDENTIAL_ACCESS = new Set(['public', 'signing-in', 'enrolling']);
/** Passwords are hashed there, or it is told whether an address is known, which nobody may ask for without end. */
const RATE_LIMITED_PATHS: ReadonlySet<string> = new Set([changePassword.path, changeEmail.path]);

export interface DispatchOptions {
  readonly services: ConsoleServices;
  /** As the operator set it; absent: whatever host the browser names. */
  readonly consoleUrl: string | undefined;
  /** Tries to sign in, a minute and address; 0 is no limit. */
  readonly attemptsPerMinute: number;
}

/** The cookies that the response sets. */
interface Cookies {
  session?: string;
  browser?: string;
}

type CallerAccess = Pick<ConsoleCall<unknown, unknown>, 'session' | 'person' | 'origin' | 'account' | 'role'>;

/** Carries out the calls of the console: who is it, may they, what do they want, who else has to agree. */
export class Dispatcher {
  readonly #services: ConsoleServices;
  readonly #consoleUrl: string | undefined;
  readonly #attempts: TokenBuckets | undefined;
  /** Of each person. */
  readonly #calls: TokenBuckets;
  readonly #concurrency = new ConcurrencyLimit(LIMITS.concurrentCallsPerUser);

  constructor({ services, consoleUrl, attemptsPerMinute }: DispatchOptions) {
    this.#services = services;
    this.#consoleUrl = consoleUrl;
    this.#attempts = attemptsPerMinute > 0 ? tokenBucketsPerMinute(services.clock, attemptsPerMinute) : undefined;
    this.#calls = tokenBucketsPerMinute(services.clock, LIMITS.callsPerMinute);
  }

  jsonRoute(route: Route): JsonRoute {
    const { method, path, data } = route.definition;
    const write = createJsonWriter(data.schema);
    return { method, path, handle: (request) => this.#respond(route, request, write) };
  }

  async #respond(route: Route, request: RawRequest, write: (data: unknown) => string): Promise<RawResponse> {
    const cookies: Cookies = {};
    try {
      const call = await this.#call(route.definition, request, cookies);
      const origin = call.origin ?? anonymousOrigin(call.client);
      const run = <Data>(handle: (call: ConsoleCall<unknown, unknown>) => Promise<Data>): Promise<Data> =>
        this.#services.transactions.run({ origin }, (transaction) => {
          // The handler runs again after a conflict, and sets the cookies again.
          delete cookies.session;
          delete cookies.browser;
          return handle({ ...call, transaction });
        });
      const { stream } = route;
      if (stream !== undefined) {
        const { type, name, lines } = await run((each) => stream(each));
        return { type, headers: { 'content-disposition': `attachment; filename="${name}"` }, body: lines };
      }
      const data = await run(async (each) => (await this.#requestApproval(route, each)) ?? (await route.handle(each)));
      const lines = [cookies.session, cookies.browser].filter((line) => line !== undefined);
      return { body: write(data), ...(lines.length > 0 && { headers: { 'set-cookie': lines } }) };
    } catch (error) {
      throw toFailure(error);
    }
  }

  async #call(
    definition: Definition,
    request: RawRequest,
    cookies: Cookies,
  ): Promise<Omit<ConsoleCall<unknown, unknown>, 'transaction'>> {
    const services = this.#services;
    const consoleOrigin = assertSameOrigin(toOriginHeaders(definition.method, request), this.#consoleUrl);
    const client: ClientContext = {
      address: request.address,
      userAgent: request.header('user-agent') ?? '',
      browser: parseBrowserCookie(request.header('cookie')),
      requestId: request.requestId,
    };
    this.#limitAttempts(definition, client);
    const isPassive = request.header('x-passive') !== undefined;
    const session = await services.people.sessions.find(parseSessionCookie(request.header('cookie')), { isPassive });
    if (session !== undefined) this.#limitCalls(session, request);
    const access = await this.#authorizeCall(definition, request, session, client);
    const account = access?.account ?? '';
    const { body } = parseBody(definition, request.body);
    const visit: Omit<PublicCall<unknown, unknown>, 'transaction'> = {
      services,
      client,
      relyingParty: { id: new URL(consoleOrigin).hostname, name: RELYING_PARTY_NAME, origin: consoleOrigin },
      params: request.params,
      query: parseQuery(definition.query, request.query),
      body,
      now: services.clock(),
      session,
      setSessionCookie: ({ secret, browser }) => {
        cookies.session = formatSessionCookie(secret);
        if (browser !== undefined) cookies.browser = formatBrowserCookie(browser);
      },
      clearSessionCookie: () => {
        cookies.session = EXPIRED_SESSION_COOKIE;
      },
    };
    const { environment } = request.params;
    const tenant: Tenant = { account, environment: environment as Environment };
    return { ...visit, ...access, account, tenant } as ConsoleCall<unknown, unknown>;
  }

  /** Without a body nothing is guessed; so whoever may not try any more still signs out. */
  #limitAttempts(definition: Definition, { address }: ClientContext): void {
    const { access, method, body } = definition;
    const isAttempt =
      (CREDENTIAL_ACCESS.has(access) && method !== 'GET' && body !== undefined) ||
      RATE_LIMITED_PATHS.has(definition.path);
    if (!isAttempt) return;
    if (this.#attempts?.take(subscriberNetwork(address)).allowed === false) throw new Failure('rate_limited');
  }

  /** What is not sent yet is in memory, also when nobody reads it; so it counts until then. Throws `rate_limited`. */
  #limitCalls({ person }: Session, request: RawRequest): void {
    if (!this.#calls.take(person).allowed) throw new Failure('rate_limited');
    request.onFinished(this.#concurrency.acquire(person));
  }

  /** Undefined for who need not be known. Throws `not_signed_in`, `cross_site`, `unknown_record`, `not_allowed`, `step_up_required`. */
  async #authorizeCall(
    definition: Definition,
    request: RawRequest,
    session: Session | undefined,
    client: ClientContext,
  ): Promise<CallerAccess | undefined> {
    const { access, method, stepUp } = definition;
    if (access === 'public') return undefined;
    const stage = STAGES[access] ?? 'signed-in';
    if (session === undefined) throw new Failure('not_signed_in');
    assertStage(stage, session);
    if (method !== 'GET' && !isCsrfToken(session, request.header('x-csrf-token'))) throw new Failure('cross_site');
    if (stage !== 'signed-in') return undefined;
    // What is no id names no record, and a database may choke on it.
    if (!Object.values(request.params).every(isId)) throw new Failure('unknown_record');
    const person = await this.#services.people.people.findProfile(session.person);
    if (person === undefined) throw new Failure('not_signed_in');
    const { account, role } = await this.#resolveScope(definition, request, person, client);
    await assertNotSuspended(definition, { services: this.#services, account });
    if (stepUp === true) assertSteppedUp(session, this.#services.clock());
    return { session, person, origin: personOrigin(person, client), account, role };
  }

  /** The account and the role that the person acts in. What is not theirs does not exist for them. */
  async #resolveScope(
    { access, path }: Definition,
    { params }: RawRequest,
    person: Profile,
    client: ClientContext,
  ): Promise<{ account: string; role: Role | undefined }> {
    if (access === 'person') return { account: '', role: undefined };
    const account = access === 'operate' ? '' : (params['account'] ?? '');
    const role =
      access !== 'operate' && account === ''
        ? undefined
        : await this.#services.people.team.findRole(account, person.id);
    const isAllowed = role !== undefined && access !== 'public' && can(role, access as Parameters<typeof can>[1]);
    if (!isAllowed) {
      // Whoever is no member must not be able to fill another account's log.
      await this.#recordDenied(path, role === undefined ? '' : account, person, client);
      throw new Failure(role === undefined && access !== 'operate' ? 'unknown_record' : 'not_allowed');
    }
    if (path.includes(':environment') && !ENVIRONMENTS.some((name) => name === params['environment']))
      throw new Failure('unknown_record');
    return { account, role };
  }

  /** The first one is on record at once, and how many come after it. */
  #recordDenied(route: string, account: string, person: Profile, client: ClientContext): Promise<void> {
    const { clock, people } = this.#services;
    const event = { action: 'access.denied', outcome: 'role', account, environment: '' } as const;
    const entries = (times?: number) => [
      buildAuditEntry(clock, personOrigin(person, client), {
        ...event,
        detail: { route, ...(times !== undefined && { times }) },
      }),
    ];
    return people.repeats.record([event.action, person.id, client.address, account, route], entries);
  }

  /** The answer of a change that has to wait for a second person; undefined when it need not. */
  async #requestApproval(
    { definition: { dualControl: action }, summary }: Route,
    call: ConsoleCall<unknown, unknown>,
  ): Promise<{ approval: string; result: null } | undefined> {
    const { environment = 'production' } = call.params;
    if (action === undefined || environment !== 'production') return undefined;
    const { approvals, changeControl } = this.#services;
    if (!(await changeControl.isRequired(call.account))) return undefined;
    const lines = (await summary?.(call)) ?? [];
    // As it was understood: what else the body held is nothing that anybody agrees to.
    const requestedCall = { params: call.params, body: call.body === undefined ? '' : JSON.stringify(call.body) };
    const approval = await approvals.request(call, { environment, action, summary: lines, call: requestedCall });
    return { approval, result: null };
  }
}

const STAGES: Readonly<Record<string, Session['stage']>> = { 'signing-in': 'password-given', enrolling: 'enrolling' };

const toOriginHeaders = (method: string, request: RawRequest) => ({
  method,
  host: request.header('host'),
  origin: request.header('origin'),
  site: request.header('sec-fetch-site'),
});

/** `usage` is a code of the command line; here a change that the use case rejects is not possible. */
function toFailure(error: unknown): unknown {
  if (!(error instanceof Failure) || error.code !== 'usage' || error.reason === undefined) return error;
  return new Failure('not_possible', { reason: error.reason, values: error.values }, { cause: error });
}
