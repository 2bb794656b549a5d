import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { showSession } from '../../console/wire/session.ts';
import { newClient, type UserClient } from '../console/console-client.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import type { TestService } from '../fixtures/test-service.ts';
import type { TestBrowser } from './browser.ts';
import { type HostileSite, startHostileSite } from './hostile-site.ts';
import { visitAs } from './member.ts';
import { shareService } from './shared-service.ts';
import { enterCode, enterPassword, newCode, signIn, signOut } from './sign-in-steps.ts';
import { untilPasses } from './until-passes.ts';
import { newVictim, type Victim } from './victim.ts';

const COOKIE = '__Host-cardvault-session';

describe('attacks on the console, in the browser', { skip: whyNoChromium() }, () => {
  const shared = shareService();
  let victim: Victim;
  let service: TestService;
  let account: string;
  let vera: UserClient;
  let browser: TestBrowser;
  let site: HostileSite;

  before(async () => {
    ({ service, browser } = await shared.open());
    victim = await newVictim(service);
    ({ account, vera } = victim);
    site = await startHostileSite(service);
  });
  afterEach(async () => {
    browser.check();
    await browser.endVisits();
  });
  after(async () => {
    site?.stop();
    await shared.close();
  });

  const cookieIn = async (page: Page): Promise<string> =>
    (await page.context().cookies()).find(({ name }) => name === COOKIE)?.value ?? '';
  const stageOf = async (secret: string): Promise<string> => {
    const client = newClient(service);
    client.cookie = `${COOKIE}=${secret}`;
    return (await client.call(showSession)).json.stage;
  };
  const keysUrl = () => `${browser.origin}/api/accounts/${account}/sandbox/keys`;
  const forged = JSON.stringify({ name: 'forged', permissions: ['account:read'], allow_list: [] });
  const keysMade = async (): Promise<number> => (await service.core.accounts.listKeys(account)).length;
  /** In the page of the other origin: what came of it, as far as it may know. */
  const tryFetch = (page: Page, url: string, options: object): Promise<string> =>
    page.evaluate(
      ([to, how]) =>
        fetch(to, how).then(
          (reply) => `${reply.type} ${reply.status}`,
          (error) => error.name,
        ),
      [url, options] as const,
    );

  /** Records for each request of that origin whether it contained the cookie. */
  const requestsFrom = async (page: Page, origin: string): Promise<boolean[]> => {
    const sent: boolean[] = [];
    const session = await page.context().newCDPSession(page);
    session.on('Network.requestWillBeSentExtraInfo', ({ headers }) => {
      if (headers['Origin'] === origin) sent.push(headers['Cookie']?.includes(COOKIE) ?? false);
    });
    await session.send('Network.enable');
    return sent;
  };

  for (const host of ['localhost', '127.0.0.1'])
    it(`a page of https://${host} at another port can neither change nor read anything`, async () => {
      const { page, errors } = await visitAs(vera, browser);
      const before = await keysMade();
      const origin = `https://${host}:${site.port}`;
      const sent = await requestsFrom(page, origin);
      await page.goto(origin);
      // A request that a page may send without a preflight. The page cannot even read that there was a response.
      const simple = { method: 'POST', mode: 'no-cors', credentials: 'include' };
      for (const [url, options] of [
        [keysUrl(), { ...simple, body: forged }],
        [keysUrl(), simple],
        [`${browser.origin}/api/sign-out`, simple],
      ] as const)
        assert.equal(await tryFetch(page, url, options), 'TypeError');
      // For the browser another port is the same site, so the cookie was sent; from another site it is not.
      const isSameSite = host === 'localhost';
      // The browser reports what it sent beside the result of the page, and at times after it.
      await untilPasses(async () => assert.deepEqual(sent, [isSameSite, isSameSite, isSameSite]));
      const json = { 'content-type': 'application/json', 'x-csrf-token': vera.csrf };
      const asJson = { method: 'POST', credentials: 'include', headers: json, body: forged };
      assert.equal(await tryFetch(page, keysUrl(), asJson), 'TypeError');
      assert.equal(await tryFetch(page, `${browser.origin}/api/session`, { credentials: 'include' }), 'TypeError');
      errors.expect(/CORS policy|ERR_FAILED|ERR_BLOCKED_BY_RESPONSE/);
      assert.equal(await keysMade(), before);
      assert.equal(await stageOf(await cookieIn(page)), 'signed-in');
    });

  it('forms of another origin neither sign out nor create a key', async () => {
    const { page, errors } = await visitAs(vera, browser);
    const before = await keysMade();
    for (const url of [keysUrl(), `${browser.origin}/api/sign-out`, `${browser.origin}/api/sign-in`]) {
      await page.goto(`https://localhost:${site.port}/`);
      const signOut = page.waitForResponse((response) => response.url() === url);
      await page.evaluate(formWith(url, forged));
      assert.equal((await signOut).status(), 415, url);
      await page.waitForURL(url);
    }
    errors.expect(/^415: POST/);
    assert.equal(await keysMade(), before);
    assert.equal(await stageOf(await cookieIn(page)), 'signed-in');
  });

  it('a client with cookie and CSRF token, but another origin or none, changes nothing', async () => {
    const ok = `https://localhost:${service.ports.console}`;
    const path = new URL(keysUrl()).pathname;
    const before = await keysMade();
    await vera.stepUp();
    for (const [origin, site] of [
      ['', 'same-origin'],
      ['null', 'same-origin'],
      ['https://evil.example', 'same-origin'],
      [`${ok}0`, 'same-origin'],
      [ok.replace('https', 'http'), 'same-origin'],
      [ok, 'cross-site'],
      [ok, 'same-site'],
      [ok, 'none'],
    ] as const) {
      const headers = { origin, 'sec-fetch-site': site };
      const response = await vera.send('POST', path, JSON.parse(forged), headers);
      assert.deepEqual([response.status, response.json.code], [403, 'cross_site'], `${origin} ${site}`);
    }
    const { csrf } = vera;
    vera.csrf = victim.mallory.csrf;
    assert.equal((await vera.send('POST', path, JSON.parse(forged))).json.code, 'cross_site');
    vera.csrf = csrf;
    const { cookie = '' } = vera;
    const bare = { cookie, host: `localhost:${service.ports.console}`, 'x-csrf-token': csrf };
    const rest = { environment: 'console', body: forged, headers: bare } as const;
    assert.equal((await service.call('POST', path, rest)).json.code, 'cross_site');
    assert.equal(await keysMade(), before);
    assert.equal((await vera.send('POST', path, JSON.parse(forged))).status, 200, 'the word itself is good');
  });

  it('no page of another origin can show the console in a frame', async () => {
    const { page, errors } = await visitAs(vera, browser);
    const framed = async (path: string) => {
      await page.goto(`https://localhost:${site.port}/`);
      await page.evaluate(frameWith(`${browser.origin}${path}`));
      return page.frames()[1];
    };
    for (const path of ['/', '/sign-in', `/a/${account}/sandbox/keys`, '/api/session', new URL(keysUrl()).pathname])
      assert.equal((await framed(path))?.url(), 'chrome-error://chromewebdata/', path);
    errors.expect(/frame|ERR_BLOCKED_BY_RESPONSE/i);
    errors.expect(/^403: GET/);
  });

  it('a cookie that was planted before the sign-in has no session', async () => {
    const { page } = await browser.newVisitor();
    const value = 'A'.repeat(43);
    const traits = { httpOnly: true, secure: true, sameSite: 'Strict' } as const;
    await page.context().addCookies([{ name: COOKIE, value, url: browser.origin, ...traits }]);
    await page.goto('/profile');
    await enterPassword(page, vera);
    await page.getByLabel('Code', { exact: true }).waitFor();
    const halfway = await cookieIn(page);
    await enterCode(page, newCode(service, vera.totpSecret));
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    const inside = await cookieIn(page);
    assert.equal(new Set([value, halfway, inside]).size, 3);
    assert.deepEqual(await Promise.all([value, halfway, inside].map(stageOf)), [
      'signed-out',
      'signed-out',
      'signed-in',
    ]);
    await signOut(page);
    assert.equal(await cookieIn(page), '');
    assert.equal(await stageOf(inside), 'signed-out');
  });

  it('scripts cannot read the cookie, and it is sent to no other origin', async () => {
    const { page } = await browser.newVisitor();
    await page.goto('/profile');
    await signIn(page, service, vera);
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.map(({ name }) => name).sort(), ['__Host-cardvault-browser', COOKIE]);
    for (const { name, domain, path, expires, httpOnly, secure, sameSite } of cookies) {
      assert.deepEqual([domain, path, httpOnly, secure, sameSite], ['localhost', '/', true, true, 'Strict']);
      assert.equal(expires === -1, name === COOKIE, 'that of the browser outlasts it');
    }
    assert.equal(await page.evaluate('document.cookie'), '');
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    for (const secret of [...cookies.map(({ value }) => value), vera.email, vera.name])
      assert.ok(!String(stored).includes(secret));
  });
});

/** Sends JSON in a form, as its text: the name of a field, an equals sign, its value. */
const formWith = (url: string, json: string): string => `{
  const text = ${JSON.stringify(json)};
  document.body.innerHTML = '<form method="post" enctype="text/plain"><input></form>';
  const [form] = document.forms;
  form.action = ${JSON.stringify(url)};
  form.elements[0].name = text.slice(0, -1) + ',"x":"';
  form.elements[0].value = '"}';
  form.submit();
}`;

const frameWith = (url: string): string => `new Promise((resolve) => {
  const frame = document.createElement('iframe');
  frame.src = ${JSON.stringify(url)};
  frame.addEventListener('load', () => resolve());
  document.body.append(frame);
})`;
