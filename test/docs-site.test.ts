import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { accessibilityViolations } from './browser/axe.ts';
import { launchChromium, whyNoChromium } from './fixtures/chromium.ts';
import { onlyLong } from './scope.ts';

/** The documentation as a site, in a real browser. `test/docs.test.ts` checks its links without building it. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};
/** Other work may occupy the machine. */
const WITHIN_MS = 120_000;
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1400, height: 900 };
/** Pages of every kind: long ones, with tables, pictures, code in many languages, and lists. */
const TYPICAL = [
  'index.html',
  'docs/developer.html',
  'docs/operator.html',
  'docs/auditor.html',
  'docs/contributor.html',
  'docs/operations.html',
  'docs/console.html',
  'docs/guides/ws-security.html',
  'docs/guides/payments.html',
  'docs/decisions/index.html',
];

describe('the site of the documentation', { skip: onlyLong || whyNoChromium() }, () => {
  let folder: string;
  let server: Server;
  let origin: string;
  let browser: Browser;
  const foreign: string[] = [];
  const errors: string[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-docs-'));
    const { buildDocs } = await import('../scripts/build-docs.ts');
    await buildDocs(folder);
    server = createServer((request, response) => {
      const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
      try {
        const content = readFileSync(join(folder, path));
        response.setHeader('content-type', TYPES[extname(path)] ?? 'text/plain').end(content);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    browser = await launchChromium(['--disable-gpu']);
  });
  after(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Opens a context that notes each request which leaves the site, and each error of a page. */
  async function openContext(options: Parameters<Browser['newContext']>[0]): Promise<BrowserContext> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(WITHIN_MS);
    context.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith(`file://${folder}/`))
        foreign.push(request.url());
    });
    context.on('response', (response) => {
      if (response.status() >= 400) errors.push(`${response.status()} ${response.url()}`);
    });
    context.on('weberror', (error) => errors.push(String(error.error())));
    context.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
    });
    return context;
  }

  const pagesOfSite = (): string[] => {
    const sections = readFileSync(join(folder, 'assets', 'sections.js'), 'utf8');
    return [...new Set([...sections.matchAll(/"href":"([^"#]+)/g)].map(([, href = '']) => href))];
  };

  test('has no request to another host and no error on any page', async () => {
    const context = await openContext({ viewport: DESKTOP });
    const page = await context.newPage();
    const all = pagesOfSite();
    assert.ok(all.length > 100);
    for (const path of all) await page.goto(`${origin}${path}`);
    await context.close();
    assert.deepEqual({ foreign, errors }, { foreign: [], errors: [] });
  });

  test('allows no request to another host', async () => {
    const context = await openContext({ viewport: DESKTOP });
    const page = await context.newPage();
    await page.goto(`${origin}index.html`);
    const isBlocked = await page.evaluate(
      "fetch('https://www.example.com/').then(() => false, (error) => error instanceof TypeError)",
    );
    assert.equal(isBlocked, true);
    // The policy refuses before a connection is tried.
    assert.match(errors.splice(0).join('\n'), /Content Security Policy/);
    await context.close();
    assert.deepEqual(foreign, []);
  });

  for (const [name, open] of [
    ['from a server', (): string => origin],
    ['from a folder', (): string => `file://${folder}/`],
  ] as const)
    test(`finds a section ${name}, by the keyboard alone`, async () => {
      const context = await openContext({ viewport: DESKTOP });
      const page = await context.newPage();
      await page.goto(`${open()}docs/guides/tokens.html`);
      await page.keyboard.press('/');
      await page.keyboard.type('emergency rotation');
      await page.waitForSelector('#results li');
      assert.match(await page.innerText('#results [role=status]'), /^\d+ sections, the best first$/);
      assert.match(await page.innerText('#results li:first-child strong'), /Operations: Emergency rotation/);
      await page.keyboard.press('ArrowDown');
      await Promise.all([page.waitForURL(/operations\.html#emergency-rotation$/), page.keyboard.press('Enter')]);
      assert.equal(await page.locator('.pages [aria-current=location]').innerText(), 'Emergency rotation');
      await context.close();
      assert.deepEqual({ foreign, errors }, { foreign: [], errors: [] });
    });

  test('states that nothing was found', async () => {
    const context = await openContext({ viewport: DESKTOP });
    const page = await context.newPage();
    await page.goto(`${origin}index.html`);
    await page.fill('#search', 'xylophone quartz');
    await page.waitForFunction("document.querySelector('#results').hidden === false");
    assert.equal(await page.innerText('#results [role=status]'), 'No section contains these words.');
    await context.close();
  });

  test('keeps the scheme that a reader chooses', async () => {
    const context = await openContext({ viewport: DESKTOP, colorScheme: 'light' });
    const page = await context.newPage();
    const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.goto(`${origin}index.html`);
    assert.equal(await background(), 'rgb(255, 255, 255)');
    await page.getByRole('button', { name: 'Use dark colors' }).click();
    const dark = await background();
    assert.notEqual(dark, 'rgb(255, 255, 255)');
    await page.goto(`${origin}docs/errors.html`);
    assert.equal(await background(), dark);
    await context.close();
  });

  test('shows its pages without scripts', async () => {
    const context = await openContext({ viewport: PHONE, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${origin}docs/operator.html`);
    assert.equal(await page.getByRole('link', { name: 'Hardening' }).first().isVisible(), true);
    assert.equal(await page.locator('#search').isVisible(), false);
    await context.close();
  });

  for (const [name, options] of [
    ['in light', { viewport: DESKTOP, colorScheme: 'light' }],
    ['in dark', { viewport: DESKTOP, colorScheme: 'dark' }],
    ['on a telephone', { viewport: PHONE, colorScheme: 'light' }],
    ['on a telephone in dark', { viewport: PHONE, colorScheme: 'dark' }],
  ] as const)
    test(`is accessible ${name}`, async () => {
      const context = await openContext(options);
      const page = await context.newPage();
      for (const path of TYPICAL) {
        await page.goto(`${origin}${path}`);
        await assertAccessible(page, path);
      }
      await page.fill('#search', 'backup');
      await page.waitForSelector('#results li');
      await assertAccessible(page, 'the results of a search');
      await context.close();
    });
});

async function assertAccessible(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const faults = await accessibilityViolations(session, { part: 'html', isSeenElsewhere: false });
  assert.equal(faults.join('\n\n'), '', name);
  const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  assert.equal(isTooWide, false, `${name} scrolls sideways`);
  await session.detach();
}
