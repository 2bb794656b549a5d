import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { assertNoSideways, LOOKS, SIZES } from './looks.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, type Stop, seededUsers, settled, stopsIn, visit, visitWithin } from './tour.ts';
import { untilPasses } from './until-passes.ts';

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

  for (const who of ['owner', 'newcomer', 'operator'] as const)
    it(`the pages of the ${who}: outline, accessibility, and no horizontal overflow`, async () => {
      const visitor = await seededUsers(filled)[who].visit(browser);
      const { page } = visitor;
      const faults: string[] = [];
      const [first, ...others] = stopsIn(filled).filter((stop) => stop.who === who);
      assert.ok(first);
      await visit(page, first.path);
      await checkStop(visitor, first, 'html').catch((error: Error) => faults.push(`${first.name}: ${error.message}`));
      for (const stop of others) {
        await visitWithin(page, stop.path);
        // The frame around the pages of a user is the same on all of them.
        await checkStop(visitor, stop, 'main').catch((error: Error) => faults.push(`${stop.name}: ${error.message}`));
      }
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

/** How a page looks when it is shown, and its part in every look. */
async function checkStop({ page, checkAccessibility }: Visitor, { heading }: Stop, part: string): Promise<void> {
  await page.setViewportSize(SIZES.wide);
  await page.emulateMedia({ colorScheme: 'light' });
  await assertOutline(page, heading);
  for (const { colorScheme, size } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await assertNoSideways(page);
    await checkAccessibility({ part });
  }
}

/** The names that a screen reader uses. */
async function assertOutline(page: Page, heading: string | RegExp): Promise<void> {
  await headed(page, heading);
  await settled(page);
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' });
  await untilPasses(async () => {
    assert.equal(await page.locator('h1').count(), 1, 'one heading of the first level');
    assert.equal(await page.getByRole('main').count(), 1, 'one main part');
    assert.match(await page.title(), / · cardvault$/);
    assert.equal(await page.locator('table:not(:has(caption))').count(), 0, 'a table without a caption');
  });
}
