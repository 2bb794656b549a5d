import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { formatJoinUrl } from '../../console/cli.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { newPerson } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { onlyLong } from '../scope.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { fillKey, keyForm } from './key-form.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import { button, followLink, saveSecret, setUpAuthenticatorApp } from './sign-in-steps.ts';
import { visit, visitWithin } from './tour.ts';
import { untilPasses } from './until-passes.ts';

const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const PASSWORD = 'seven lamps over quiet water';

/** Two clicks before the page can show anything of the first. */
const clickTwice = async (what: Locator): Promise<void> => {
  await what.waitFor();
  await what.evaluate((element) => {
    const button = element as unknown as { click(): void };
    button.click();
    button.click();
  });
};

/** Actions that must happen once, and values that are shown once. */
describe('single submission, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let account: string;
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    ({ service, browser } = await shared.open());
    account = await service.newAccount('Corner shop');
    const ana = await newPerson(service, account, 'owner', 'Ana');
    visitor = await visitAs(ana, browser);
    page = visitor.page;
    await visit(page, `/a/${account}/sandbox/keys`);
  });
  afterEach(() => {
    browser.check();
    visitor.errors.checkRefusals(/^$/);
  });
  after(() => shared.close());

  const recorded = async (action: string): Promise<number> => {
    let count = 0;
    for await (const { record } of exportJournal(service.core.database))
      if (JSON.parse(record).action === action) count++;
    return count;
  };
  const keys = () => service.core.accounts.listKeys(account);
  const invitations = () => service.console.people.invitations.list(account);
  const shown = (): Locator => page.getByLabel('I have stored it');

  it('two clicks create one key, and its secret is shown', async () => {
    await visitWithin(page, `/a/${account}/sandbox/keys?create=1`);
    await fillKey(page, 'shop');
    await clickTwice(button(keyForm(page), 'Create key'));
    const secret = await saveSecret(page);
    const [key, ...others] = await keys();
    assert.equal(others.length, 0);
    assert.ok(key !== undefined && secret.startsWith(key.prefix));
    await keyForm(page).waitFor({ state: 'detached' });
    await button(page, 'Create key').click();
    await fillKey(page, 'another');
    await button(keyForm(page), 'Create key').dblclick();
    await saveSecret(page);
    assert.equal((await keys()).length, 2, 'and once more when it is requested again');
  });

  it('two clicks create recovery codes once, and these are shown', { skip: onlyLong }, async () => {
    await visitWithin(page, '/profile');
    const before = await recorded('recovery-codes.made');
    await button(page, 'Create new codes').click();
    await clickTwice(button(page.getByRole('dialog'), 'Create new codes'));
    const codes = page.getByRole('dialog').getByRole('listitem').locator('code');
    await codes.first().waitFor();
    assert.equal(await codes.count(), 10);
    assert.equal(await recorded('recovery-codes.made'), before + 1);
    await page.getByLabel('I have stored them').check();
    await button(page.getByRole('dialog'), 'Continue').click();
  });

  it('two clicks create one link, and another one for the same user replaces it', { skip: onlyLong }, async () => {
    await newPerson(service, account, 'analyst', 'Ben Lost');
    await visitWithin(page, `/a/${account}/team`);
    await button(page, 'Invite user').click();
    await page.getByLabel('Email address').fill('new@example.com');
    await clickTwice(button(page.getByRole('dialog'), 'Create link'));
    await saveSecret(page);
    const before = await recorded('person.invited');
    assert.equal((await invitations()).length, 1);
    for (const time of [1, 2]) {
      await button(page, 'Actions for Ben Lost').click();
      await page.getByRole('menuitem', { name: 'Reset sign-in' }).click();
      await clickTwice(button(page.getByRole('dialog'), 'Reset sign-in'));
      await saveSecret(page);
      assert.equal(await recorded('person.invited'), before + time);
    }
    const open = page.getByRole('table', { name: 'Pending invitations' }).getByRole('row');
    await open.filter({ hasText: 'Ben Lost' }).filter({ hasText: '@' }).filter({ hasText: 'Sign-in reset' }).waitFor();
    await untilPasses(async () =>
      assert.equal(await open.count(), 3, 'a header, the invitation and the newest way in'),
    );
  });

  it('a value that is shown once is not lost by going back or by reloading the page', async () => {
    await page.goto(`/a/${account}/sandbox/keys`);
    await button(page, 'Create key').click();
    await fillKey(page, 'held');
    await button(keyForm(page), 'Create key').click();
    await shown().waitFor();
    await page.evaluate('history.go(-1)');
    await page.evaluate('history.back()');
    const requests: string[] = [];
    page.once('dialog', async (dialog) => {
      requests.push(dialog.type());
      await dialog.dismiss();
    });
    await page.evaluate('location.reload()');
    await saveSecret(page);
    assert.deepEqual(requests, ['beforeunload']);
    assert.ok(page.url().endsWith('/sandbox/keys'), page.url());
    await page.reload();
    await button(page, 'Create key').waitFor();
    assert.equal(requests.length, 1, 'there is no question when it was stored');
  });

  it('the entries of a pasted list are submitted with the form, without invalid lines', async () => {
    await button(page, 'Create key').click();
    await fillKey(page, 'pasted');
    await button(keyForm(page), 'Paste a list').click();
    const box = keyForm(page).getByLabel(/^One address or network on each line/);
    await box.fill('203.0.113.7 shop\nnonsense');
    await button(keyForm(page), 'Create key').click();
    await keyForm(page).getByText('Invalid address or network. Lines: 2').waitFor();
    await box.fill('203.0.113.7 shop\n10.0.0.0/8, 192.0.2.9');
    await button(keyForm(page), 'Create key').click();
    await saveSecret(page);
    const key = (await keys()).find(({ name }) => name === 'pasted');
    assert.deepEqual(
      key?.allowList.map(({ cidr, note }) => [cidr, note ?? '']),
      [
        ['203.0.113.7', 'shop'],
        ['10.0.0.0/8', ''],
        ['192.0.2.9', ''],
      ],
    );
  });

  it('a link that is opened again continues, until it is redeemed', async () => {
    const to = { account, role: 'developer', email: 'joining@example.com' } as const;
    const link = await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.console.people.invitations.invite(transaction, to, { account, role: 'owner' }),
    );
    const url = formatJoinUrl(browser.origin, link);
    const { page: own } = await browser.newVisitor();
    await followLink(own, url, { name: 'Jo', password: PASSWORD });
    await own.reload();
    await own.getByRole('heading', { name: 'Open the link again' }).waitFor();
    // Opened in the same tab, the link changes only the fragment of the address: the page is not loaded again.
    await followLink(own, url, { name: 'Jo', password: PASSWORD });
    assert.ok(!own.url().includes('#'), 'the secret does not stay in the address');
    await setUpAuthenticatorApp(own, service);
    await own.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    own.once('dialog', (dialog) => dialog.accept());
    await own.reload();
    await own.getByRole('heading', { name: 'Your sign-in is set up' }).waitFor();
    await own.getByRole('link', { name: 'Go to my profile' }).click();
    await button(own, 'Create new codes').waitFor();
    await own.goto('/join#%');
    await own.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
  });

  it('a phone shows the role of each user once', async () => {
    await newPerson(service, account, 'analyst', 'Cora Small');
    await page.setViewportSize({ width: 390, height: 800 });
    await visitWithin(page, `/a/${account}/team`);
    const row = page.getByRole('table', { name: 'Users' }).getByRole('row').filter({ hasText: 'Cora Small' });
    await row.waitFor();
    await untilPasses(async () => assert.equal(((await row.innerText()).match(/Analyst/g) ?? []).length, 1));
  });
});
