import type { Locator, Page } from 'playwright-core';

/** Actions of users on every page, by the visible texts. */

export const press = (within: Page | Locator, name: string | RegExp): Promise<void> =>
  within
    .getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
    .first()
    .click();

/** The one on top. */
export const dialogOf = (page: Page): Locator => page.getByRole('dialog').last();

/** The note at the edge of the screen that says so. */
export const notice = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByRole('alert').filter({ hasText: text }).last().waitFor();
