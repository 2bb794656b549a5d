import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import { type SeededService, startSeededService } from './seeded-service.ts';
import { headed, moveTo, seededUsers, visit, visitWithin } from './tour.ts';

const ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;
type Role = (typeof ROLES)[number];

const IN_ENVIRONMENT = {
  Overview: 'overview',
  Payments: 'payments',
  Tokens: 'tokens',
  Captures: 'captures',
  'API keys': 'keys',
  Proxy: 'proxy',
  Workbench: 'workbench',
};
const IN_ACCOUNT = {
  Onboarding: 'onboarding',
  Team: 'team',
  Approvals: 'approvals',
  'Audit log': 'audit',
  Settings: 'settings',
};
const OF_OPERATORS = ['Accounts', 'Requests', 'Processors', 'Encryption keys', 'Health', 'Audit log', 'Operators'];

/** Pages that are not in the navigation of a role. */
const HIDDEN: Readonly<Record<Role, readonly string[]>> = {
  owner: [],
  developer: ['Settings'],
  analyst: ['API keys', 'Proxy', 'Workbench', 'Audit log', 'Settings'],
  auditor: ['Workbench', 'Settings'],
};

describe('the pages that a role sees', { skip: whyNoChromium() }, () => {
  let filled: SeededService;
  let browser: TestBrowser;
  const visitors = new Map<string, Visitor>();
  before(async () => {
    filled = await startSeededService();
    browser = await openBrowser(filled.service.ports.console);
    for (const who of [...ROLES, 'operator'] as const) visitors.set(who, await seededUsers(filled)[who].visit(browser));
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await filled?.service.stop();
  });

  const pageOf = (who: string) => (visitors.get(who) as Visitor).page;
  const account = (): string => `/a/${filled.harbour.account}`;
  const sandbox = (): string => `${account()}/sandbox`;
  const navigation = (who: string): Promise<string[]> =>
    pageOf(who).getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents();

  for (const role of ROLES)
    it(`the navigation of the role ${role} has the pages of the role, and no other`, async () => {
      await visit(pageOf(role), `${sandbox()}/overview`);
      const all = [...Object.keys(IN_ENVIRONMENT), ...Object.keys(IN_ACCOUNT)];
      assert.deepEqual(
        await navigation(role),
        all.filter((name) => !HIDDEN[role].includes(name)),
      );
      await pageOf(role).keyboard.press('Control+k');
      const options = pageOf(role).getByRole('dialog', { name: 'Search' }).getByRole('option');
      await options.first().waitFor();
      const offered = (await options.allTextContents()).join('\n');
      for (const name of HIDDEN[role]) assert.ok(!offered.includes(name), `the palette offers ${name}`);
      await pageOf(role).keyboard.press('Escape');
    });

  it('operators are led to the pages of the service, and to none of an account', async () => {
    await visit(pageOf('operator'), '/');
    await headed(pageOf('operator'), 'Accounts');
    assert.deepEqual(await navigation('operator'), OF_OPERATORS);
  });

  for (const role of ROLES.filter((each) => HIDDEN[each].length > 0))
    it(`a user in the role ${role} who types the address of another page gets an explanation`, async () => {
      for (const name of HIDDEN[role]) {
        const inside = (IN_ENVIRONMENT as Record<string, string>)[name];
        const path =
          inside === undefined
            ? `${account()}/${(IN_ACCOUNT as Record<string, string>)[name]}`
            : `${sandbox()}/${inside}`;
        await visitWithin(pageOf(role), path);
        await headed(pageOf(role), 'Your role does not include this page');
      }
    });

  it('what changes something is offered to those who may do it', async () => {
    const payment = filled.harbour.payments.get('HB-1003');
    const changers: readonly Role[] = ['owner', 'developer'];
    const offers: readonly (readonly [path: string, button: string | RegExp, roles: readonly Role[]])[] = [
      [`${sandbox()}/keys`, 'Create key', changers],
      [`${sandbox()}/tokens/${filled.harbour.token}`, 'Delete token', changers],
      [`${sandbox()}/captures/${filled.harbour.capture}`, 'Delete capture', changers],
      [`${sandbox()}/payments/${payment}`, 'Refund payment', [...changers, 'analyst']],
      [`${sandbox()}/proxy`, 'Remove proxy configuration', changers],
      [`${account()}/team`, 'Invite user', ['owner']],
      [`${account()}/onboarding`, 'Request payments', ['owner']],
      [`${account()}/approvals`, 'Approve change: Create an API key', ['owner']],
      [`${account()}/approvals`, 'Withdraw request: Create an API key', ['developer']],
      [`${account()}/audit`, 'Verify log', ['owner', 'developer', 'auditor']],
      [`${account()}/settings`, 'Turn off two-person approval', ['owner']],
    ];
    // For the role with the fewest rights, and for the most powerful page that the others may not open:
    // `rights.test.ts` has all of them.
    const who = (roles: readonly Role[]): Role[] =>
      [roles.at(-1), ROLES.find((role) => !roles.includes(role))].filter((role) => role !== undefined);
    for (const [path, button, roles] of offers)
      for (const role of who(roles)) {
        const page = pageOf(role);
        await moveTo(page, path);
        const found = page.getByRole('main').getByRole('button', { name: button, exact: true }).first();
        if (roles.includes(role)) await found.waitFor();
        else assert.equal(await found.count(), 0, `${role} is offered “${button}” at ${path}`);
      }
  });

  it('pages of another account, and of operators, do not exist for other users', async () => {
    const theirs = `/a/${filled.northwind.account}`;
    const pages = [
      ...Object.values(IN_ENVIRONMENT).map((page) => `${theirs}/sandbox/${page}`),
      ...Object.values(IN_ACCOUNT).map((page) => `${theirs}/${page}`),
      `${theirs}/production/tokens/${filled.harbour.token}`,
      '/a/acct_0000000000/team',
      '/nowhere',
    ];
    const areas = {
      owner: [...pages, '/operator/accounts', '/operator/health'],
      operator: [...pages.slice(-4), `${account()}/team`, `${sandbox()}/tokens`],
    };
    for (const [who, paths] of Object.entries(areas))
      for (const path of paths) {
        await visitWithin(pageOf(who), path);
        await headed(pageOf(who), 'Page not found');
        const shown = (await pageOf(who).getByRole('main').textContent()) ?? '';
        assert.ok(!shown.includes('Northwind'), path);
      }
    await visit(pageOf('owner'), `${theirs}/team`);
    await headed(pageOf('owner'), 'Page not found');
  });

  it('a record of another account is unknown under one’s own address', async () => {
    const { northwind, harbour } = filled;
    const visitor = await northwind.owner.visit(browser);
    const base = `/a/${northwind.account}/sandbox`;
    await visit(visitor.page, `${base}/keys`);
    const records = [
      `tokens/${harbour.token}`,
      `captures/${harbour.capture}`,
      `payments/${harbour.payments.get('HB-1003')}`,
    ];
    for (const record of records) {
      await visitWithin(visitor.page, `${base}/${record}`);
      await visitor.page
        .getByRole('main')
        .getByText(/not found|has expired|does not exist/i)
        .first()
        .waitFor();
      assert.doesNotMatch(
        (await visitor.page.getByRole('main').textContent()) ?? '',
        /ending in|Ana Lopez|Shop server|118\.00|Harbour/,
      );
    }
  });
});
