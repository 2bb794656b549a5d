import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Browser, BrowserContext, CDPSession, Frame, Page } from 'playwright-core';
import { launchChromium } from '../fixtures/chromium.ts';
import { type Authenticator, addAuthenticator } from './authenticator.ts';
import { accessibilityViolations } from './axe.ts';
import { BrowserErrors } from './browser-errors.ts';
import { untilPasses, WITHIN_MS } from './until-passes.ts';

/**
 * A real browser without a window, for one test file:
 *
 *     const browser = await openBrowser(service.ports.console);
 *     afterEach(() => browser.check());
 *     after(() => browser.close());
 *     const anna = await browser.newVisitor();
 *     await anna.page.goto('/');
 */
export interface TestBrowser {
  /** `https://localhost:PORT`; passkeys need a name, not an address. */
  readonly origin: string;
  /** A user with a browser of their own: nothing is shared with other visitors. */
  newVisitor(options?: VisitorOptions): Promise<Visitor>;
  /** Fails when a page of any visitor had an error or broke its content security policy since the last time. */
  check(): void;
  /** All visitors leave. */
  endVisits(): Promise<void>;
  close(): Promise<void>;
}

export type ColorScheme = 'light' | 'dark';

export interface VisitorOptions {
  readonly colorScheme?: ColorScheme;
  /** Such as `en-US` or `pt-BR`. */
  readonly locale?: string;
  readonly width?: number;
  readonly height?: number;
  /** The factor by which the page is enlarged; width and height are those of its layout. */
  readonly zoom?: number;
  /** Another service that shows the same key, as `https://localhost:PORT`. */
  readonly origin?: string;
}

type ContextOptions = VisitorOptions & { readonly origin: string };

export interface AccessibilityOptions {
  /** A selector; the whole page without it. */
  readonly part?: string;
  /** See `axe.ts`. */
  readonly isSeenElsewhere?: boolean;
  /** How long a page may take until its findings are gone; milliseconds. */
  readonly withinMs?: number;
  /** A frame of another site in the page, to be checked instead of it. */
  readonly frame?: Frame;
}

export interface Visitor {
  readonly page: Page;
  readonly errors: BrowserErrors;
  /** Plugs in a device that holds passkeys. */
  newAuthenticator(): Promise<Authenticator>;
  /** Fails with the accessibility findings of the present page, or in `npm test` of the part that is checked. */
  checkAccessibility(options?: AccessibilityOptions): Promise<void>;
  /** Writes docs/console/NAME-SCHEME.webp for each scheme, when UPDATE_SCREENSHOTS is set. */
  takePictures(name: string, schemes: readonly ColorScheme[]): Promise<void>;
}

/** A visitor whose context the next visitor with the same options takes over. */
interface OpenVisitor extends Visitor {
  /** Leaves no cookie, nothing stored, and a page without scripts. */
  leave(): Promise<EmptyContext>;
}

interface EmptyContext {
  readonly options: string;
  readonly context: BrowserContext;
  readonly keeper: Keeper;
}

/** The page of the first visitor of a context, without scripts: as long as it is open, the process keeps what it compiled. */
interface Keeper {
  readonly page: Page;
  readonly session: CDPSession;
}

const PICTURES = join(import.meta.dirname, '..', '..', 'docs', 'console');
/** Percent; text stays sharp. */
const PICTURE_QUALITY = 75;
const SIZE = { width: 1280, height: 800 };
/** Colors and sizes of a page that has everything. */
const SETTLES_WITHIN_MS = 3000;
/** How many times slower pages think, to find tests that rely on their speed. */
const SLOWNESS = Number(process.env['TEST_BROWSER_SLOWNESS'] ?? '1');
const ARGUMENTS = [
  '--disable-gpu',
  // Without a GPU there is nothing to isolate, and one thread draws what no one looks at.
  '--in-process-gpu',
  '--num-raster-threads=1',
  // With the font hinting of Windows; without it, letters are spaced unevenly in pictures.
  '--font-render-hinting=none',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages of one context share a process, which keeps the compiled files of the console.
  '--process-per-site',
];
/** A page lives for seconds: to optimize its code costs more than it saves, and to collect its young objects often, too. */
const FOR_SHORT_VISITS = '--js-flags=--no-opt --no-maglev --min-semi-space-size=32';
/** Answered with an error, and without a script. */
const EMPTY_PAGE = '/assets/nothing';

