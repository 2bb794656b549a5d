import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { newPerson, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import { button, enterCode, enterPassword, newCode, signOut } from './sign-in-steps.ts';
import { visitWithin } from './tour.ts';

/** Failed sign-ins with earlier credentials, and rejected names and addresses. */
const EXPECTED = /^403: POST .*\/api\/sign-in(\/code)?$|^400: POST .*\/api\/profile\/(email|factors\/.*)$/;

/** The tasks of users in their profile: one scenario, in order. */
describe('a profile, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let visitor: Visitor;
  let page: Page;
  let account: string;
  let ana: UserClient;
  const now = { email: '', totpSecret: '' };

  before(async () => {
    ({ service, browser } = await shared.open());
    account = await service.newAccount('Corner shop');
    ana = await newPerson(service, account, 'owner', 'Ana');
    Object.assign(now, { email: ana.email, totpSecret: ana.totpSecret });
    visitor = await visitAs(ana, browser);
    page = visitor.page;
    await page.goto('/profile');
  });
  afterEach(() => {
    browser.check();
    visitor.errors.checkRefusals(EXPECTED);
  });
  after(() => shared.close());

  const dialog = () => page.getByRole('dialog');
  const closed = (): Promise<void> => dialog().waitFor({ state: 'hidden' });
  const refused = (): Promise<void> =>
    page
      .getByRole('alert')
      .getByText(/does not match/)
      .waitFor();
  const toProfile = async (): Promise<void> => {
    await visitWithin(page, '/profile');
    await page.getByRole('heading', { name: 'Profile', level: 1 }).waitFor();
  };

  it('a passkey is added beside the app, and renamed', async () => {
    await visitor.newAuthenticator();
    await button(page, 'Add passkey').click();
    await dialog().getByLabel('Name', { exact: true }).fill('Laptop');
    await button(dialog(), 'Add passkey').click();
    await closed();
    await button(page, 'Rename Laptop').click();
    await visitor.checkAccessibility();
    await dialog().getByLabel('Name', { exact: true }).fill('');
    await button(dialog(), 'Rename').click();
    await dialog().locator('[aria-invalid="true"]').waitFor();
    await dialog().getByLabel('Name', { exact: true }).fill('Work laptop');
    await button(dialog(), 'Rename').click();
    await closed();
    const rows = page.getByRole('table', { name: 'Second factors' }).getByRole('row');
    await rows.filter({ hasText: 'Work laptop' }).waitFor();
    await button(page, 'Remove Authenticator app').waitFor();
    assert.equal(await rows.getByRole('button', { name: /^Rename/ }).count(), 1, 'the app needs no name');
  });

  it('times are shown in the time zone of the profile, with its name', async () => {
    const since = page.getByRole('table', { name: 'Sessions' }).locator('time').first();
    const at = (await since.getAttribute('datetime')) ?? '';
    const shown = (timeZone: string) => {
      const when = { day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit', timeZone } as const;
      return new Intl.DateTimeFormat('en-US', when).format(new Date(at));
    };
    await since.getByText(shown('UTC')).waitFor();
    const zone = page.getByLabel('Time zone');
    assert.equal(await zone.locator('option:checked').textContent(), 'As in this browser (UTC)');
    await zone.selectOption('Asia/Tehran');
    await button(page, 'Save changes').click();
    await since.getByText(shown('Asia/Tehran')).waitFor();
    await visitWithin(page, `/a/${account}/audit`);
    await page.getByText('Times in Asia/Tehran.').waitFor();
    // The order of records within a minute matters.
    await page
      .getByRole('row')
      .locator('time')
      .first()
      .getByText(/:\d\d:\d\d/)
      .waitFor();
    await toProfile();
  });

  it('another app replaces the previous one', async () => {
    await button(page, 'Replace app').click();
    const secret =
      (await dialog()
        .getByTitle(/^[A-Z2-7]{16,}$/)
        .getAttribute('title')) ?? '';
    // On a phone, the app is on the same device as the page.
    const link = dialog().getByRole('link', { name: 'Open the authenticator app of this phone' });
    assert.equal(await link.isVisible(), false);
    await page.setViewportSize({ width: 360, height: 740 });
    await link.waitFor();
    const { protocol, searchParams } = new URL((await link.getAttribute('href')) ?? '');
    assert.deepEqual([protocol, searchParams.get('secret')], ['otpauth:', secret]);
    assert.deepEqual(
      [await link.getAttribute('rel'), await link.getAttribute('referrerpolicy')],
      ['noreferrer', 'no-referrer'],
    );
    await visitor.checkAccessibility();
    await page.setViewportSize({ width: 1280, height: 800 });
    await dialog().getByLabel('Code', { exact: true }).fill(totp(secret, service.now()));
    await button(dialog(), 'Confirm').click();
    assert.ok(!service.log.join('\n').includes(secret));
    await closed();
    await signOut(page);
    await enterPassword(page, ana);
    await enterCode(page, newCode(service, now.totpSecret));
    await refused();
    // Ready for the next one.
    await page.locator('input:focus[aria-invalid="true"]').waitFor();
    assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), '');
    now.totpSecret = secret;
    await enterCode(page, newCode(service, secret));
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
  });

  it('the email address is changed, and only the new one signs in', async () => {
    await toProfile();
    await button(page, 'Change email').click();
    await visitor.checkAccessibility();
    await dialog().getByLabel('New email address').fill('not an address');
    await button(dialog(), 'Change email').click();
    await dialog().locator('[aria-invalid="true"]').waitFor();
    await dialog().getByLabel('New email address').fill('ana.new@example.com');
    await button(dialog(), 'Change email').click();
    await closed();
    assert.equal(await page.getByLabel('Email', { exact: true }).inputValue(), 'ana.new@example.com');
    await signOut(page);
    await enterPassword(page, ana);
    await refused();
    await enterPassword(page, { ...ana, email: 'ana.new@example.com' });
    await page.getByLabel('Code', { exact: true }).or(button(page, 'Continue with a passkey')).first().waitFor();
  });
});
