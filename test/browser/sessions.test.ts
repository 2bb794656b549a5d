import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { MINUTE } from '../../src/kernel/clock.ts';
import { newPerson, signIn as signInElsewhere, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { onlyLong } from '../scope.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { askForKey, fillKey, keyForm } from './key-form.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import { newCode, saveSecret, signIn } from './sign-in-steps.ts';

describe('sessions, in the browser', { skip: whyNoChromium() }, () => {
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
  const atSignIn = (page: Page): Promise<void> => page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const isInside = (page: Page): Promise<void> => page.getByRole('navigation', { name: 'Main' }).waitFor();
  const newVisit = async (person: UserClient, path: string): Promise<Visitor> => {
    const visitor = await visitAs(person, browser);
    await visitor.page.goto(path);
    await isInside(visitor.page);
    return visitor;
  };
  const newSession = async (person: UserClient, path: string): Promise<Page> => (await newVisit(person, path)).page;
  const link = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true });

  it('a session that is revoked from the list ends immediately on the other machine', async () => {
    const ana = await newPerson(service, account, 'owner');
    const { page: lost } = await visitAs(await signInElsewhere(ana), browser);
    await lost.goto('/profile');
    await isInside(lost);
    const page = await newSession(ana, '/profile');
    const sessions = page.getByRole('table', { name: 'Sessions' });
    const others = sessions.getByRole('button', { name: /^Revoke the session / });
    await others.first().waitFor();
    assert.equal(await others.count(), 1);
    await others.click();
    await page.getByText('Access revoked.').waitFor();
    await others.waitFor({ state: 'hidden' });
    await link(lost, 'API keys').click();
    await atSignIn(lost);
    await lost.getByText('Your session has ended.').waitFor();
    await page.reload();
    await isInside(page);
  });

  it('after fifteen minutes without activity a user signs in again, and returns to the same page', async () => {
    const ana = await newPerson(service, account, 'owner');
    const page = await newSession(ana, `${keysUrl()}?create=1`);
    const before = await keysMade();
    await fillKey(page, 'too late');
    service.advance(15 * MINUTE);
    await askForKey(page);
    await atSignIn(page);
    await page.getByText('Your session has ended.').waitFor();
    assert.ok(!(await page.content()).includes('too late'));
    await signIn(page, service, ana);
    await keyForm(page).waitFor();
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, `${keysUrl()}?create=1`);
    assert.equal(await keysMade(), before);
  });

  it('five minutes later a key requires the second factor again, and canceling changes nothing', async () => {
    const ana = await newPerson(service, account, 'owner');
    const page = await newSession(ana, `${keysUrl()}?create=1`);
    const before = await keysMade();
    await fillKey(page, 'shop server');
    service.advance(5 * MINUTE);
    await askForKey(page);
    const confirm = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await confirm.getByRole('button', { name: 'Cancel' }).last().click();
    await confirm.waitFor({ state: 'hidden' });
    assert.equal(await keysMade(), before);
    assert.equal(await keyForm(page).getByLabel('Name').inputValue(), 'shop server');
    await askForKey(page);
    await confirm.getByLabel('Code', { exact: true }).fill('000000');
    await confirm.getByRole('alert').waitFor();
    assert.equal(await keysMade(), before);
    await confirm.getByLabel('Code', { exact: true }).fill(newCode(service, ana.totpSecret));
    assert.match(await saveSecret(page), /^cv_sandbox_/);
    assert.equal(await keysMade(), before + 1);
  });

  it('a user who signs out gets no notice that the session has expired', async () => {
    const ana = await newPerson(service, account, 'owner');
    const page = await newSession(ana, '/profile');
    await page.getByRole('button', { name: /Your menu$/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('Welcome back.').waitFor();
    assert.equal(await page.getByText('Your session has ended.').count(), 0);
  });

  it('a page of the account that is reloaded keeps the environment', async () => {
    const ana = await newPerson(service, account, 'owner');
    const page = await newSession(ana, `/a/${account}/production/keys`);
    await link(page, 'Team').click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await page.reload();
    await isInside(page);
    assert.equal(await link(page, 'API keys').getAttribute('href'), `/a/${account}/production/keys`);
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(`/a/${account}/team`);
    await isInside(elsewhere);
    assert.equal(await link(elsewhere, 'API keys').getAttribute('href'), keysUrl());
  });

  it('a page that cannot be loaded reports it, and appears once the service is available', async () => {
    const ana = await newPerson(service, account, 'owner');
    const { page, errors } = await newVisit(ana, keysUrl());
    const isDown = { is: true };
    await page.route('**/*', (route) => (isDown.is ? route.abort('connectionrefused') : route.continue()));
    await link(page, 'Team').click();
    await page.getByRole('heading', { name: 'The service can’t be reached' }).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The service still does not respond.').waitFor();
    isDown.is = false;
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    errors.expect(/CONNECTION_REFUSED|console: CallError/);
  });

  it('data stays visible while the service is unavailable, and is loaded again afterwards', {
    skip: onlyLong,
  }, async () => {
    const ana = await newPerson(service, account, 'owner');
    await service.newKey(account);
    const { page, errors } = await newVisit(ana, keysUrl());
    const rows = page.getByRole('table').getByRole('row');
    await rows.nth(1).waitFor();
    const isDown = { is: true };
    await page.route('**/*', (route) => (isDown.is ? route.abort('connectionrefused') : route.continue()));
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    const bar = page.getByText('The service can’t be reached. Data as of');
    await bar.waitFor();
    assert.equal(await rows.nth(1).isVisible(), true);
    isDown.is = false;
    await bar.waitFor({ state: 'detached' });
    assert.equal(await rows.nth(1).isVisible(), true);
    isDown.is = true;
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    await bar.waitFor();
    service.advance(15 * MINUTE);
    isDown.is = false;
    await atSignIn(page);
    assert.equal(await rows.count(), 0, 'an ended session takes all with it');
    errors.expect(/CONNECTION_REFUSED|401/);
  });
});
