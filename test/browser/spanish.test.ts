import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { en } from '../../console/web/src/text/en.ts';
import { es } from '../../console/web/src/text/es.ts';
import { editProfile } from '../../console/wire/profile.ts';
import { FAILURES } from '../../src/kernel/failure.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { isLong } from '../scope.ts';
import { dialogOf, notice, press } from './actions.ts';
import type { TestBrowser, Visitor } from './browser.ts';
import { assertNoSideways, LOOKS, lookAt } from './looks.ts';
import { newApiClient, openSession } from './seed-data.ts';
import type { SeededService } from './seeded-service.ts';
import { shareService } from './shared-service.ts';
import { moveTo, seededUsers, stopsIn, visit, type Who } from './tour.ts';

type Texts = { readonly [key: string]: string | Texts };

const textsOf = (texts: Texts): string[] =>
  Object.values(texts).flatMap((text) => (typeof text === 'string' ? [text] : textsOf(text)));

const SPANISH = new Set(textsOf(es));
/** The texts of the console in English that differ in Spanish, and the texts of the service. */
const ENGLISH = new Set([...textsOf(en), ...Object.values(FAILURES)].filter((text) => !SPANISH.has(text)));

/** No word of these is Spanish; English dates are recognized by their months and by relative times. */
const ENGLISH_WORDS =
  /\b(?:the|of|and|or|with|without|is|are|was|were|this|that|not|be|to|from|by|how|what|when|which|ago|yesterday|tomorrow|AM|PM|Jan|Apr|Aug|Dec)\b/;

/** A text that no user wrote. */
const NAME_OF_TEXT = /^(?:list|detail|columns|empty|filters|form|act|keys|line|value)\.[a-z]\w+$/;

/** Texts that users of the service wrote themselves. */
const WRITTEN: readonly string[] = [
  'Laptop of Dev',
  'Everything, to try',
  'Contract 4471 is signed.',
  'Please finish the tests in the sandbox first.',
  'To try out the new shop.',
  'Enabled. Tell us when you want to go live.',
  'We sell train journeys.',
];

/** Visible texts and accessible names, without code and texts that are marked as English. */
const TEXTS_SHOWN = `(() => {
  const found = new Set();
  const isAside = (element) => element.closest('[lang="en"], code, pre, script, style, textarea') !== null;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (!isAside(walker.currentNode.parentElement)) found.add(walker.currentNode.textContent.trim());
  for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
    for (const element of document.body.querySelectorAll('[' + name + ']'))
      if (!isAside(element)) found.add(element.getAttribute(name).trim());
  return [...found].filter((text) => text !== '');
})()`;

/** A table, a record, figures, a form, settings, and a page of operators; the catalog of texts is complete by its type. */
const OF_EACH_KIND = [
  'overview',
  'alerts',
  'payment-doubtful',
  'keys',
  'requests',
  'workbench',
  'onboarding',
  'settings',
  'operator-account',
];

async function englishOn(page: Page): Promise<string[]> {
  const shown = await page.evaluate<string[]>(TEXTS_SHOWN);
  assert.ok(shown.length > 5, 'a page says something');
  return shown.filter(
    (text) =>
      ENGLISH.has(text) ||
      NAME_OF_TEXT.test(text) ||
      (ENGLISH_WORDS.test(text) && !WRITTEN.some((each) => text.includes(each))),
  );
}

