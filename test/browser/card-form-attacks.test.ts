import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import type { FrameLocator, Page, Request, Route } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newCaller } from '../interface/vault-requests.ts';
import { openBrowser, type TestBrowser, type Visitor } from './browser.ts';
import {
  DIGITS,
  fillCard,
  mountForm,
  NUMBER,
  type OpenSession,
  openSession,
  type Shop,
  startShop,
  submitForm,
} from './card-form-shop.ts';
import { untilPasses } from './until-passes.ts';

/** Counts all that the document of a page keeps. */
const STORED = `(async () => [
  document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length,
  'caches' in window ? (await caches.keys()).length : 0,
  'serviceWorker' in navigator ? (await navigator.serviceWorker.getRegistrations()).length : 0, window.name, history.state,
].join())()`;
const NOTHING = ',0,0,0,0,0,,';

/** A page that frames the form without the script of the vault, and posts whatever the test says. */
const HOSTILE = `<!doctype html><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">
<iframe id="form"></iframe><iframe id="sibling" src="/empty"></iframe>
<script>
  const frame = document.querySelector('#form');
  const load = (address) => new Promise((resolve) => {
    frame.onload = resolve;
    frame.src = address;
  });
  const newPort = () => {
    const { port1, port2 } = new MessageChannel();
    const got = [];
    port1.onmessage = ({ data }) => got.push(data);
    return { port1, port2, got };
  };
  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const until = async (claim) => {
    while (!claim()) await pause(10);
  };
  let port;
  const open = async (address, origin, handshake) => {
    await load(address);
    port = newPort();
    frame.contentWindow.postMessage({ cardvault: 1, ...handshake }, origin, [port.port2]);
    await until(() => port.got.some(({ type }) => type === 'ready' || type === 'error'));
    return port.got;
  };
</script>`;

/** A page that keeps every message that it gets. */
const LISTENER = `<!doctype html><meta charset="utf-8"><title>Listener</title>
<script>
  const got = [];
  window.addEventListener('message', ({ data }) => got.push(data));
</script>`;

interface Message {
  readonly type: string;
  readonly code?: string;
}

