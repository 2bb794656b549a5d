import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { formatJoinUrl } from '../../console/cli.ts';
import { OPERATOR } from '../../console/people/roles.ts';
import { editProfile } from '../../console/wire/profile.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { inScope, isLong, onlyLong } from '../scope.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { headed, settled, visit, visitWithin } from './tour.ts';
import { untilPasses } from './until-passes.ts';

describe('the console without a mouse, and its dialogs', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  let owner: Visitor;
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
    owner = await filled.harbour.owner.visit(browser);
    await visit(owner.page, `/a/${filled.harbour.account}/sandbox/keys`);
  });
  afterEach(() => browser.check());
  after(() => shared.close());

  const account = (): string => `/a/${filled.harbour.account}`;

  it('a user signs in with the keyboard only', async () => {
    const { auditor } = filled.harbour;
    const { page } = await browser.newVisitor();
    await visit(page, '/profile');
    // The first field has the focus already.
    await page.keyboard.type(auditor.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(auditor.password);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code', { exact: true }).waitFor();
    await page.keyboard.type(auditor.code());
    await headed(page, 'Profile');
  });

  it('the first stop of a page skips to its content', async () => {
    const { page } = owner;
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), 'Skip to content');
    await page.keyboard.press('Enter');
    await untilPasses(async () => assert.ok(await page.getByRole('main').evaluate(HAS_FOCUS)));
  });

  it('a key is created with the keyboard only, and a dialog keeps and returns the focus', async () => {
    const { page } = owner;
    await filled.harbour.owner.stepUp();
    await tabTo(page, 'Create key');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await owner.checkAccessibility();
    await page.evaluate(COUNT_ESCAPES);
    // Around once, and some more.
    const stops = await dialog.locator('button, input, textarea, select, a').count();
    for (let step = 0; step < stops + 3; step++) await page.keyboard.press('Tab');
    assert.ok(await dialog.evaluate(HAS_FOCUS));
    assert.equal(await page.evaluate('escapes'), 0, 'how often the focus was elsewhere');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await untilPasses(async () => assert.equal(await focused(page), 'Create key', 'the focus came back'));
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Enter');
    await untilPasses(async () => assert.equal(await focused(page), 'Everything', 'no permission is chosen'));
    await owner.checkAccessibility({ part: DIALOG });
    await tabTo(page, 'Read only');
    await page.keyboard.press('Enter');
    await tabTo(page, /^Add my address/);
    await page.keyboard.press('Enter');
    await untilPasses(async () => assert.equal(await focused(page), 'Address or network 1', 'what was added'));
    await tabTo(page, 'Create key');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new key' }).waitFor();
    await untilPasses(async () => assert.equal(await focused(page), 'Copy'));
    await owner.checkAccessibility({ part: DIALOG });
    // A secret that is shown once must not disappear by an accidental key.
    await page.keyboard.press('Escape');
    await tabTo(page, 'I have stored it');
    await page.keyboard.press('Space');
    await tabTo(page, 'Done');
    await page.keyboard.press('Enter');
    await page.getByRole('row').filter({ hasText: 'By keyboard' }).waitFor();
    await dialog.waitFor({ state: 'hidden' });
    await page.locator(':focus').waitFor();
  });

  it('the command palette opens a page, and a payment by its id', async () => {
    const { page } = owner;
    await page.keyboard.press('Control+k');
    const field = page.getByRole('dialog', { name: 'Search' }).locator('[role="combobox"]:focus');
    await field.waitFor();
    await owner.checkAccessibility({ part: DIALOG });
    await page.keyboard.type('tempo');
    await page.getByRole('option', { name: /^Payments/ }).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await headed(page, 'Temporary card data');
    // The focus moves to the new page.
    await untilPasses(async () => assert.equal(await page.getByRole('main').evaluate(HAS_FOCUS), true));
    await page.keyboard.press('Control+k');
    await field.waitFor();
    await page.keyboard.type(filled.harbour.payments.get('HB-1017') ?? '');
    await page.getByRole('option', { name: /^Find payment “/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    for (let step = 0; step < 5; step++) {
      if (/^Find payment “/.test((await page.getByRole('option', { selected: true }).textContent()) ?? '')) break;
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
    await headed(page, /125\.50/);
    await page.keyboard.press('Control+k');
    await field.waitFor();
    await page.keyboard.type('4111 1111 1111 1111');
    await page.getByText('This looks like a card number.').waitFor();
    assert.equal(await page.getByRole('option').count(), 0, 'nothing that would send it');
    await field.fill('HB-1017');
    await page.getByRole('option', { name: /^Find payments with the reference/ }).click();
    await headed(page, 'Payments');
    await untilPasses(async () => assert.equal(await page.getByRole('row').count(), 2, 'a header and the one payment'));
    await page.keyboard.press('Control+k');
    await field.waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'hidden' });
  });

  it('results and errors are announced', async () => {
    const { page } = owner;
    await visitWithin(page, '/profile');
    await headed(page, 'Profile');
    await page.getByLabel('Name', { exact: true }).fill('Olga M. Duarte');
    await page.getByRole('button', { name: 'Save changes', exact: true }).click();
    await page
      .locator('[role="alert"], [role="status"], [aria-live]')
      .filter({ hasText: 'Changes saved.' })
      .first()
      .waitFor();
    await visitWithin(page, `${account()}/sandbox/tokens`);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'Enter a search value.' }).waitFor();
  });

  const dialogs: readonly (readonly [path: string, button: string | RegExp])[] = [
    ['/sandbox/payments/HB-1017', 'Capture payment'],
    ['/sandbox/payments/HB-1017', 'Void payment'],
    ['/sandbox/payments/HB-1003', 'Refund payment'],
    ['/sandbox/proxy', 'Remove proxy configuration'],
    ['/sandbox/proxy', /^Replace/],
    ['/sandbox/tokens/TOKEN', 'Delete token'],
    ['/team', 'Invite user'],
    ['/settings', 'Turn off two-person approval'],
    ['/onboarding', 'Request payments'],
    ['/approvals', /^Approve/],
  ];
  for (const colorScheme of isLong ? (['light', 'dark'] as const) : (['dark'] as const))
    it(`dialogs have a name, keep and return the focus, and are accessible: ${colorScheme}`, async () => {
      const { page } = owner;
      await page.emulateMedia({ colorScheme });
      // All pages have the same dialog component: `npm test` opens one of five.
      for (const [path, name] of dialogs.filter((_, index) => isLong || index % 5 === 0)) {
        const filledIn = path
          .replace(/HB-\d+/, (id) => filled.harbour.payments.get(id) ?? '')
          .replace('TOKEN', filled.harbour.token);
        await visitWithin(page, account() + filledIn);
        const button = page
          .getByRole('main')
          .getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
          .first();
        await button.focus();
        await page.keyboard.press('Enter');
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
        await page.getByRole('dialog', { name: /\S/ }).waitFor();
        await untilPasses(async () => assert.ok(await dialog.evaluate(HAS_FOCUS), `${path}: the focus is elsewhere`));
        await owner.checkAccessibility({ part: DIALOG });
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'hidden' });
        await untilPasses(async () => assert.ok(await button.evaluate(HAS_FOCUS), `${path}: the focus did not return`));
      }
    });

  it('Escape closes the dialog on top, and leaves the one below it open', async () => {
    const { page } = owner;
    await visitWithin(page, `${account()}/sandbox/keys`);
    await page.getByRole('link', { name: /^Shop server/ }).click();
    const drawer = page.getByRole('dialog', { name: /Shop server/ });
    await drawer.getByRole('button', { name: 'Edit key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit API key' });
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.ok(await drawer.isVisible());
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'hidden' });
  });

  it('sign-in pages, in Spanish, on a phone', { skip: onlyLong }, async () => {
    const { service, harbour } = filled;
    const phone = { colorScheme: 'dark', locale: 'es-ES', width: 360, height: 740 } as const;
    const visitor = await harbour.analyst.visit(browser, phone);
    const { page } = visitor;
    await visit(page, '/profile');
    await page.getByRole('button', { name: /Your menu$/ }).click();
    await page.getByRole('menuitemradio', { name: 'Español' }).click();
    const headings = inScope<Readonly<Record<string, string>>>({
      usual: { payments: 'Pagos' },
      long: { overview: 'Resumen', payments: 'Pagos', tokens: 'Tokens', captures: 'Datos de tarjeta temporales' },
    });
    for (const [part, heading] of Object.entries(headings)) {
      await visitWithin(page, `${account()}/sandbox/${part}`);
      await headed(page, heading);
      await settled(page);
      await visitor.checkAccessibility();
      const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      await untilPasses(async () => assert.equal(await page.evaluate(sideways), 0, part));
    }
    await page.locator('html[lang="es"]').waitFor();
    // From here on the language is that of the browser.
    await page.context().clearCookies();
    await page.evaluate('localStorage.clear()');
    await visit(page, '/sign-in');
    await headed(page, 'Iniciar sesión');
    await visitor.checkAccessibility();
    const to = { account: harbour.account, role: 'owner', email: 'petra@harbour.example' } as const;
    const link = await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.console.people.invitations.invite(transaction, to, OPERATOR),
    );
    await page.goto(formatJoinUrl(browser.origin, link));
    await headed(page, /Harbour Books/);
    await visitor.checkAccessibility();
    await harbour.analyst.call(editProfile, {}, { language: 'en' });
  });
});

/** The element has the focus, or holds what has it. */
const HAS_FOCUS = (element: { matches(selector: string): boolean }): boolean =>
  element.matches(':focus, :focus-within');

const DIALOG = '[role="dialog"]';

/** Counts how often the focus leaves a dialog for something else or for nothing; a page without focus has none to lose. */
const COUNT_ESCAPES = `
  globalThis.escapes = 0;
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (target.closest('${DIALOG}') !== null && !relatedTarget?.closest('${DIALOG}')) escapes++;
  });
`;

/** By which name the focused element is known. */
async function focused(page: Page): Promise<string> {
  const here = page.locator(':focus');
  const shown = (await here.count()) === 0 ? '' : await here.ariaSnapshot();
  return /"(.*?)"/.exec(shown)?.[1] ?? shown;
}

async function tabTo(page: Page, name: string | RegExp, atMost = 80): Promise<void> {
  for (let step = 0; ; step++) {
    const here = await focused(page);
    if (typeof name === 'string' ? here === name : name.test(here)) return;
    assert.ok(step < atMost, `the keyboard does not get to ${name}; it is at ${here}`);
    await page.keyboard.press('Tab');
  }
}
