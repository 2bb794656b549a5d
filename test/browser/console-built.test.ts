import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { openBrowser, type TestBrowser } from './browser.ts';

describe('the built console', { skip: whyNoChromium() }, () => {
  let service: TestService;
  let browser: TestBrowser;
  before(async () => {
    service = await startTestService();
    browser = await openBrowser(service.ports.console);
  });
  afterEach(() => browser.check());
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('starts under its content policy, and is accessible', async () => {
    const { page, checkAccessibility } = await browser.newVisitor();
    const response = await page.goto('/');
    assert.match((await response?.allHeaders())?.['content-security-policy'] ?? '', /default-src 'none'/);
    await page.getByRole('heading', { name: /sign/i }).waitFor();
    await checkAccessibility();
  });
});
