import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { noChromium } from '../chromium.ts';
import { type House, startHouse } from '../house.ts';
import { openBrowser, type TestBrowser } from './browser.ts';

describe('the console as it is built', { skip: noChromium() }, () => {
  let house: House;
  let browser: TestBrowser;
  before(async () => {
    house = await startHouse();
    browser = await openBrowser(house.ports.console);
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await house?.stop();
  });

  it('starts under its own policy, and can be used by all', async () => {
    const { page, checkAccessibility } = await browser.newVisitor();
    const answer = await page.goto('/');
    assert.match((await answer?.allHeaders())?.['content-security-policy'] ?? '', /default-src 'none'/);
    await page.getByRole('heading', { name: /sign/i }).waitFor();
    await checkAccessibility();
  });
});
