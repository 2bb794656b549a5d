import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { assertNoSideways, LOOKS, SIZES } from './looks.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, type Stop, seededUsers, settled, stopsIn, visit, visitWithin, type Who } from './tour.ts';
import { untilPasses } from './until-passes.ts';

describe('the accessibility of every page', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  const visitors = new Map<Who, Visitor>();
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const visitorOf = async (who: Who): Promise<Visitor> => {
    const visitor = visitors.get(who) ?? (await seededUsers(filled)[who].visit(browser));
    visitors.set(who, visitor);
    return visitor;
  };
  /** Each page once, and how it looks when it is shown. */
  const everywhere = async (
    who: readonly Who[],
    check: (visitor: Visitor, stop: Stop) => Promise<void>,
  ): Promise<void> => {
    const faults: string[] = [];
    for (const stop of stopsIn(filled).filter((each) => who.includes(each.who))) {
      const visitor = await visitorOf(stop.who);
      await visitor.page.setViewportSize(SIZES.wide);
      await visitor.page.emulateMedia({ colorScheme: 'light' });
      if (visitor.page.url() === 'about:blank') await visit(visitor.page, stop.path);
      else await visitWithin(visitor.page, stop.path);
      await check(visitor, stop).catch((error: Error) => faults.push(`${stop.name}: ${error.message}`));
    }
    assert.equal(faults.join('\n\n'), '');
  };

  for (const [name, who] of [
    ['a merchant', ['owner', 'newcomer']],
    ['an operator', ['operator']],
  ] as const)
    it(`of ${name}: outline, accessibility, and no horizontal overflow`, async () => {
      const framed = new Set<Visitor>();
      await everywhere(who, async (visitor, { heading }) => {
        const { page, checkAccessibility } = visitor;
        await assertOutline(page, heading);
        // The frame around the pages of a user is the same on all of them.
        const part = framed.has(visitor) ? 'main' : 'html';
        framed.add(visitor);
        for (const { colorScheme, size } of LOOKS) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize(size);
          await assertNoSideways(page);
          await checkAccessibility({ part });
        }
      });
    });

  it('the sign-in page: its policy and its accessibility', async () => {
    const { page, checkAccessibility } = await browser.newVisitor();
    const answer = await page.goto('/');
    assert.match((await answer?.allHeaders())?.['content-security-policy'] ?? '', /default-src 'none'/);
    await headed(page, 'Sign in');
    await checkAccessibility();
  });
});

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
