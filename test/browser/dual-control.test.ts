import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { refundPaymentManually, showPayment } from '../../console/wire/payments.ts';
import { ApprovalRequired } from '../../src/accounts/change-control.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import { idOf, order, PAYMENTS } from '../interface/payment-requests.ts';
import { newCaller } from '../interface/vault-requests.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { type Member, newMember } from './member.ts';
import { shareService } from './shared-service.ts';
import { button } from './sign-in-steps.ts';
import { moveTo } from './tour.ts';

/** The question of dual control, and the approval of an operator's change, as owners see them. */
describe('dual control, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let service: TestService;
  let browser: TestBrowser;
  let visitor: Visitor;
  let account: string;
  let ana: Member;
  let ben: Member;

  before(async () => {
    ({ service, browser } = await shared.open());
    account = await service.newAccount('Corner shop');
    ana = await newMember(service, { account, role: 'owner', name: 'Ana', email: 'ana@example.com' });
    ben = await newMember(service, { account, role: 'developer', name: 'Ben', email: 'ben@example.com' });
    await service.newKey(account, { environment: 'production', permissions: ['tokens:detokenize'] });
    visitor = await ana.visit(browser);
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const question = () => visitor.page.getByRole('alert').filter({ hasText: 'Require two-person approval' });

  it('an owner sees the question with yes as the default, can postpone it and decides', async () => {
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
    await page.getByText('Two-person approval is on for production.').waitFor();
    await question().waitFor({ state: 'hidden' });
    assert.equal((await service.core.accounts.get(account)).dualControl, true);
  });

  it('the change of an operator takes effect with the approval, and the overview shows it', async () => {
    const { page } = visitor;
    const tenant = { account, environment: 'production' } as const;
    const request = { processor: 'simulator', settings: {}, force: true };
    const { id } = await newMember(service, { account: '', role: 'operator', name: 'Olga', email: 'olga@example.com' });
    const origin = { actor: { type: 'person', id, name: 'Olga' } } as const;
    await assert.rejects(
      service.core.transactions.run({ origin: origin }, (transaction) =>
        service.core.activations.enable(transaction, tenant, request),
      ),
      ApprovalRequired,
    );
    await ana.stepUp();
    await moveTo(page, `/a/${account}/approvals`);
    await page.getByText('Requested by Olga, an operator').waitFor();
    await page.getByRole('button', { name: /^Approve/ }).click();
    await page.getByRole('dialog').getByText('It applies as soon as you approve it.').waitFor();
    await visitor.checkAccessibility();
    await button(page.getByRole('dialog'), 'Approve change').click();
    await page.getByText('Change approved. It applies on every node').waitFor();
    await moveTo(page, `/a/${account}/production/overview`);
    const notice = page.getByRole('alert').filter({ hasText: 'An operator changed settings' });
    await notice.waitFor();
    await visitor.checkAccessibility();
    await notice.getByRole('link').click();
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
  });

  it('several payments are approved with one confirmation, and executed with another', async () => {
    const environment = 'production';
    const { send } = await newCaller(service, { account, environment });
    const ids: string[] = [];
    await ana.stepUp();
    for (const amount of [10, 20.5, 30]) ids.push(idOf(await send('POST', PAYMENTS, order('payment', { amount }))));
    for (const id of ids)
      await ana.call(refundPaymentManually, { account, environment, id }, { expected_operations: 1 });
    const approvers = await ben.visit(browser);
    await ben.stepUp();
    const decide = async (of: Visitor, verb: string, done: string): Promise<void> => {
      const { page } = of;
      await page.goto(`/a/${account}/approvals`);
      const group = page.getByRole('group', { name: '3 requests' });
      await group.getByText('Refund a payment: 3 requests').waitFor();
      await group.getByText('60.50').waitFor();
      await button(group, `${verb} 3 changes`).click();
      const dialog = page.getByRole('dialog');
      const changes = dialog.getByRole('group', { name: 'Changes' });
      for (const id of ids) await changes.getByText(id).waitFor();
      assert.equal(await changes.getByRole('listitem').count(), 3);
      await of.checkAccessibility({ part: '[role=dialog]' });
      await button(dialog, `${verb} 3 changes`).click();
      await dialog.getByText(`3 of 3 changes ${done}.`).waitFor();
      await button(dialog, 'Close').last().click();
      await dialog.waitFor({ state: 'detached' });
    };
    await decide(approvers, 'Approve', 'approved');
    await ana.stepUp();
    await decide(visitor, 'Execute', 'executed');
    const records = (await service.core.database.read('select record from journal where account = ?account', account))
      .map(({ record }) => JSON.parse(String(record)))
      .filter(({ detail }) => detail?.change === 'payment.refund');
    const by = (action: string, { id }: Member): number =>
      new Set(records.filter((each) => each.action === action && each.actor.id === id).map(({ targets }) => targets[0]))
        .size;
    assert.deepEqual(
      [by('approval.requested', ana), by('approval.approved', ben), by('approval.carried-out', ana)],
      [3, 3, 3],
    );
    for (const id of ids)
      assert.equal((await ana.call(showPayment, { account, environment, id })).operations[1].state, 'accepted');
  });
});
