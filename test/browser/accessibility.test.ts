import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { isLong } from '../scope.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import { type SeededService, startSeededService } from './seeded-service.ts';
import { headed, type Stop, settled, stopsIn, visit, visitWithin, type Who, whoIs } from './tour.ts';
import { untilPasses } from './until-passes.ts';

/** Every page in both forms, which takes a minute more. */
const IS_THOROUGH = isLong;

const SIZES = {
  wide: { width: 1280, height: 800 },
  narrow: { width: 390, height: 844 },
  narrowest: { width: 360, height: 740 },
};

describe('every page can be used by everybody', { skip: whyNoChromium() }, () => {
  let filled: SeededService;
  let browser: TestBrowser;
  const visitors = new Map<Who, Visitor>();
  before(async () => {
    filled = await startSeededService();
    browser = await openBrowser(filled.service.ports.console);
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await filled?.service.stop();
  });

  const visitorOf = async (who: Who): Promise<Visitor> => {
    const visitor = visitors.get(who) ?? (await whoIs(filled)[who].visit(browser));
    visitors.set(who, visitor);
    return visitor;
  };
  /** Each page once, and how it looks when it is shown. */
  const everywhere = async (
    who: readonly Who[],
    look: (visitor: Visitor, stop: Stop) => Promise<void>,
  ): Promise<void> => {
    const faults: string[] = [];
    for (const stop of stopsIn(filled).filter((each) => who.includes(each.who))) {
      const visitor = await visitorOf(stop.who);
      await visitor.page.setViewportSize(SIZES.wide);
      await visitor.page.emulateMedia({ colorScheme: 'light' });
      if (visitor.page.url() === 'about:blank') await visit(visitor.page, stop.path);
      else await visitWithin(visitor.page, stop.path);
      await look(visitor, stop).catch((error: Error) => faults.push(`${stop.name}: ${error.message}`));
    }
    assert.equal(faults.join('\n\n'), '');
  };

  for (const [name, who] of [
    ['a merchant', ['owner', 'newcomer']],
    ['an operator', ['operator']],
  ] as const)
    it(`of ${name}: wide and light, or narrow and dark, and nothing beside the screen`, async () => {
      let looked = 0;
      await everywhere(who, async ({ page, checkAccessibility }, { heading }) => {
        const isWide = looked++ % 2 === 0;
        await assertOutline(page, heading);
        if (IS_THOROUGH || isWide) await checkAccessibility();
        await page.emulateMedia({ colorScheme: 'dark' });
        await page.setViewportSize(SIZES.narrow);
        await assertNoSideways(page);
        if (IS_THOROUGH || !isWide) await checkAccessibility();
        await page.setViewportSize(SIZES.narrowest);
        await assertNoSideways(page);
      });
    });
});

/** What a screen reader goes by. */
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

async function assertNoSideways(page: Page): Promise<void> {
  await settled(page);
  await untilPasses(async () => {
    const { wide, shown } = await page.evaluate<{ wide: number; shown: number }>(
      '({ wide: document.documentElement.scrollWidth, shown: document.documentElement.clientWidth })',
    );
    assert.ok(wide <= shown, `${wide} wide on a screen of ${shown}`);
  });
}
