import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { formatJoinUrl } from '../../console/cli.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { newPerson, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { isLong, onlyLong } from '../scope.ts';
import type { TestBrowser } from './browser.ts';
import { askForKey, fillKey } from './key-form.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import {
  enterCode,
  enterPassword,
  followLink,
  newCode,
  saveRecoveryCodes,
  saveSecret,
  setUpAuthenticatorApp,
  signIn,
  signOut,
} from './sign-in-steps.ts';
import { visitWithin } from './tour.ts';

const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const PASSWORD = 'seven lamps over quiet water';

describe('signing in, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let account: string;

  before(async () => {
    ({ service, browser } = await shared.open());
    account = await service.newAccount('Corner shop');
  });
  afterEach(async () => {
    browser.check();
    await browser.endVisits();
  });
  after(() => shared.close());

  const keysUrl = () => `/a/${account}/sandbox/keys`;
  const keysMade = async (): Promise<number> => (await service.core.accounts.listKeys(account)).length;
  const refusal = async (page: Page): Promise<string> => (await page.getByRole('alert').textContent()) ?? '';
  const atSignIn = (page: Page): Promise<void> => page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const isInside = (page: Page): Promise<void> => page.getByRole('navigation', { name: 'Main' }).waitFor();
  const newSession = async (person: UserClient, path: string): Promise<Page> => {
    const { page } = await visitAs(person, browser);
    await page.goto(path);
    return page;
  };
  const newLink = async (email: string): Promise<string> => {
    const { invitations } = service.console.people;
    const link = await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      invitations.invite(transaction, { account, role: 'developer', email }, { account, role: 'owner' }),
    );
    return formatJoinUrl(browser.origin, link);
  };

  it('a wrong address, password and code have the same result', async () => {
    const ana = await newPerson(service, account, 'owner');
    const { page } = await browser.newVisitor();
    const messages: string[] = [];
    for (const input of [
      { email: 'unknown@example.com', password: ana.password },
      { email: ana.email, password: 'not the password at all' },
    ]) {
      await page.goto('/');
      await enterPassword(page, input);
      messages.push(await refusal(page));
    }
    await enterPassword(page, ana);
    await enterCode(page, '000000');
    messages.push(await refusal(page));
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill('aaaa-aaaa-aaaa-aaaa');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    messages.push(await refusal(page));
    assert.match(messages[0] ?? '', /does not match/);
    assert.deepEqual(new Set(messages), new Set([messages[0]]));
  });

  // `session.test.ts` and `joining.test.ts` of the console prove both without a browser.
  it('ten wrong passwords lock the user for half an hour, without a notice', { skip: onlyLong }, async () => {
    const ana = await newPerson(service, account, 'owner');
    const { page } = await browser.newVisitor();
    await page.goto('/sign-in');
    await enterPassword(page, { email: ana.email, password: 'not the password at all' });
    const messages = await refusal(page);
    for (let tries = 1; tries < LIMITS.signInFailures; tries++) {
      const signInResponse = page.waitForResponse((response) => response.url().endsWith('/api/sign-in'));
      await page.getByRole('button', { name: 'Continue', exact: true }).click();
      await signInResponse;
    }
    await page.reload();
    await enterPassword(page, ana);
    assert.equal(await refusal(page), messages);
    service.advance(31 * MINUTE);
    await page.reload();
    await signIn(page, service, ana);
  });

  it('a recovery code replaces the app once', async () => {
    const ana = await newPerson(service, account, 'owner');
    const [code = ''] = ana.recoveryCodes;
    const { page } = await browser.newVisitor();
    const useCode = async (): Promise<void> => {
      await enterPassword(page, ana);
      await page.getByRole('button', { name: 'Use a recovery code' }).click();
      await page.getByLabel('Recovery code').fill(code);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    };
    await page.goto('/profile');
    await useCode();
    await isInside(page);
    await signOut(page);
    await useCode();
    assert.match(await refusal(page), /does not match/);
  });

  it('a passkey signs in, and confirms a sensitive change', async () => {
    const visitor = await browser.newVisitor();
    const { page } = visitor;
    const device = await visitor.newAuthenticator();
    const email = 'passkey@example.com';
    await followLink(page, await newLink(email), { name: 'Pia', password: PASSWORD });
    await page.getByRole('button', { name: /^Passkey/ }).click();
    await saveRecoveryCodes(page);
    await isInside(page);
    await signOut(page);
    const before = await keysMade();
    await enterPassword(page, { email, password: PASSWORD });
    const usePasskey = page.getByRole('button', { name: 'Continue with a passkey' });
    await device.recognize(false);
    const options = page.waitForResponse((response) => response.url().endsWith('/passkey/options'));
    await usePasskey.click();
    await options;
    await page.locator('button:not([data-loading])', { hasText: 'passkey' }).waitFor();
    assert.ok(page.url().endsWith('/sign-in'), 'a device that does not recognize its owner grants no access');
    await device.recognize(true);
    await usePasskey.click();
    await isInside(page);
    service.advance(6 * MINUTE);
    await visitWithin(page, `${keysUrl()}?create=1`);
    await fillKey(page, 'by passkey');
    await askForKey(page);
    await usePasskey.click();
    await saveSecret(page);
    assert.equal(await keysMade(), before + 1);
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await isInside(page);
  });

  it('uses the language of the user on every machine', async () => {
    const ana = await newPerson(service, account, 'owner');
    const { page } = await browser.newVisitor();
    await page.goto('/profile');
    await page.getByRole('button', { name: 'Español' }).click();
    await page.getByRole('heading', { name: 'Iniciar sesión' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'es');
    await page.getByRole('button', { name: 'English' }).click();
    await signIn(page, service, ana);
    await page.getByRole('button', { name: /Your menu$/ }).click();
    await page.getByRole('menuitemradio', { name: 'Español' }).click();
    await page.getByRole('navigation', { name: 'Principal' }).waitFor();
    if (isLong) {
      await page.reload();
      await page.getByRole('navigation', { name: 'Principal' }).waitFor();
    }
    const { page: elsewhere } = await browser.newVisitor();
    await elsewhere.goto('/profile');
    await enterPassword(elsewhere, ana);
    await enterCode(elsewhere, newCode(service, ana.totpSecret));
    await elsewhere.getByRole('navigation', { name: 'Principal' }).waitFor();
    assert.equal(await elsewhere.locator('html').getAttribute('lang'), 'es');
  });

  it('an invitation link enrolls one user, once', async () => {
    const url = await newLink('joining@example.com');
    const [{ page }, { page: late }] = [await browser.newVisitor(), await browser.newVisitor()];
    await late.goto(url);
    await late.getByLabel('Your name').fill('Somebody else');
    await late.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await followLink(page, url, { name: 'Jo', password: PASSWORD });
    await setUpAuthenticatorApp(page, service);
    await saveRecoveryCodes(page);
    await isInside(page);
    await late.getByRole('button', { name: 'Continue', exact: true }).click();
    await late.getByRole('alert').waitFor();
    await visitWithin(late, '/profile');
    await atSignIn(late);
    await late.goto(url);
    await late.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
    const members = await service.console.people.team.members(account);
    assert.equal(members.filter(({ email }) => email === 'joining@example.com').length, 1);
  });

  it('a credential reset replaces password, app and sessions', { skip: onlyLong }, async () => {
    const owner = await newPerson(service, account, 'owner');
    const ben = await newPerson(service, account, 'analyst', 'Ben Lost');
    const stolen = await newSession(ben, '/profile');
    const page = await newSession(owner, `/a/${account}/team`);
    await page.getByRole('button', { name: 'Actions for Ben Lost' }).click();
    await page.getByRole('menuitem', { name: 'Reset sign-in' }).click();
    await page.getByRole('button', { name: 'Reset sign-in' }).click();
    const url = await saveSecret(page);
    const { page: own } = await browser.newVisitor();
    await own.goto(url);
    assert.equal(await own.getByLabel('Email').inputValue(), ben.email);
    await own.getByLabel('New password', { exact: true }).fill(PASSWORD);
    await own.getByRole('button', { name: 'Continue', exact: true }).click();
    const totpSecret = await setUpAuthenticatorApp(own, service);
    await saveRecoveryCodes(own);
    await isInside(own);
    await stolen.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Overview' }).click();
    await atSignIn(stolen);
    await enterPassword(stolen, ben);
    assert.match(await refusal(stolen), /does not match/);
    await stolen.goto(url);
    await stolen.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
    await signOut(own);
    await enterPassword(own, { email: ben.email, password: PASSWORD });
    await enterCode(own, newCode(service, ben.totpSecret));
    await own.getByRole('alert').waitFor();
    await own.reload();
    await enterCode(own, newCode(service, totpSecret));
    await isInside(own);
  });

  it('a page with the token of another session loads it again, and signs out', async () => {
    const { page } = await browser.newVisitor();
    await page.goto('/profile');
    await signIn(page, service, await newPerson(service, account, 'owner'));
    const other = { 'x-csrf-token': 'A'.repeat(43) };
    await page.route(
      '**/api/sign-out',
      (route) => route.continue({ headers: { ...route.request().headers(), ...other } }),
      { times: 1 },
    );
    const statuses: number[] = [];
    page.on('response', (response) => response.url().endsWith('/sign-out') && statuses.push(response.status()));
    await signOut(page);
    assert.deepEqual(statuses, [403, 200]);
    // The remaining cookie identifies the browser, and grants no access.
    const left = (await page.context().cookies()).map(({ name }) => name);
    assert.deepEqual(left, ['__Host-cardvault-browser']);
  });
});
