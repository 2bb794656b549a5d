import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { inScope } from '../scope.ts';
import type { AccessibilityOptions, Visitor } from './browser.ts';
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

const FIRST: Appearance = { colorScheme: 'light', size: SIZES.wide };

/** Each page is checked once in `npm test`, and in every color scheme and width in `npm run test:long`. */
export const LOOKS = inScope<readonly Appearance[]>({
  usual: [FIRST],
  long: (['light', 'dark'] as const).flatMap((colorScheme) =>
    Object.values(SIZES).map((size) => ({ colorScheme, size })),
  ),
});

/** Throws when a page is wider than the screen. */
export async function assertNoSideways(page: Page): Promise<void> {
  await untilPasses(async () => {
    const { wide, shown } = await page.evaluate<{ wide: number; shown: number }>(
      '({ wide: document.documentElement.scrollWidth, shown: document.documentElement.clientWidth })',
    );
    assert.ok(wide <= shown, `${wide} wide on a screen of ${shown}`);
  });
}

/**
 * Throws unless the present page has the outline of every page, and what the options name is accessible in every look. The
 * visitor has the first of these looks.
 */
export async function checkLooks(visitor: Visitor, options: AccessibilityOptions): Promise<void> {
  const { page, checkAccessibility } = visitor;
  await settled(page);
  await assertOutline(page);
  for (const look of LOOKS) {
    await lookAt(page, look);
    await assertNoSideways(page);
    await checkAccessibility(options);
  }
  await lookAt(page);
}

/** The only look is the one that pages have already. */
export async function lookAt(page: Page, { colorScheme, size } = FIRST): Promise<void> {
  if (LOOKS.length === 1) return;
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(size);
  await settled(page);
}

/** The names that a screen reader uses. */
async function assertOutline(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' });
  await untilPasses(async () => {
    const { headings, mains, title, tables } = await page.evaluate<
      Record<'headings' | 'mains' | 'tables', number> & { title: string }
    >(`{
      const count = (selector) => document.querySelectorAll(selector).length;
      ({ headings: count('h1'), mains: count('main'), title: document.title, tables: count('table:not(:has(caption))') });
    }`);
    assert.equal(headings, 1, 'one heading of the first level');
    assert.equal(mains, 1, 'one main part');
    assert.match(title, / · cardvault$/);
    assert.equal(tables, 0, 'a table without a caption');
  });
}
