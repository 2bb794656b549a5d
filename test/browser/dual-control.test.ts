import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { ApprovalRequired } from '../../src/accounts/approvals.ts';
import { noChromium } from '../chromium.ts';
import { type House, startHouse } from '../house.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import { joined, type Member } from './member.ts';
import { button } from './ways-in.ts';

/** The question of dual control, and the approval of an operator's change, as owners see them. */
describe('dual control, in the browser', { skip: noChromium() }, () => {
  let house: House;
  let browser: TestBrowser;
  let visitor: Visitor;
  let account: string;
  let ana: Member;

  before(async () => {
    house = await startHouse();
    browser = await openBrowser(house.ports.console);
    account = await house.newAccount('Corner shop');
    ana = await joined(house, { account, role: 'owner', name: 'Ana', email: 'ana@example.com' });
    await joined(house, { account, role: 'developer', name: 'Ben', email: 'ben@example.com' });
    await house.newKey(account, { environment: 'production', permissions: ['tokens:detokenize'] });
    visitor = await ana.visit(browser);
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await house?.stop();
  });

  const question = () => visitor.page.getByRole('alert').filter({ hasText: 'take two people' });

  it('an owner is asked, with yes as the default, may put it off and decides', async () => {
    const { page } = visitor;
    await page.goto(`/a/${account}/production/overview`);
    await question().waitFor();
    assert.equal(await question().getByRole('radio', { name: /^Yes/ }).isChecked(), true);
    await visitor.checkAccessibility();
    await button(question(), 'Decide later').click();
    await question().waitFor({ state: 'hidden' });
    await page.goto(`/a/${account}/team`);
    await question().waitFor();
    await ana.stepUp();
    await button(question(), 'Save decision').click();
    await page.getByText('Changes in production take two people from now on.').waitFor();
    await question().waitFor({ state: 'hidden' });
    assert.equal((await house.core.accounts.get(account)).dualControl, true);
  });

  it('the change of an operator takes effect with the approval, and the overview tells of it', async () => {
    const { page } = visitor;
    const tenant = { account, environment: 'production' } as const;
    const request = { processor: 'simulator', settings: {}, force: true };
    const origin = { actor: { type: 'person', id: 'person_00000000000000', name: 'Olga' } } as const;
    await assert.rejects(house.core.activations.enable(tenant, request, origin), ApprovalRequired);
    await ana.stepUp();
    await page.goto(`/a/${account}/approvals`);
    await page.getByText('Requested by Olga, an operator').waitFor();
    await page.getByRole('button', { name: /^Approve/ }).click();
    await page.getByRole('dialog').getByText('It takes effect as soon as you approve it.').waitFor();
    await visitor.checkAccessibility();
    await button(page.getByRole('dialog'), 'Approve').click();
    await page.getByText('Approved. It applies on every node').waitFor();
    await page.goto(`/a/${account}/production/overview`);
    const notice = page.getByRole('alert').filter({ hasText: 'An operator changed settings' });
    await notice.waitFor();
    await visitor.checkAccessibility();
    await notice.getByRole('link').click();
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
  });
});
