import type { Locator, Page } from 'playwright-core';

/** The form that creates an API key, as users fill it in. */
export const keyForm = (page: Page): Locator => page.getByRole('dialog', { name: 'Create an API key' });

export async function fillKey(page: Page, name: string, preset = 'Read only'): Promise<void> {
  await keyForm(page).getByLabel('Name').fill(name);
  await keyForm(page).getByRole('button', { name: preset, exact: true }).click();
}

export const askForKey = (page: Page): Promise<void> =>
  keyForm(page).getByRole('button', { name: 'Create key', exact: true }).click();
