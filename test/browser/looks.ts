import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { inScope } from '../scope.ts';
import type { Visitor } from './browser.ts';
import { settled } from './tour.ts';
import { untilPasses } from './until-passes.ts';

export const SIZES = {
  wide: { width: 1280, height: 800 },
  narrow: { width: 390, height: 844 },
  narrowest: { width: 360, height: 740 },
};

export interface Appearance {
  readonly colorScheme: 'light' | 'dark';
  readonly size: { readonly width: number; readonly height: number };
}

/** Each page is checked once in `npm test`, and in every color scheme and width in `npm run test:long`. */
export const LOOKS = inScope<readonly Appearance[]>({
  usual: [{ colorScheme: 'light', size: SIZES.wide }],
  long: (['light', 'dark'] as const).flatMap((colorScheme) =>
    Object.values(SIZES).map((size) => ({ colorScheme, size })),
  ),
});

/** Throws when a page is wider than the screen. */
export async function assertNoSideways(page: Page): Promise<void> {
  await settled(page);
  await untilPasses(async () => {
    const { wide, shown } = await page.evaluate<{ wide: number; shown: number }>(
      '({ wide: document.documentElement.scrollWidth, shown: document.documentElement.clientWidth })',
    );
    assert.ok(wide <= shown, `${wide} wide on a screen of ${shown}`);
  });
}

/** Throws unless the present page has the outline of every page, and its part is accessible in every look. */
export async function checkLooks({ page, checkAccessibility }: Visitor, part: string): Promise<void> {
  await page.setViewportSize(SIZES.wide);
  await page.emulateMedia({ colorScheme: 'light' });
  await assertOutline(page);
  for (const { colorScheme, size } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await assertNoSideways(page);
    await checkAccessibility({ part });
  }
}

/** The names that a screen reader uses. */
async function assertOutline(page: Page): Promise<void> {
  await settled(page);
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' });
  await untilPasses(async () => {
    assert.equal(await page.locator('h1').count(), 1, 'one heading of the first level');
    assert.equal(await page.getByRole('main').count(), 1, 'one main part');
    assert.match(await page.title(), / · cardvault$/);
    assert.equal(await page.locator('table:not(:has(caption))').count(), 0, 'a table without a caption');
  });
}
