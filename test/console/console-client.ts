import { OPERATOR, type Role } from '../../console/people/roles.ts';
import type { Definition } from '../../console/wire/definition.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';

/** A browser with the console open: it keeps the cookie, and sends what pages of the console send. */
export interface ConsoleClient {
  readonly service: TestService;
  /** Undefined: signed out. */
  cookie: string | undefined;
  /** The cookie by which the browser is known after a sign-in; it outlasts sessions. */
  browser: string | undefined;
  csrf: string;
  /** A path with its parameters filled in; to everything but GET the word against forgery goes along. */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  /** A call by its definition. */
  call(definition: Definition, args?: Args): Promise<TestResponse>;
}

export interface Args {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A user who is signed in, with everything that is needed to sign in again. */
export interface UserClient extends ConsoleClient {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** Base32. */
  readonly totpSecret: string;
  readonly recoveryCodes: readonly string[];
  /** A code that was not used yet: the clock is advanced by a step. */
  code(): string;
  /** Confirms with a code. */
  stepUp(): Promise<void>;
}

export const PASSWORD = 'correct horse battery staple 7';
const STEP_MS = 30_000;
const VISITOR = { address: '127.0.0.1', userAgent: 'test' };
const ORIGIN = { actor: { type: 'operator', name: 'test' } } as const;

export const pathOf = ({ path }: Pick<Definition, 'path'>, { params = {}, query = {} }: Args = {}): string => {
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? `no-${name}`));
  return Object.keys(query).length === 0 ? filled : `${filled}?${new URLSearchParams(query)}`;
};

/** A client before the sign-in. */
export function newClient(service: TestService): ConsoleClient {
  const client: ConsoleClient = {
    service,
    cookie: undefined,
    browser: undefined,
    csrf: '',
    async send(method, path, body, headers = {}) {
      const host = `localhost:${service.ports.console}`;
      const response = await service.call(method, path, {
        environment: 'console',
        ...(body !== undefined && { body }),
        headers: {
          host,
          'user-agent': 'test',
          ...(method !== 'GET' && { origin: `https://${host}`, 'x-csrf-token': client.csrf }),
          ...cookiesOf(client),
          ...headers,
        },
      });
      keepCookie(client, response);
      return response;
    },
    call: (definition, args = {}) => client.send(definition.method, pathOf(definition, args), args.body),
  };
  return client;
}

function cookiesOf({ cookie, browser }: ConsoleClient): { cookie?: string } {
  const pairs = [cookie, browser].filter((pair) => pair !== undefined);
  return pairs.length === 0 ? {} : { cookie: pairs.join('; ') };
}

function keepCookie(client: ConsoleClient, { headers }: TestResponse): void {
  for (const line of headers['set-cookie'] ?? []) {
    const [pair = ''] = line.split(';');
    const value = pair.endsWith('=') ? undefined : pair;
    if (pair.startsWith(`${COOKIE}=`)) client.cookie = value;
    else client.browser = value;
  }
}

/** A number for each person of a run, so that no two have the same address. */
let people = 0;

/**
 * A new person of that role, signed in and just stepped up, made without the detour over HTTP. The account of operators is
 * ''.
 */
export async function newPerson(service: TestService, account: string, role: Role, name?: string): Promise<UserClient> {
  const { invitations, enrollment } = service.console.people;
  const number = ++people;
  const email = `person${number}@example.com`;
  // An operator on the command line may invite owners; other roles are invited by an owner.
  const by = role === 'owner' || role === 'operator' ? OPERATOR : ({ account, role: 'owner' } as const);
  const link = await service.core.transactions.run({ origin: ORIGIN }, (transaction) =>
    invitations.invite(transaction, { account, role, email }, by),
  );
  const own = { name: name ?? `Person ${number}`, password: PASSWORD, language: 'en' };
  const { session } = await service.core.transactions.run({ origin: ORIGIN }, (transaction) =>
    enrollment.begin(transaction, { secret: link.secret, ...own }, VISITOR),
  );
  const { secret: totpSecret } = enrollment.totp(session);
  const joined = await service.core.transactions.run({ origin: ORIGIN }, (transaction) =>
    enrollment.confirmTotp(transaction, session, totp(totpSecret, service.now()), VISITOR),
  );
  const { recoveryCodes } = joined;
  const known = { id: session.person, email, name: own.name, password: PASSWORD, totpSecret, recoveryCodes };
  return withCodes(newClient(service), known, { cookie: joined.secret, csrf: joined.session.csrf });
}

/** An existing user becomes a member of another account, too. */
export async function joinAccount(person: UserClient, account: string, role: Role): Promise<void> {
  const { invitations, enrollment, sessions } = person.service.console.people;
  const by = role === 'owner' ? OPERATOR : ({ account, role: 'owner' } as const);
  const link = await person.service.core.transactions.run({ origin: ORIGIN }, (transaction) =>
    invitations.invite(transaction, { account, role, email: person.email }, by),
  );
  const session = await sessions.find(person.cookie?.slice(COOKIE.length + 1));
  if (session === undefined) throw new Error('not signed in');
  await person.service.core.transactions.run({ origin: ORIGIN }, (transaction) =>
    enrollment.accept(transaction, session, link.secret),
  );
}

const COOKIE = '__Host-cardvault-session';

type Known = Pick<UserClient, 'id' | 'email' | 'name' | 'password' | 'totpSecret' | 'recoveryCodes'>;

function withCodes(client: ConsoleClient, known: Known, grant: { cookie: string; csrf: string }): UserClient {
  const { service } = client;
  const code = (): string => {
    service.advance(STEP_MS);
    return totp(known.totpSecret, service.now());
  };
  const stepUp = async (): Promise<void> => {
    const response = await client.send('POST', '/api/step-up/code', { code: code() });
    if (response.status !== 200) throw new Error(`stepping up: ${response.text}`);
  };
  client.cookie = `${COOKIE}=${grant.cookie}`;
  client.csrf = grant.csrf;
  return Object.assign(client, known, { code, stepUp });
}

/** Through the front door, in another browser: password, then code. */
export async function signIn(person: UserClient): Promise<ConsoleClient> {
  const client = newClient(person.service);
  const { email, password } = person;
  const passwordResponse = await client.send('POST', '/api/sign-in', { email, password });
  if (passwordResponse.status !== 200) throw new Error(`password: ${passwordResponse.text}`);
  client.csrf = passwordResponse.json.csrf_token;
  const signedIn = await client.send('POST', '/api/sign-in/code', { code: person.code() });
  if (signedIn.status !== 200) throw new Error(`code: ${signedIn.text}`);
  client.csrf = signedIn.json.csrf_token;
  return client;
}