/**
 * Trusts the key that the service on that port shows, and no other that machines do not trust anyway. A browser that is
 * measured optimizes the code of pages as that of a user does. `program`: another Chromium than that of the tests.
 */
export async function openBrowser(
  port: number,
  { isMeasured = false, program }: { isMeasured?: boolean; program?: string } = {},
): Promise<TestBrowser> {
  const trusted = `--ignore-certificate-errors-spki-list=${await keyDigest(port)}`;
  const args = [...ARGUMENTS, ...(isMeasured ? [] : [FOR_SHORT_VISITS]), trusted];
  const browser = await launchChromium(args, program);
  const origin = `https://localhost:${port}`;
  const empty: EmptyContext[] = [];
  let visitors: OpenVisitor[] = [];
  return {
    origin,
    newVisitor: async (given = {}) => {
      const options = { origin, ...given };
      const key = JSON.stringify(options);
      const found = empty.findIndex((each) => each.options === key);
      const [left] = empty.splice(found, found === -1 ? 0 : 1);
      const context = left?.context ?? (await newContext(browser, options));
      const visitor = await newVisitor(context, options, left?.keeper);
      visitors.push(visitor);
      return visitor;
    },
    check: () => {
      for (const { errors } of visitors) errors.check();
    },
    endVisits: async () => {
      for (const visitor of visitors) empty.push(await visitor.leave());
      visitors = [];
    },
    close: () => browser.close(),
  };
}

/** In the format of the browser: the SHA-256 of the public key. */
function keyDigest(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', servername: 'localhost', port, rejectUnauthorized: false }, () => {
      const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' });
      socket.destroy();
      if (key === undefined) reject(new Error(`port ${port} shows no certificate`));
      else resolve(createHash('sha256').update(key).digest('base64'));
    });
    socket.on('error', reject);
  });
}

async function newVisitor(
  context: BrowserContext,
  options: ContextOptions,
  left: Keeper | undefined,
): Promise<OpenVisitor> {
  const errors = new BrowserErrors(context);
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  if (SLOWNESS > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWNESS });
  return {
    page,
    errors,
    newAuthenticator: () => addAuthenticator(session),
    checkAccessibility: (options) => checkAccessibility(page, session, options),
    takePictures: async (name, schemes) => {
      if ((process.env['UPDATE_SCREENSHOTS'] ?? '') === '') return;
      for (const scheme of schemes) await takePicture(page, session, name, scheme);
      await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
    },
    leave: async () => {
      errors.stop();
      const keeper = left ?? { page, session };
      for (const each of context.pages()) if (each !== keeper.page) await each.close();
      if (left === undefined) await page.goto(EMPTY_PAGE);
      await context.clearCookies();
      await context.clearPermissions();
      await keeper.session.send('Storage.clearDataForOrigin', { origin: options.origin, storageTypes: 'all' });
      return { options: JSON.stringify(options), context, keeper };
    },
  };
}

async function newContext(browser: Browser, options: ContextOptions): Promise<BrowserContext> {
  const { origin, colorScheme = 'light', locale = 'en-US', zoom = 1 } = options;
  const { width = SIZE.width, height = SIZE.height } = options;
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width, height },
    deviceScaleFactor: zoom,
    colorScheme,
    locale,
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}

async function checkAccessibility(
  page: Page,
  session: CDPSession,
  { part = 'html', isSeenElsewhere = false, withinMs = SETTLES_WITHIN_MS, frame }: AccessibilityOptions = {},
): Promise<void> {
  const checked = frame === undefined ? session : await page.context().newCDPSession(frame);
  await untilPasses(async () => {
    const faults = await accessibilityViolations(checked, { part, isSeenElsewhere, isFramed: frame !== undefined });
    assert.equal(faults.join('\n\n'), '', `${new URL((frame ?? page).url()).pathname} is not accessible`);
  }, withinMs);
}

/** WebP shows a page in a quarter of the bytes of PNG. */
async function takePicture(page: Page, session: CDPSession, name: string, colorScheme: ColorScheme): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.emulateMedia({ colorScheme });
  // Animations have to end before the picture.
  await page.evaluate('new Promise((done) => setTimeout(done, 300))');
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: PICTURE_QUALITY });
  writeFileSync(join(PICTURES, `${name}-${colorScheme}.webp`), Buffer.from(data, 'base64'));
}