describe('attacks on the card form, and faults of the network', { skip: whyNoChromium(), timeout: 180_000 }, () => {
  let service: TestService;
  let browser: TestBrowser;
  let key: string;
  let shop: Shop;
  const vault = (): string => `https://localhost:${service.ports.cards}`;

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    ({ key } = await newCaller(service));
    shop = await startShop(vault);
    shop.serve('/hostile', HOSTILE);
    shop.serve('/empty', '<!doctype html><title>Empty</title>');
    shop.serve('/listener', LISTENER);
    shop.serve(
      '/sandboxed',
      '<!doctype html><title>Outer</title><iframe sandbox="allow-scripts" src="/hostile"></iframe>',
    );
    shop.serve('/outer', `<!doctype html><title>Outer</title><iframe src="${shop.origin}/hostile"></iframe>`);
    browser = await openBrowser(service.ports.cards);
  });
  afterEach(async () => {
    try {
      browser.check();
    } finally {
      await browser.endVisits();
    }
  });
  after(async () => {
    await browser?.close();
    shop?.stop();
    await service?.stop();
  });

  const open = (change: object = {}): Promise<OpenSession> =>
    openSession(service.call, key, { allowed_origins: [shop.origin], ...change });
  const openHosted = (): Promise<OpenSession> =>
    open({ allowed_origins: undefined, return_url: `${shop.origin}/empty` });
  let visitor: Visitor;
  const newPage = async (): Promise<Page> => {
    visitor = await browser.newVisitor({ origin: shop.origin });
    return visitor.page;
  };
  /** Awaits what the test brought about itself; all else that a page complains about fails the test. */
  const expectFault = (pattern: RegExp): Promise<void> => untilPasses(async () => visitor.errors.expect(pattern));
  const statusOf = async ({ id }: OpenSession): Promise<string> =>
    (await service.call('GET', `/v1/capture-sessions/${id}`, { key })).json.data.status;
  const addressOf = ({ id }: OpenSession): string => `${vault()}/v1/card/${id}`;
  const given = (...values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');

  it('messages that are no handshake of the parent change nothing, in any order', async () => {
    const session = await open();
    const page = await newPage();
    await page.goto(`${shop.origin}/hostile`);
    const answered = await page.evaluate<Message[][]>(`(async () => {
      const [address, origin, secret] = [${given(addressOf(session), vault(), session.client_secret)}];
      await load(address);
      const forged = [null, 'x', {}, { cardvault: 1 }, { cardvault: 2, secret }, { cardvault: 1, secret: 1 }].map((message) => {
        const port = newPort();
        frame.contentWindow.postMessage(message, origin, [port.port2]);
        return port;
      });
      const [one, other, siblings] = [newPort(), newPort(), newPort()];
      frame.contentWindow.postMessage({ cardvault: 1, secret }, origin);
      frame.contentWindow.postMessage({ cardvault: 1, secret }, origin, [one.port2, other.port2]);
      const sibling = document.querySelector('#sibling').contentWindow;
      sibling.port = siblings.port2;
      sibling.eval('parent.frames[0].postMessage({ cardvault: 1, secret: "' + secret + '" }, "' + origin + '", [port])');
      port = newPort();
      frame.contentWindow.postMessage({ cardvault: 1, secret }, origin, [port.port2]);
      await until(() => port.got.some(({ type }) => type === 'ready'));
      const late = newPort();
      frame.contentWindow.postMessage({ cardvault: 1, secret: 'A'.repeat(43) }, origin, [late.port2]);
      for (const type of ['submit', 'clear', 'update']) frame.contentWindow.postMessage({ type }, origin);
      for (const command of [null, 1, 'submit', {}, { type: 'end' }, { type: 'update', locale: 5, appearance: 5 }])
        port.port1.postMessage(command);
      port.port1.postMessage({ type: 'submit' });
      await until(() => port.got.some(({ type }) => type === 'refused'));
      return [port, one, other, siblings, late, ...forged].map(({ got }) => got);
    })()`);
    const [own = [], ...others] = answered;
    assert.deepEqual(others.flat(), []);
    assert.deepEqual(
      own.filter(({ type }) => type === 'refused' || type === 'error').map(({ code }) => code),
      ['invalid_fields'],
    );
    await fillCard(page.frameLocator('#form'));
    const done = await page.evaluate(`(async () => {
      port.port1.postMessage({ type: 'submit' });
      await until(() => port.got.some(({ type }) => type === 'submitted'));
      return true;
    })()`);
    assert.equal(done, true);
    assert.equal(await statusOf(session), 'completed');
  });

  it('the handshake goes to no page of another origin that is in the frame', async () => {
    const page = await newPage();
    await mountForm(page, shop.origin, await open());
    const address = `${shop.otherOrigin}/listener`;
    const navigated = page.waitForEvent('framenavigated', (frame) => frame.url() === address);
    // Messages to a window keep their order, and at each load the script posts before this listener, which is newer.
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.querySelector('iframe');
      frame.addEventListener('load', () => {
        frame.contentWindow.postMessage('last', '*');
        resolve();
      });
      frame.src = ${given(address)};
    })`);
    const listener = await navigated;
    await listener.waitForFunction('got.includes("last")');
    assert.deepEqual(await listener.evaluate('got'), ['last']);
  });

  it('the frame has the permissions that the form needs, and no secret in an attribute', async () => {
    const session = await open();
    const page = await newPage();
    await mountForm(page, shop.origin, session);
    const attributes = await page.evaluate<Record<string, string>>(
      "Object.fromEntries([...document.querySelector('iframe').attributes].map(({ name, value }) => [name, value]))",
    );
    const { style: _, title, ...others } = attributes;
    assert.ok(title);
    assert.deepEqual(others, {
      src: addressOf(session),
      allow: 'autofill',
      sandbox: 'allow-scripts allow-same-origin allow-forms',
    });
  });

  it('no message over the port has digits, and their number is unknown', async () => {
    const session = await open();
    const page = await newPage();
    await page.goto(`${shop.origin}/hostile`);
    await page.evaluate(`open(${given(addressOf(session), vault(), { secret: session.client_secret })})`);
    const form = page.frameLocator('#form');
    await form.getByLabel('Card number').pressSequentially(DIGITS);
    await form.getByLabel('Security code').pressSequentially('123');
    await form.getByLabel('Name on card').pressSequentially('Ana Lopez');
    const reports = await page.evaluate<(Message & { px?: number })[]>('port.got');
    const changes = reports.filter(({ type }) => type === 'change');
    // A field becomes filled, then complete, and the first digit brings the brand.
    assert.ok(changes.length <= 9, `${changes.length} changes`);
    assert.doesNotMatch(JSON.stringify(reports.map(({ px: _, ...report }) => report)), /[0-9]|Ana/);
  });

  for (const [what, path] of [
    ['a page of another origin', '/hostile'],
    ['a page of origin null', '/sandboxed'],
    ['a page inside of another one', '/outer'],
  ] as const)
    it(`${what} cannot frame the form`, async () => {
      const session = await open();
      const page = await newPage();
      await page.goto(`${path === '/sandboxed' ? shop.origin : shop.otherOrigin}${path}`);
      const inner =
        path === '/hostile' ? page.mainFrame() : page.frames().find((each) => each.url().endsWith('/hostile'));
      const blocked = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
      await inner?.evaluate(`load(${given(addressOf(session))})`);
      await blocked;
      const framed = page.frames().find((each) => each.url().startsWith(vault()));
      assert.equal((await framed?.locator('input').count()) ?? 0, 0);
      await expectFault(/^console: Framing .* "frame-ancestors /);
      await expectFault(/^not loaded: GET .*ERR_BLOCKED_BY_RESPONSE/);
    });

  it('an appearance brings nothing but its variables, and each that is allowed', async () => {
    const session = await open();
    const page = await newPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`${shop.origin}/hostile`);
    const evil = 'https://evil.example/x';
    const appearance = {
      ...{ theme: 'dark', layout: 'compact;', labels: { toString: 'above' }, css: `body{background:url(${evil})}` },
      variables: {
        ...{ colorPrimary: '#00aa55', colorText: `red;background:url(${evil})`, colorBackground: `url(${evil})` },
        ...{ fontFamily: `x;}@import "${evil}"`, borderRadius: 'calc(1px)', spacing: '25px', fontSize: '999px' },
        ...{ content: `url(${evil})`, 'font-family': 'x', colorBorder: ['#fff'] },
      },
    };
    await page.evaluate(`open(${given(addressOf(session), vault(), { secret: session.client_secret, appearance })})`);
    const root = page.frameLocator('#form').locator('html');
    await root.locator('input').first().waitFor();
    assert.equal(await root.getAttribute('style'), '--color-primary: #00aa55;');
    assert.equal(await root.getAttribute('class'), 'dark');
    assert.deepEqual(
      requests.filter((url) => url.includes('evil')),
      [],
    );
  });

  /** Asserts that a secret is in the body of a request or in its authorization, and nowhere else. */
  async function assertNotSent(requests: readonly Request[], { client_secret }: OpenSession): Promise<void> {
    for (const request of requests) {
      const { authorization: _, ...headers } = await request.allHeaders();
      // Playwright shows the fragment of a navigation, which browsers do not send.
      const sent = `${request.url().split('#')[0]} ${JSON.stringify(headers)}`;
      for (const secret of [client_secret, DIGITS, NUMBER]) assert.ok(!sent.includes(secret), request.url());
    }
  }

  it('secrets of a framed form stay out of addresses, headers and storage', async () => {
    const session = await open();
    const page = await newPage();
    const requests: Request[] = [];
    page.on('request', (request) => requests.push(request));
    await fillCard(await mountForm(page, shop.origin, session));
    const frame = page.frames().find((each) => each.url().startsWith(vault())) ?? assert.fail('there is no frame');
    assert.equal(frame.url(), addressOf(session), 'no fragment, no query');
    assert.equal(await frame.evaluate(STORED), NOTHING);
    assert.ok((await submitForm(page)).result);
    for (const each of page.frames()) assert.equal(await each.evaluate(STORED), NOTHING, each.url());
    assert.ok(requests.some((request) => request.method() === 'POST'));
    await assertNotSent(requests, session);
  });

  it('secrets stay out of addresses, headers, storage and the history of the browser', async () => {
    const session = await openHosted();
    const page = await newPage();
    const requests: Request[] = [];
    page.on('request', (request) => requests.push(request));
    await page.goto(`${shop.origin}/empty`);
    await page.goto(session.url ?? '');
    await fillCard(page);
    assert.equal(await page.evaluate(STORED), NOTHING);
    await page.getByRole('button', { name: 'Continue' }).dblclick();
    await page.waitForURL(/status=completed/);
    assert.equal(await page.evaluate('document.referrer'), '');
    const toVault = requests.filter((request) => request.url().startsWith(vault()));
    assert.deepEqual(
      toVault.map((request) => `${request.method()} ${new URL(request.url()).pathname.replace(session.id, 'ID')}`),
      ['GET /v1/card/ID', 'GET /v1/card/ID/session', 'POST /v1/card/ID'],
    );
    await assertNotSent(requests, session);
    await page.goBack();
    assert.equal(page.url(), `${shop.origin}/empty`);
    for (const secret of [session.client_secret, DIGITS, 'Ana Lopez'])
      assert.ok(!service.log.some((line) => line.includes(secret)));
  });

  it('a page that opens the hosted page holds no window of it', async () => {
    const session = await openHosted();
    const page = await newPage();
    await page.goto(`${shop.origin}/hostile`);
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`void (window.popup = window.open(${given(session.url)}))`),
    ]);
    await popup.getByLabel('Card number').waitFor();
    assert.equal(await popup.evaluate('window.opener'), null);
    await page.waitForFunction('window.popup.closed');
    // A frame at the address of the hosted page waits for a handshake, and does not read the fragment.
    const framed = await open({ return_url: `${shop.origin}/empty` });
    await page.evaluate(`load(${given(framed.url)})`);
    assert.equal(await page.frameLocator('#form').locator('input').count(), 0);
  });

  it('wrong and reused secrets, ids of others and ended sessions open nothing', async () => {
    const [one, other, ended] = [await open(), await open(), await open()];
    await service.call('DELETE', `/v1/capture-sessions/${ended.id}`, { key });
    const page = await newPage();
    await page.goto(`${shop.origin}/hostile`);
    for (const [{ id }, secret, code] of [
      [one, other.client_secret, 'session_invalid'],
      [one, 'A'.repeat(43), 'session_invalid'],
      [one, '../../healthz', 'session_invalid'],
      [ended, ended.client_secret, 'session_cancelled'],
    ] as const) {
      const got = await page.evaluate<Message[]>(`open(${given(`${vault()}/v1/card/${id}`, vault(), { secret })})`);
      assert.deepEqual(got, [{ type: 'error', code }]);
      assert.equal(await page.frameLocator('#form').locator('input').count(), 0);
    }
    assert.equal(await statusOf(one), 'open');
  });

  /** Ways in which the response of a submission is lost, and the fault that a page then shows. */
  const LOSSES: Readonly<Record<string, { lose: (route: Route) => Promise<void>; fault?: RegExp }>> = {
    'is lost': {
      lose: (route) => route.abort('connectionreset'),
      fault: /^not loaded: POST .*ERR_CONNECTION_RESET/,
    },
    'breaks off': {
      lose: (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"status":"completed"' }),
    },
    'is lost by a proxy': {
      lose: (route) => route.fulfill({ status: 504, contentType: 'text/html', body: '<h1>Gateway Timeout</h1>' }),
      fault: /504/,
    },
  };
  for (const [how, { lose, fault }] of Object.entries(LOSSES))
    it(`a submission whose response ${how} is sent again, and nothing happens twice`, async () => {
      const session = await open();
      const page = await newPage();
      const bodies: { attempt: string }[] = [];
      await page.route(`${vault()}/v1/card/*`, async (route) => {
        const request = route.request();
        if (request.method() !== 'POST' || bodies.push(request.postDataJSON()) > 1) return route.continue();
        const { authorization = '' } = await request.allHeaders();
        const headers = { authorization, origin: vault() };
        const path = new URL(request.url()).pathname;
        const body = request.postDataJSON();
        const first = await service.call('POST', path, { environment: 'cards', body, headers });
        assert.equal(first.status, 200);
        return lose(route);
      });
      await fillCard(await mountForm(page, shop.origin, session));
      const { result } = await submitForm(page);
      assert.ok(result, 'the page has the result');
      assert.equal(bodies.length, 2);
      assert.equal(bodies[0]?.attempt, bodies[1]?.attempt);
      const shown = (await service.call('GET', `/v1/capture-sessions/${session.id}`, { key })).json.data;
      assert.deepEqual([shown.result, shown.attempts], [result, 0]);
      if (fault !== undefined) await expectFault(fault);
    });

  it('a form whose session breaks off while it loads loads it again', async () => {
    const session = await open();
    const page = await newPage();
    let loads = 0;
    await page.route(`${vault()}/v1/card/*/session`, (route) =>
      ++loads > 1
        ? route.continue()
        : route.fulfill({ status: 200, contentType: 'application/json', body: '{"status":"op' }),
    );
    await fillCard(await mountForm(page, shop.origin, session));
    assert.equal((await submitForm(page)).card.brand, 'visa');
    assert.equal(loads, 2);
  });

  it('a form that is emptied while a submission has no response takes another card', async () => {
    const session = await open();
    const page = await newPage();
    let isDown = true;
    await page.route(`${vault()}/v1/card/*`, (route) =>
      isDown && route.request().method() === 'POST' ? route.abort('connectionrefused') : route.continue(),
    );
    const form = await mountForm(page, shop.origin, session);
    await fillCard(form);
    const submission = submitForm(page);
    await form.locator('input:disabled').first().waitFor();
    await page.evaluate('form.clear()');
    assert.equal((await submission).code, 'network');
    await form.locator('#number:enabled').waitFor();
    assert.equal(await form.getByLabel('Card number').inputValue(), '');
    isDown = false;
    await fillCard(form, '5555555555554444');
    assert.equal((await submitForm(page)).card.brand, 'mastercard');
    await expectFault(/^not loaded: POST .*ERR_CONNECTION_REFUSED/);
  });

  it('a submission that the service has may complete after the time of the session', async () => {
    const session = await open({ expires_in: 1 });
    const page = await newPage();
    await page.clock.install();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(`${vault()}/v1/card/*`, async (route) => {
      if (route.request().method() === 'POST') await held;
      return route.continue();
    });
    const form = await mountForm(page, shop.origin, session);
    await fillCard(form);
    await page.clock.fastForward(50_000);
    const submission = submitForm(page);
    await form.locator('input:disabled').first().waitFor();
    // Less than a call may take.
    await page.clock.fastForward(15_000);
    await untilPasses(async () => assert.equal(await form.getByLabel('Card number').inputValue(), ''));
    assert.equal(await page.evaluate('events.join()'), 'ready');
    release();
    assert.equal((await submission).card.brand, 'visa');
    assert.equal((await submitForm(page)).code, 'session_completed');
  });

  it('a form that is open when its session expires is emptied, says so, and takes nothing more', async () => {
    const session = await open({ expires_in: 1 });
    const page = await newPage();
    await page.clock.install();
    const form = await mountForm(page, shop.origin, session);
    await fillCard(form);
    await page.clock.fastForward(60_000);
    await page.waitForFunction('events.includes("error session_expired")');
    assert.equal(await form.getByLabel('Card number').inputValue(), '');
    await page.evaluate('form.clear()');
    assert.equal(await form.locator('input:enabled').count(), 0);
    assert.equal((await submitForm(page)).code, 'session_expired');
  });

  /** Reads and answers submissions; those that `answer` does not take reach the service. */
  const onSubmission = (page: Page, answer: (route: Route) => Promise<void> | undefined): Promise<unknown> =>
    page.route(`${vault()}/v1/card/*`, async (route) => {
      if (route.request().method() === 'POST') await (answer(route) ?? route.continue());
      else await route.continue();
    });
  const attemptOf = (route: Route): string => route.request().postDataJSON().attempt;
  const answerLater = (route: Route, status: 429 | 503, seconds: number): Promise<void> =>
    route.fulfill({ status, headers: { 'retry-after': String(seconds) }, json: {} });
  /** Lets the time of the pages pass until something has come of the submission. */
  const passTime = async <T>(page: Page, submission: Promise<T>): Promise<T> => {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    submission.then(settle, settle);
    while (!isSettled) await page.clock.fastForward(500);
    return submission;
  };
  const assertLocked = async (form: FrameLocator): Promise<void> => {
    assert.equal(await form.locator('input:enabled').count(), 0);
    assert.equal(await form.getByLabel('Card number').inputValue(), NUMBER);
  };

  it('commands to submit that come at once over the port are one submission', async () => {
    const session = await open();
    const page = await newPage();
    let posts = 0;
    await onSubmission(page, () => {
      posts++;
      return undefined;
    });
    await page.goto(`${shop.origin}/hostile`);
    await page.evaluate(`open(${given(addressOf(session), vault(), { secret: session.client_secret })})`);
    await fillCard(page.frameLocator('#form'));
    const reports = await page.evaluate<Message[]>(`(async () => {
      for (let count = 0; count < 3; count++) port.port1.postMessage({ type: 'submit' });
      await until(() => port.got.some(({ type }) => type === 'submitted'));
      return port.got.filter(({ type }) => type === 'submitted' || type === 'refused');
    })()`);
    assert.deepEqual(
      reports.map(({ type }) => type),
      ['submitted'],
    );
    assert.equal(posts, 1);
  });

  it('a submission without a response rejects after a minute and is repeated with the same attempt', async () => {
    const page = await newPage();
    await page.clock.install();
    const attempts: string[] = [];
    let isDown = true;
    await onSubmission(page, (route) => {
      attempts.push(attemptOf(route));
      return isDown ? new Promise(() => undefined) : undefined;
    });
    const form = await mountForm(page, shop.origin, await open());
    await fillCard(form);
    const { code, waited } = await passTime(
      page,
      page.evaluate<{ code: string; waited: number }>(`(async () => {
        const began = performance.now();
        const { code } = await submitForm();
        return { code, waited: performance.now() - began };
      })()`),
    );
    assert.equal(code, 'network');
    // The time of the page: each call has 20 seconds.
    assert.ok(waited >= 59_000, String(waited));
    assert.ok(attempts.length >= 2);
    await assertLocked(form);
    isDown = false;
    assert.equal((await submitForm(page)).card.brand, 'visa');
    assert.equal(new Set(attempts).size, 1);
  });

  it('a submission repeats after the Retry-After of 429 and 503', async () => {
    const page = await newPage();
    await page.clock.install();
    const sent: { attempt: string; at: number }[] = [];
    await onSubmission(page, async (route) => {
      sent.push({ attempt: attemptOf(route), at: await page.evaluate('performance.now()') });
      if (sent.length === 1) return answerLater(route, 429, 6);
      if (sent.length === 2) return answerLater(route, 503, 7);
      return route.continue();
    });
    const form = await mountForm(page, shop.origin, await open());
    await fillCard(form);
    assert.equal((await passTime(page, submitForm(page))).card.brand, 'visa');
    const [first, second, third] = sent.map(({ at }) => at);
    assert.ok(Number(second) - Number(first) >= 6000, JSON.stringify(sent));
    assert.ok(Number(third) - Number(second) >= 7000, JSON.stringify(sent));
    assert.equal(new Set(sent.map(({ attempt }) => attempt)).size, 1);
    await expectFault(/^503: POST /);
  });

  for (const [status, code] of [
    [429, 'rate_limited'],
    [503, 'unavailable'],
  ] as const)
    it(`a submission with a Retry-After beyond a minute rejects with ${code} and is repeated with the same attempt`, async () => {
      const page = await newPage();
      const attempts: string[] = [];
      await onSubmission(page, (route) =>
        attempts.push(attemptOf(route)) === 1 ? answerLater(route, status, 90) : undefined,
      );
      const form = await mountForm(page, shop.origin, await open());
      await fillCard(form);
      assert.equal((await submitForm(page)).code, code);
      await assertLocked(form);
      assert.equal((await submitForm(page)).card.brand, 'visa');
      assert.deepEqual(attempts, [attempts[0], attempts[0]]);
      if (status === 503) await expectFault(/^503: POST /);
    });

  it('a form that does not load within 15 seconds is unavailable and rejects a waiting submission', async () => {
    const page = await newPage();
    await page.clock.install();
    await page.route(`${vault()}/v1/card/*`, (route) => route.abort('connectionrefused'));
    const { id: session, client_secret: clientSecret } = await open();
    await page.goto(shop.origin);
    await page.evaluate(`void mountForm(${given({ session, clientSecret })}).catch(() => undefined)`);
    assert.equal((await passTime(page, submitForm(page))).code, 'unavailable');
    assert.deepEqual(await page.evaluate('events'), ['error unavailable']);
    assert.equal((await submitForm(page)).code, 'unavailable');
    await expectFault(/^not loaded: GET .*ERR_CONNECTION_REFUSED/);
  });

  it('a frame that was moved and does not load again rejects a submission as unavailable', async () => {
    const page = await newPage();
    await page.clock.install();
    const { id: session, client_secret: clientSecret } = await open();
    await page.goto(shop.origin);
    await page.evaluate(`mountForm(${given({ session, clientSecret })})`);
    await page.route(`${vault()}/v1/card/*`, (route) => route.abort('connectionrefused'));
    // A frame loads again when it gets another place in the page.
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.querySelector('iframe');
      frame.addEventListener('load', () => resolve(), { once: true });
      document.body.append(frame);
    })`);
    assert.equal((await passTime(page, submitForm(page))).code, 'unavailable');
    await expectFault(/^not loaded: GET .*ERR_CONNECTION_REFUSED/);
  });

  it('a submission whose frame is moved is unknown, and the next one finds what became of it', async () => {
    const page = await newPage();
    const session = await open();
    // The service has the card, and the form never gets the response.
    const received = new Promise<void>((resolve) => {
      void onSubmission(page, async (route) => {
        const { url, postData, headers } = {
          url: new URL(route.request().url()).pathname,
          postData: route.request().postDataJSON(),
          headers: { authorization: `Bearer ${session.client_secret}`, origin: vault() },
        };
        const { status } = await service.call('POST', url, { environment: 'cards', headers, body: postData });
        assert.equal(status, 200);
        resolve();
      });
    });
    const form = await mountForm(page, shop.origin, session);
    await fillCard(form);
    const submission = submitForm(page);
    await received;
    await page.evaluate("document.body.append(document.querySelector('iframe'))");
    assert.equal((await submission).code, 'network');
    await untilPasses(async () =>
      assert.ok(((await page.evaluate('events')) as string[]).includes('error session_completed')),
    );
    assert.equal((await submitForm(page)).code, 'session_completed');
  });

  it('a submission waits until the form is ready', async () => {
    const page = await newPage();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(`${vault()}/v1/card/*/session`, async (route) => {
      await held;
      return route.continue();
    });
    const { id: session, client_secret: clientSecret } = await open();
    await page.goto(shop.origin);
    const asked = page.waitForRequest(/\/session$/);
    await page.evaluate(`void mountForm(${given({ session, clientSecret })})`);
    const submission = submitForm(page);
    await asked;
    assert.deepEqual(await page.evaluate('events'), []);
    release();
    assert.equal((await submission).code, 'invalid_fields');
    assert.deepEqual(await page.evaluate('events'), ['ready']);
  });

  it('a destroyed form rejects its submission and every later one', async () => {
    const page = await newPage();
    await onSubmission(page, () => new Promise(() => undefined));
    const form = await mountForm(page, shop.origin, await open());
    await fillCard(form);
    const submission = submitForm(page);
    await form.locator('input:disabled').first().waitFor();
    await page.evaluate('form.destroy()');
    assert.equal((await submission).code, 'destroyed');
    assert.equal((await submitForm(page)).code, 'destroyed');
    assert.equal(await page.locator('iframe').count(), 0);
  });

  it('a form reports a failed session at the tenth refusal and becomes empty', async () => {
    const session = await open();
    const page = await newPage();
    // The form sends no number that it knows to be wrong.
    const refused = { exp: '12/40', name: 'Ana Lopez', cvv: '123', number: '4111111111111112' };
    const authorization = `Bearer ${session.client_secret}`;
    for (let count = 1; count < 10; count++) {
      const { status } = await service.call('POST', `/v1/card/${session.id}`, {
        environment: 'cards',
        headers: { authorization, origin: vault() },
        body: { ...refused, attempt: randomUUID() },
      });
      assert.equal(status, 400);
    }
    await onSubmission(page, (route) =>
      route.continue({ postData: JSON.stringify({ ...refused, attempt: attemptOf(route) }) }),
    );
    const form = await mountForm(page, shop.origin, session);
    await fillCard(form);
    assert.equal((await submitForm(page)).code, 'session_failed');
    // The event comes behind the rejection, in a message of its own.
    await page.waitForFunction('events.join() === "ready,error session_failed"');
    assert.equal(await form.locator('input:enabled').count(), 0);
    assert.equal(await form.getByLabel('Card number').inputValue(), '');
    assert.equal((await submitForm(page)).code, 'session_failed');
    assert.equal(await statusOf(session), 'failed');
  });
});
