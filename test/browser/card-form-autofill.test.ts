import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Frame, Page } from 'playwright-core';
import { installPackages } from '../fixtures/debian-packages.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { onlyLong } from '../scope.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { mountForm, openSession, type Shop, startShop, submitForm } from './card-form-shop.ts';
import { untilPasses } from './until-passes.ts';

/** The shell without windows, which the other tests use, has no autofill: that is a part of the browser around it. */
const PROGRAM = 'chromium';
const skip = onlyLong || (installPackages([PROGRAM], [PROGRAM]) ?? false);

const CARD = { number: '378282246310005', name: 'Ana Lopez', expiryMonth: '12', expiryYear: '2040', cvc: '1234' };
const FILLED = ['3782 822463 10005', '12/40', '1234', 'Ana Lopez'];

const pathOf = (program: string): string =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path)) ?? '';

/** Has the browser fill a saved card, as when a buyer chooses it at the field of the number. */
async function fillSavedCard(page: Page, place: Page | Frame): Promise<void> {
  await place.locator('#number').click();
  const session = await page.context().newCDPSession(place);
  await session.send('Autofill.enable');
  const { root } = await session.send('DOM.getDocument');
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#number' });
  const { node } = await session.send('DOM.describeNode', { nodeId });
  const { frameTree } = await session.send('Page.getFrameTree');
  const field = { fieldId: node.backendNodeId, frameId: frameTree.frame.id };
  // The browser looks for the fields of a form a moment after they are there.
  await untilPasses(async () => {
    await session.send('Autofill.trigger', { ...field, card: CARD });
    const values = '[...document.querySelectorAll("input")].map(({ value }) => value)';
    assert.deepEqual(await place.evaluate(values), FILLED);
  });
}

describe('the autofill of Chromium', { skip, timeout: 120_000 }, () => {
  let service: TestService;
  let browser: TestBrowser;
  let key: string;
  let shop: Shop;

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    ({ key } = await newCaller(service));
    shop = await startShop(() => `https://localhost:${service.ports.cards}`);
    browser = await openBrowser(service.ports.cards, { program: pathOf(PROGRAM) });
  });
  after(async () => {
    await browser?.close();
    shop?.stop();
    await service?.stop();
  });

  it('fills all fields in the frame of a page of another site, which the form takes', async () => {
    const { page, errors } = await browser.newVisitor({ origin: shop.origin });
    await mountForm(page, shop.strict, await openSession(service.call, key, { allowed_origins: [shop.origin] }));
    const frame = page.frames().find((each) => each !== page.mainFrame());
    assert.ok(frame !== undefined);
    await fillSavedCard(page, frame);
    assert.deepEqual((await submitForm(page)).card, { brand: 'amex', card: '378282*****0005', exp: '12/2040' });
    errors.check();
  });

  it('fills all fields of the hosted page, which the form takes', async () => {
    const { page, errors } = await browser.newVisitor();
    const { url = '' } = await openSession(service.call, key, { return_url: `${shop.origin}/back` });
    await page.goto(url);
    await fillSavedCard(page, page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/status=completed/);
    errors.check();
  });
});
