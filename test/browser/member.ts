import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { OPERATOR, type Role } from '../../console/people/roles.ts';
import type { Definition } from '../../console/wire/definition.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { type ConsoleClient, newClient, pathOf } from '../console/console-client.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';
import type { TestBrowser, Visitor, VisitorOptions } from './browser.ts';
import type { Credentials } from './sign-in-steps.ts';

/** A member of an account, or an operator, with an authenticator app. */
export interface Member extends Credentials {
  readonly id: string;
  readonly name: string;
  /** A call of the console that must go well; of what it answers. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  call(definition: Definition, params: Readonly<Record<string, string>>, body?: unknown): Promise<any>;
  /** Signs in again, as after the session expired. */
  signIn(): Promise<void>;
  /** No further step-up is required for some minutes, in the browser either. */
  stepUp(): Promise<void>;
  /** A code that was not used before. */
  code(): string;
  /** A browser in which this person is signed in. */
  visit(browser: TestBrowser, options?: VisitorOptions): Promise<Visitor>;
}

export interface NewMember {
  readonly account: string;
  readonly role: Role;
  readonly name: string;
  readonly email: string;
  readonly language?: string;
}

const PASSWORD = 'seven lamps over quiet water';
const VISITOR = {
  address: '203.0.113.24',
  userAgent: 'Mozilla/5.0 (X11; Linux x64; rv:140.0) Gecko/20100101 Firefox/140.0',
};
const STEP_MS = 30 * SECOND;

/** Follows an invitation, without the detour over pages. */
export async function newMember(service: TestService, member: NewMember): Promise<Member> {
  const { account, role, name, email, language = 'en' } = member;
  const { invitations, enrollment } = service.console.people;
  const by = role === 'owner' || role === 'operator' ? OPERATOR : ({ account, role: 'owner' } as const);
  const origin = { actor: { type: 'operator', name: 'Irene Castillo' } } as const;
  const { secret } = await service.core.transactions.run({ origin }, (transaction) =>
    invitations.invite(transaction, { account, role, email }, by),
  );
  const started = await service.core.transactions.run({ origin }, (transaction) =>
    enrollment.begin(transaction, { secret, name, language, password: PASSWORD }, VISITOR),
  );
  const { secret: totpSecret } = enrollment.totp(started.session);
  const at = service.now();
  const grant = await service.core.transactions.run({ origin }, (transaction) =>
    enrollment.confirmTotp(transaction, started.session, totp(totpSecret, at), VISITOR),
  );
  const who = { id: started.session.person, name, email, password: PASSWORD, totpSecret };
  return memberOf(service, who, { secret: grant.secret, csrf: grant.session.csrf, at });
}

type Who = Pick<Member, 'id' | 'name' | 'email' | 'password' | 'totpSecret'>;

function memberOf(
  service: TestService,
  who: Who,
  grant: { readonly secret: string; readonly csrf: string; readonly at: number },
): Member {
  const client = newClient(service);
  client.cookie = `${COOKIE}=${grant.secret}`;
  client.csrf = grant.csrf;
  let lastStep = Math.floor(grant.at / STEP_MS);
  const code = (): string => {
    if (Math.floor(service.now() / STEP_MS) <= lastStep) service.advance(STEP_MS);
    lastStep = Math.floor(service.now() / STEP_MS);
    return totp(who.totpSecret, service.now());
  };
  /** Pages with the session of this person. */
  const pages = new Map<Page, string>();
  const sent = async (method: string, path: string, body?: unknown) => {
    const response = await client.send(method, path, body);
    assert.equal(response.status, 200, response.text);
    return response.json;
  };
  return {
    ...who,
    code,
    call: ({ method, path }, params, body) => sent(method, pathOf({ path }, { params }), body),
    signIn: async () => {
      const { email, password } = who;
      client.csrf = (await sent('POST', '/api/sign-in', { email, password })).csrf_token;
      client.csrf = (await sent('POST', '/api/sign-in/code', { code: code() })).csrf_token;
    },
    stepUp: async () => {
      await sent('POST', '/api/step-up/code', { code: code() });
      // The secret is another one now.
      for (const [page, origin] of pages) await giveSession(page, client, origin);
    },
    visit: async (browser, options) => {
      const visitor = await browser.newVisitor(options);
      pages.set(visitor.page, browser.origin);
      visitor.page.on('close', () => pages.delete(visitor.page));
      await giveSession(visitor.page, client, browser.origin);
      return visitor;
    },
  };
}

const COOKIE = '__Host-cardvault-session';

/** A browser in which the user of that client is signed in. */
export async function visitAs(client: ConsoleClient, browser: TestBrowser, options?: VisitorOptions): Promise<Visitor> {
  const visitor = await browser.newVisitor(options);
  await giveSession(visitor.page, client, options?.origin ?? browser.origin);
  return visitor;
}

function giveSession(page: Page, { cookie = '' }: ConsoleClient, url: string): Promise<void> {
  const value = cookie.slice(COOKIE.length + 1);
  return page.context().addCookies([{ name: COOKIE, value, url, httpOnly: true, secure: true, sameSite: 'Strict' }]);
}
