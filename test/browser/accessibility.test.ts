import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { isLong } from '../scope.ts';
import type { TestBrowser } from './browser.ts';
import { checkLooks } from './looks.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, seededUsers, stopsIn, visit, visitWithin } from './tour.ts';

/** Pages that `stored-scripts.test.ts` does not show, or not with as many records; among them is one of each kind. */
const NOT_SHOWN_ELSEWHERE = [
  'overview',
  'payments',
  'payment-doubtful',
  'requests',
  'card-form',
  'webhooks',
  'webhook',
  'proxy',
  'workbench',
  'alerts',
  'onboarding-new',
  'overview-new',
  'keys-new',
];

describe('the accessibility of every page', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
  });
  afterEach(async () => {
    browser.check();
    await browser.endVisits();
  });
  after(() => shared.close());

  // `stored-scripts.test.ts` has the other pages, and those of operators, in `npm test`.
  for (const who of isLong ? (['owner', 'newcomer', 'operator'] as const) : (['owner', 'newcomer'] as const))
    it(`the pages of the ${who}: outline, accessibility, and no horizontal overflow`, async () => {
      const visitor = await seededUsers(filled)[who].visit(browser);
      const { page } = visitor;
      const faults: string[] = [];
      const own = stopsIn(filled).filter((stop) => stop.who === who);
      const stops = isLong ? own : own.filter(({ name }) => NOT_SHOWN_ELSEWHERE.includes(name));
      for (const [index, { name, path, heading }] of stops.entries()) {
        await (index === 0 ? visit : visitWithin)(page, path);
        // The frame around the pages of a user is the same on all of them.
        const part = index === 0 ? 'html' : 'main';
        await headed(page, heading)
          .then(() => checkLooks(visitor, { part }))
          .catch((error: Error) => faults.push(`${name}: ${error.message}`));
      }
      assert.ok(stops.length > 2);
      assert.equal(faults.join('\n\n'), '');
    });

  it('the sign-in page: its policy and its accessibility', async () => {
    const { page, checkAccessibility } = await browser.newVisitor();
    const answer = await page.goto('/');
    assert.match((await answer?.allHeaders())?.['content-security-policy'] ?? '', /default-src 'none'/);
    await headed(page, 'Sign in');
    await checkAccessibility();
  });
});
