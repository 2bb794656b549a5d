import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { inScope } from '../scope.ts';
import type { TestBrowser } from './browser.ts';
import { newApiClient, openSession } from './seed-data.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, moveTo, seededUsers, visit, visitWithin, type Who } from './tour.ts';

const ROLES = ['owner', 'developer', 'analyst', 'auditor'] as const;
type Role = (typeof ROLES)[number];

const IN_ENVIRONMENT = {
  Overview: 'overview',
  Payments: 'payments',
  Tokens: 'tokens',
  'Temporary card data': 'captures',
  'Card form': 'card-form',
  'API keys': 'keys',
  'Request log': 'requests',
  Webhooks: 'webhooks',
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
const OF_OPERATORS = [
  'Accounts',
  'Overview',
  'Requests',
  'Processors',
  'Encryption keys',
  'Health',
  'Request log',
  'Audit log',
  'Operators',
];

/** Pages that are not in the navigation of a role. */
const HIDDEN: Readonly<Record<Role, readonly string[]>> = {
  owner: [],
  developer: ['Settings'],
  analyst: ['API keys', 'Request log', 'Webhooks', 'Proxy', 'Workbench', 'Audit log', 'Settings'],
  auditor: ['Workbench', 'Settings'],
};

const CHANGERS: readonly Role[] = ['owner', 'developer'];

/**
 * A button is looked for by the role with the fewest rights that has it, and by the most powerful one without it:
 * `rights.test.ts` has all of them.
 */
const isTried = (role: Role, roles: readonly Role[]): boolean =>
  role === roles.at(-1) || role === ROLES.find((each) => !roles.includes(each));

describe('the pages of a role', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  let session: string;
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
    const { secret } = await filled.service.newKey(filled.harbour.account);
    session = await openSession(newApiClient(filled.service, secret, 'sandbox', 'roles'), 'Order HB-2045');
  });
  afterEach(async () => {
    browser.check();
    await browser.endVisits();
  });
  after(() => shared.close());

  const open = async (who: Who, path: string): Promise<Page> => {
    const { page } = await seededUsers(filled)[who].visit(browser);
    await visit(page, path);
    return page;
  };
  const account = (): string => `/a/${filled.harbour.account}`;
  const sandbox = (): string => `${account()}/sandbox`;
  const pathOf = (name: string): string => {
    const inside = (IN_ENVIRONMENT as Record<string, string>)[name];
    return inside === undefined
      ? `${account()}/${(IN_ACCOUNT as Record<string, string>)[name]}`
      : `${sandbox()}/${inside}`;
  };
  const navigation = (page: Page): Promise<string[]> =>
    page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents();

  /** Each button that changes something, where it is, and who may use it. */
  const offers = (): readonly (readonly [path: string, button: string, roles: readonly Role[]])[] => [
    [`${sandbox()}/keys`, 'Create key', CHANGERS],
    [`${sandbox()}/tokens/${filled.harbour.token}`, 'Delete token', CHANGERS],
    [`${sandbox()}/captures/${filled.harbour.capture}`, 'Delete capture', CHANGERS],
    [`${sandbox()}/payments/${filled.harbour.payments.get('HB-1003')}`, 'Refund payment', [...CHANGERS, 'analyst']],
    [`${sandbox()}/card-form`, 'Open the form as a page', CHANGERS],
    [`${sandbox()}/card-form`, `Cancel session ${session.slice(0, 8)}…${session.slice(-4)}`, CHANGERS],
    [`${sandbox()}/webhooks`, 'Create webhook', CHANGERS],
    [`${sandbox()}/webhooks/${filled.harbour.webhook}`, 'Delete webhook', CHANGERS],
    [`${sandbox()}/proxy`, 'Remove proxy configuration', CHANGERS],
    [`${account()}/team`, 'Invite user', ['owner']],
    [`${account()}/onboarding`, 'Request payments', ['owner']],
    [`${account()}/approvals`, 'Approve change: Create an API key', ['owner']],
    [`${account()}/approvals`, 'Withdraw request: Create an API key', ['developer']],
    [`${account()}/audit`, 'Verify log', ['owner', 'developer', 'auditor']],
    [`${account()}/settings`, 'Turn off two-person approval', ['owner']],
  ];

  // Between them these two have and lack pages and buttons of every kind.
  for (const role of inScope<readonly Role[]>({ usual: ['developer'], long: ROLES }))
    it(`the role ${role} has its pages and buttons, and an explanation on other pages`, async () => {
      const page = await open(role, `${sandbox()}/captures`);
      const all = [...Object.keys(IN_ENVIRONMENT), ...Object.keys(IN_ACCOUNT)];
      assert.deepEqual(
        await navigation(page),
        all.filter((name) => !HIDDEN[role].includes(name)),
      );
      await page.keyboard.press('Control+k');
      const options = page.getByRole('dialog', { name: 'Search' }).getByRole('option');
      await options.first().waitFor();
      const offered = (await options.allTextContents()).join('\n');
      for (const name of HIDDEN[role]) assert.ok(!offered.includes(name), `the palette offers ${name}`);
      await page.keyboard.press('Escape');
      for (const [path, button, roles] of offers().filter((each) => isTried(role, each[2]))) {
        await moveTo(page, path);
        const found = page.getByRole('main').getByRole('button', { name: button, exact: true }).first();
        if (roles.includes(role)) await found.waitFor();
        else assert.equal(await found.count(), 0, `${role} is offered “${button}” at ${path}`);
      }
      for (const name of HIDDEN[role]) {
        await visitWithin(page, pathOf(name));
        await headed(page, 'Your role does not include this page');
      }
    });

  it('operators get the pages of the service, and none of an account', async () => {
    const page = await open('operator', '/');
    await headed(page, 'Accounts');
    assert.deepEqual(await navigation(page), OF_OPERATORS);
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
    for (const [who, paths] of Object.entries(areas)) {
      const page = await open(who as Who, paths[0] as string);
      for (const path of paths) {
        await visitWithin(page, path);
        await headed(page, 'Page not found');
        const shown = (await page.getByRole('main').textContent()) ?? '';
        assert.ok(!shown.includes('Northwind'), path);
      }
    }
  });
});
