import type { Locator, Page } from 'playwright-core';
import type { TestService } from '../fixtures/test-service.ts';
import { totp } from '../fixtures/totp.ts';

/** Steps of the sign-in in a browser, by the visible texts (in English). */

/** The credentials of a user. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** The secret of the authenticator app, base32; absent with a passkey. */
  readonly totpSecret: string;
}

interface EnrollmentInput {
  readonly name: string;
  readonly password: string;
  /** Typed by users of a link without an email address. */
  readonly email?: string;
}

/** By its words, or the beginning of them. */
export const button = (within: Page | Locator, name: string | RegExp): Locator =>
  within.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });

/** The app shows a new code every 30 seconds, and each is valid once, so the clock is advanced. */
export function newCode(service: TestService, secret: string): string {
  service.advance(30_000);
  return totp(secret, service.now());
}

/** Follows a link as far as the choice of a second factor. */
export async function followLink(page: Page, url: string, { name, password, email }: EnrollmentInput): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Your name').fill(name);
  if (email !== undefined) await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button(page, 'Continue').click();
  await page.getByRole('heading', { name: 'Add a second factor' }).waitFor();
}

/** Sets the app up; answers its secret. */
export async function setUpAuthenticatorApp(page: Page, service: TestService): Promise<string> {
  await button(page, /^Authenticator app/).click();
  const secret = (await page.getByTitle(/^[A-Z2-7]{16,}$/).getAttribute('title')) ?? '';
  await page.getByLabel('Code', { exact: true }).fill(totp(secret, service.now()));
  await button(page, 'Confirm').click();
  return secret;
}

/** Confirms the recovery codes, and continues. */
export async function saveRecoveryCodes(page: Page): Promise<string[]> {
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  const codes = await page.getByRole('listitem').locator('code').allTextContents();
  await page.getByLabel('I have stored them').check();
  await button(page, 'Continue').click();
  return codes;
}

/** On the sign-in page. */
export async function enterPassword(page: Page, { email, password }: Omit<Credentials, 'totpSecret'>): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button(page, 'Continue').click();
}

/** Six digits need no button. */
export const enterCode = (page: Page, code: string): Promise<void> =>
  page.getByLabel('Code', { exact: true }).fill(code);

/** From the sign-in page to the pages behind it. */
export async function signIn(page: Page, service: TestService, person: Credentials): Promise<void> {
  await enterPassword(page, person);
  await enterCode(page, newCode(service, person.totpSecret));
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}

export async function signOut(page: Page): Promise<void> {
  await button(page, /Your menu$/).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

/** Confirms that the codes, which are shown once, were stored. */
export async function saveSecret(page: Page, doneLabel = 'Done'): Promise<string> {
  const confirmation = /^I have (stored|sent) it$/;
  const dialog = page.getByRole('dialog').filter({ has: page.getByLabel(confirmation) });
  const secret = (await dialog.locator('code').first().textContent()) ?? '';
  await dialog.getByLabel(confirmation).check();
  await button(dialog, doneLabel).click();
  await dialog.waitFor({ state: 'hidden' });
  return secret;
}
