import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';
import { onPath } from '../receivers/install.ts';
import { askForKey, fillKey, keyForm } from './key-form.ts';
import { button, saveSecret } from './sign-in-steps.ts';
import { untilPasses } from './until-passes.ts';

/** Actions of owners and operators from a new account to live payments. */

const linkTo = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true });

export const goTo = (page: Page, name: string): Promise<void> => linkTo(page, name).click();

/** With the changes that happened outside of this browser. */
export async function goToNews(page: Page, name: string): Promise<void> {
  await page.evaluate(LATER);
  await goTo(page, name);
  await page.evaluate(COME_BACK);
}

/** The user comes back to a window that was in the background for a while: its page loads its data again. */
export async function comeBack(page: Page): Promise<void> {
  await page.evaluate(LATER);
  await page.evaluate(COME_BACK);
}

/** Data of a page is loaded again when it is older than 15 seconds: the clock of the page goes forward. */
const LATER = '{ const now = Date.now; Date.now = () => now() + 16_000; }';
/** The page is hidden, and visible again. */
const COME_BACK = `{
  const change = () => document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  Object.defineProperty(document, 'hidden', { value: true, configurable: true });
  change();
  delete document.hidden;
  change();
}`;

/** A line of the checklist. */
export const stepOf = (page: Page, title: string): Locator =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

/** Until it is that far. */
export const step = (page: Page, title: string, state: string): Promise<void> =>
  stepOf(page, title).getByText(state, { exact: true }).waitFor();

/** From the checklist to the key, which is shown this one time, and back. */
export async function makeKey(page: Page, name: string, server: string): Promise<string> {
  const form = keyForm(page);
  await fillKey(page, name, 'Everything');
  await button(form, /^Add my address \(/).click();
  // A browser and curl may come to the same machine from different ones.
  for (const [index, address] of ['127.0.0.1', '::1'].entries())
    assert.equal(await form.getByLabel(`Address or network ${index + 1}`).inputValue(), address);
  await button(form, 'Add address').click();
  await form.getByLabel('Address or network 3').fill(server);
  await form.getByLabel('Note 3').fill('shop server');
  await askForKey(page);
  await page.getByRole('heading', { name: 'Your new key' }).waitFor();
  const command = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
  const waiting = page.waitForEvent('download');
  await button(page.getByRole('dialog'), 'Download ca.pem').click();
  const authority = readFileSync(await (await waiting).path(), 'utf8');
  assert.match(authority, /^-----BEGIN CERTIFICATE-----\n/);
  const secret = await saveSecret(page, 'Back to the checklist');
  assert.match(command, /^curl --cacert ca\.pem https:\/\/localhost:\d+\/v1\/(account|tokenization\/simple)/);
  assert.ok(command.includes(secret));
  if (onPath('curl')) await runAsShown(command, authority);
  await page.getByRole('heading', { name: 'Onboarding', level: 1 }).waitFor();
  await assertForgotten(page, secret);
  return secret;
}

/** The key is nowhere once its page was left: not in the page, its address, its history or anything that the browser stores. */
async function assertForgotten(page: Page, secret: string): Promise<void> {
  const stored = await page.evaluate(
    `Promise.all([indexedDB.databases(), caches.keys()]).then(([databases, names]) =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, databases, names]))`,
  );
  const fields = await page
    .locator('input, textarea')
    .evaluateAll((all) => all.map((field) => (field as { value?: string }).value ?? ''));
  const everything = [await page.content(), String(stored), ...fields].join('\n');
  assert.ok(!everything.includes(secret), 'the key is still there');
}

/** Asks the operator for payments by the simulator. */
export async function askFor(
  page: Page,
  environments: readonly ('Sandbox' | 'Production')[],
  note: string,
): Promise<void> {
  await button(page, 'Request payments').last().click();
  const dialog = page.getByRole('dialog');
  const labels = { Sandbox: 'Processor in the sandbox', Production: 'Processor in production' } as const;
  for (const environment of environments) await dialog.getByLabel(labels[environment]).selectOption('simulator');
  await dialog.getByLabel('Note for the operator').fill(note);
  await button(dialog, 'Send request').click();
  await dialog.waitFor({ state: 'hidden' });
  await untilPasses(async () => assert.equal(await page.getByText(note).count(), environments.length));
}

interface Approval {
  readonly environment: 'Sandbox' | 'Production';
  /** The texts that the merchant entered. */
  readonly note: string;
  readonly decisionNote: string;
  /** It is refused first. */
  readonly isForced: boolean;
}

export async function approve(page: Page, { environment, note, decisionNote, isForced }: Approval): Promise<void> {
  await goToNews(page, 'Requests');
  const request = page.getByRole('article').filter({ hasText: note }).filter({ hasText: environment });
  await button(request, /^Approve/).click();
  const dialog = page.getByRole('dialog');
  const confirm = button(dialog, 'Approve request');
  await dialog.getByLabel('Message to the merchant').fill(decisionNote);
  if (isForced) {
    const refused = page.waitForResponse((response) => response.url().endsWith('/approve'));
    await confirm.click();
    assert.equal((await refused).status(), 400);
    await dialog.getByLabel('Allow the simulator in production').check();
  }
  await confirm.click();
  await dialog.waitFor({ state: 'hidden' });
  // The notice of an earlier approval may still be shown.
  await page.getByText('Payments enabled.').last().waitFor();
}

/** In a folder with the file that the page gives out beside it, and nothing else. */
async function runAsShown(command: string, authority: string): Promise<void> {
  const folder = newDirectory();
  try {
    writeFileSync(join(folder, 'ca.pem'), authority);
    const env = { PATH: process.env['PATH'] };
    const { stdout } = await promisify(execFile)('sh', ['-c', command.replace('curl', 'curl -sS')], {
      cwd: folder,
      env,
    });
    assert.equal(JSON.parse(stdout).status, 'success', stdout);
  } finally {
    removeDirectory(folder);
  }
}
