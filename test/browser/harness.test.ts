import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadAssets } from '../../console/server/assets.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { totp } from '../fixtures/totp.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import { startSite } from './site.ts';

/** A page that does what its path says, so that each thing the harness looks for can be brought about. */
const PAGE = `<!doctype html><html lang="en"><head><title>Trial</title><meta name="style-nonce" content="%NONCE%">
<script type="module" src="/assets/trial.js"></script></head><body><main><h1>Trial</h1><p id="result">nothing yet</p></main></body></html>`;
const SCRIPT = `
const result = document.getElementById('result');
const main = document.querySelector('main');
const actions = {
  '/quiet': () => {},
  '/log': () => console.error('a fault in the page'),
  '/throw': () => { setTimeout(() => { throw new Error('it was not caught'); }); },
  '/inline': () => { main.style.color = 'black'; main.append(Object.assign(document.createElement('style'), { textContent: 'p {}' })); },
  '/nonce': () => {
    const style = document.createElement('style');
    style.nonce = document.querySelector('meta[name=style-nonce]').content;
    style.textContent = '#result { text-transform: uppercase }';
    main.append(style);
  },
  '/markup': () => { main.innerHTML = '<b>x</b>'; },
  '/elsewhere': () => fetch('https://localhost:1/').catch(() => {}),
  '/missing': () => import('/assets/missing.js').catch(() => {}),
  '/refused': () => fetch('/assets/nothing', { method: 'POST' }),
  '/picture': () => main.append(document.createElement('img')),
  '/passkey': async () => {
    const publicKey = {
      challenge: new Uint8Array(32), rp: { name: 'Trial' }, user: { id: new Uint8Array(8), name: 'a', displayName: 'A' },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    };
    await navigator.credentials.create({ publicKey });
    const found = await navigator.credentials.get({ publicKey: { challenge: new Uint8Array(32), userVerification: 'required' } });
    return found.type;
  },
};
try { result.textContent = 'done: ' + (await actions[location.pathname]()); } catch (error) { result.textContent = error.name; throw error; }
`;

describe('the harness of tests in a browser', { skip: whyNoChromium() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-harness-'));
  const pages = ['/quiet', '/log', '/throw', '/inline', '/nonce', '/markup', '/elsewhere', '/missing', '/refused'];
  let site: Awaited<ReturnType<typeof startSite>>;
  let browser: TestBrowser;

  before(async () => {
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), PAGE);
    writeFileSync(join(folder, 'assets', 'trial.js'), SCRIPT);
    site = await startSite(loadAssets(folder), [...pages, '/picture', '/passkey']);
    browser = await openBrowser(site.port);
    visitor = await browser.newVisitor();
  });
  after(async () => {
    await browser?.close();
    site?.stop();
    rmSync(folder, { recursive: true });
  });

  let visitor: Visitor;

  /** Opens the page and waits until it did what it does. */
  const visit = async (path: string): Promise<Visitor> => {
    await visitor.page.goto(path);
    await visitor.page.getByText('nothing yet').waitFor({ state: 'hidden' });
    // The error of a timer is reported after it.
    await visitor.page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    return visitor;
  };

  it('reports nothing for a page without a fault', async () => {
    for (const path of ['/quiet', '/nonce', '/refused']) {
      const { errors, checkAccessibility } = await visit(path);
      errors.check();
      await checkAccessibility();
    }
  });

  it('reports every fault of a page', async () => {
    const faults: Readonly<Record<string, RegExp>> = {
      '/log': /a fault in the page/,
      '/throw': /it was not caught/,
      '/inline': /violates the following Content Security Policy directive .style-src/,
      '/markup': /TrustedHTML/,
      '/elsewhere': /https:\/\/localhost:1\/[\s\S]*connect-src/,
      '/missing': /404: GET https:\/\/localhost:\d+\/assets\/missing\.js/,
    };
    for (const [path, fault] of Object.entries(faults)) {
      const { errors } = await visit(path);
      assert.throws(() => errors.check(), fault, path);
      assert.throws(() => errors.expect(fault), 'it was forgotten');
    }
  });

  it('accepts a fault that a test expects, and no other', async () => {
    const { errors } = await visit('/log');
    errors.expect(/a fault in the page/);
    errors.check();
    await visit('/throw');
    assert.throws(() => errors.expect(/a fault in the page/), /no error matches/);
    assert.throws(() => browser.check(), /it was not caught/);
    browser.check();
  });

  it('reports accessibility faults of a page, with their elements', async () => {
    const { checkAccessibility } = await visit('/picture');
    await assert.rejects(checkAccessibility({ withinMs: 100 }), /image-alt \(critical\)[\s\S]*<img>/);
  });

  it('has devices with passkeys, which verify their user or do not', async () => {
    const device = await visitor.newAuthenticator();
    await visitor.page.goto('/passkey');
    await visitor.page.getByText('done: public-key').waitFor();
    assert.equal(await device.count(), 1);
    await device.recognize(false);
    await visitor.page.goto('/passkey');
    await visitor.page.getByText('NotAllowedError').waitFor();
    visitor.errors.expect(/NotAllowedError/);
    await device.remove();
    visitor.errors.check();
  });

  it('trusts only the key of the service that it was opened for', async () => {
    const other = await startSite(undefined, []);
    const { page, errors } = await browser.newVisitor();
    await assert.rejects(page.goto(`https://localhost:${other.port}/`), /ERR_CERT_AUTHORITY_INVALID/);
    errors.expect(/ERR_CERT_AUTHORITY_INVALID/);
    other.stop();
  });

  it('takes screenshots only on request', async () => {
    const { takePictures } = await visit('/quiet');
    delete process.env['UPDATE_SCREENSHOTS'];
    await takePictures('harness', ['light']);
    assert.ok(!existsSync(join(import.meta.dirname, '..', '..', 'docs', 'console', 'harness-light.webp')));
  });
});

describe('codes of an authenticator app', () => {
  it('are those of RFC 6238', () => {
    // The secret of its appendix B in base32; of its eight digits the last six.
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    assert.equal(totp(secret, 59_000), '287082');
    assert.equal(totp(secret, 1_111_111_109_000), '081804');
  });
});