describe('the console in Spanish, in a browser that speaks English', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let filled: SeededService;
  let browser: TestBrowser;
  const visitors = new Map<Who, Visitor>();
  before(async () => {
    ({ seeded: filled, browser } = await shared.open());
  });
  afterEach(() => browser.check());
  after(async () => {
    for (const who of visitors.keys()) await seededUsers(filled)[who].call(editProfile, {}, { language: 'en' });
    await shared.close();
  });

  const open = async (who: Who, path: string): Promise<Page> => {
    let visitor = visitors.get(who);
    if (visitor === undefined) {
      const member = seededUsers(filled)[who];
      await member.call(editProfile, {}, { language: 'es' });
      await member.stepUp();
      visitor = await member.visit(browser);
      visitors.set(who, visitor);
      await visit(visitor.page, path);
      return visitor.page;
    }
    await moveTo(visitor.page, path);
    return visitor.page;
  };

  it(`shows no English on ${isLong ? 'any page' : 'a page of each kind'}`, async () => {
    const faults: string[] = [];
    // The same page in the other environment does not announce itself again.
    const all = stopsIn(filled).filter(({ name }) => name !== 'keys-production');
    const stops = isLong ? all : all.filter(({ name }) => OF_EACH_KIND.includes(name));
    assert.ok(stops.length >= OF_EACH_KIND.length);
    for (const { name, who, path } of stops) {
      const page = await open(who, path);
      for (const text of await englishOn(page)) faults.push(`${name}: ${text}`);
      for (const look of LOOKS) {
        await lookAt(page, look);
        await assertNoSideways(page).catch((error: Error) => faults.push(`${name}: ${error.message}`));
      }
      await lookAt(page);
    }
    assert.deepEqual(faults, []);
  });

  it('shows settings of processors and their errors in Spanish', async () => {
    const page = await open('operator', `/operator/accounts/${filled.harbour.account}`);
    await page.getByRole('button', { name: 'Cambiar configuración', exact: true }).first().click();
    const dialog = dialogOf(page);
    await press(dialog, 'Más configuración');
    assert.deepEqual(await englishOn(page), []);
    await dialog.getByLabel('timeout-ms').fill('7');
    await press(dialog, 'Guardar configuración');
    await dialog.getByText('timeout-ms: escriba un número entero de 50 a 300000.').waitFor();
    assert.deepEqual(await englishOn(page), []);
  });

  it('shows the details of a record of the audit log in Spanish', async () => {
    const page = await open('owner', `/a/${filled.harbour.account}/audit`);
    await press(page.getByRole('main'), 'Ver detalles de Clave de API creada');
    await page.getByRole('term').filter({ hasText: 'Direcciones permitidas' }).waitFor();
    assert.equal(await page.getByRole('term').locator('code').count(), 0);
    assert.deepEqual(await englishOn(page), []);
  });

  it('cancels a session of the card form in Spanish, on a telephone', async () => {
    const { secret: key } = await filled.service.newKey(filled.harbour.account);
    const send = newApiClient(filled.service, key, 'sandbox', 'spanish');
    const [own, ended] = [await openSession(send, 'HB-2046'), await openSession(send, 'HB-2047')];
    const page = await open('owner', `/a/${filled.harbour.account}/sandbox/card-form`);
    await page.setViewportSize({ width: 390, height: 844 });
    const rowOf = (id: string) =>
      page
        .getByRole('main')
        .getByRole('row')
        .filter({ has: page.getByTitle(id, { exact: true }) });
    await press(rowOf(own), /^Cancelar sesión cs_/);
    await dialogOf(page).getByText('¿Cancelar esta sesión?').waitFor();
    assert.deepEqual(await englishOn(page), []);
    await assertNoSideways(page);
    await press(dialogOf(page), 'Cancelar sesión');
    await notice(page, 'Se canceló la sesión.');
    for (const text of ['Cancelada', 'La canceló su servidor, un usuario o el comprador.'])
      await rowOf(own).getByText(text, { exact: true }).waitFor();
    await press(rowOf(ended), /^Cancelar sesión cs_/);
    await filled.service.call('DELETE', `/v1/capture-sessions/${ended}`, { key });
    await press(dialogOf(page), 'Cancelar sesión');
    await dialogOf(page).getByRole('alert').getByText('Esta sesión ya terminó.').waitFor();
    assert.deepEqual(await englishOn(page), []);
    await press(dialogOf(page), 'Mantener abierta');
    await rowOf(ended).getByText('Cancelada', { exact: true }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('names the status of a payment that cannot be captured in Spanish', async () => {
    const page = await open('owner', `/a/${filled.harbour.account}/sandbox/payments`);
    await page.getByRole('checkbox', { name: 'Seleccionar todos los pagos de la lista' }).check();
    await press(page.getByRole('main'), 'Capturar pagos');
    await dialogOf(page).getByText('Este pago está en estado Cobrado y no se puede capturar.').first().waitFor();
    assert.deepEqual(await englishOn(page), []);
    await page.keyboard.press('Escape');
    await dialogOf(page).waitFor({ state: 'hidden' });
  });

  it('shows the errors of a key in Spanish', async () => {
    const page = await open('owner', `/a/${filled.harbour.account}/sandbox/proxy`);
    await press(page.getByRole('main'), /^(?:Subir|Reemplazar)/);
    await dialogOf(page).getByRole('textbox').first().fill('no key');
    await press(dialogOf(page), 'Subir');
    await dialogOf(page).getByText('No es una clave pública RSA.').waitFor();
    assert.deepEqual(await englishOn(page), []);
  });
});
