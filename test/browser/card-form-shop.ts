import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FrameLocator, Locator, Page } from 'playwright-core';

/** A card as a buyer types it. */
export const NUMBER = '4111 1111 1111 1111';
export const DIGITS = '4111111111111111';
export const NAME = 'Ana Lopez';

/** The page of a shop of another origin and host name than the vault, which keeps every message event that it sees. */
const PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<main><h1>Shop</h1><div id="card"></div></main>
<script src="%SCRIPT%"></script>
<script>
  const seen = [];
  const changes = [];
  const events = [];
  window.addEventListener('message', (event) => seen.push(JSON.stringify(event.data)));
  let form;
  const mountForm = (options) => new Promise((resolve, reject) => {
    form = CardVault.mount('#card', options);
    form.on('change', (state) => changes.push(JSON.stringify(state)));
    for (const name of ['ready', 'enter', 'error']) form.on(name, (event) => events.push(event === undefined ? name : name + ' ' + event.code));
    form.on('ready', () => resolve());
    form.on('error', ({ code }) => reject(new Error(code)));
  });
  const submitForm = () => form.submit().then((done) => done, ({ code, fields }) => ({ code, fields }));
  const look = () => {
    let reach;
    try {
      reach = String(document.querySelector('iframe').contentDocument);
    } catch (error) {
      reach = error.name;
    }
    const storage = JSON.stringify({ ...localStorage, ...sessionStorage });
    return { seen, changes: changes.join(' '), reach, storage };
  };
</script></html>`;

/** `attributes`: others of the script's element than its address. */
export const shopPage = (script: string, attributes = ''): string =>
  PAGE.replace('src="%SCRIPT%"', `src="${script}"${attributes}`);

const STRICT = '/strict';
const [, SCRIPT = ''] = /<script>(.*?)<\/script>/s.exec(PAGE) ?? [];

/** The guide asks shops for these sources and no weaker ones. */
const strictPolicy = (vault: string): string =>
  [
    "default-src 'none'",
    `script-src ${vault} 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
    `frame-src ${vault}`,
    'img-src data:',
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

export interface Shop {
  /** On 127.0.0.1, and the same page on localhost, which is another site than the first one. */
  readonly origin: string;
  readonly otherOrigin: string;
  /** Where the shop has the same page under a strict content security policy. */
  readonly strict: string;
  /** Serves another page of the shop at a path. */
  serve(path: string, html: string, headers?: Readonly<Record<string, string>>): void;
  stop(): void;
}

/** `vault`: the origin of the card form. The page loads the present script, or at `/?/v1/cardvault-HASH.js` that of a release. */
export async function startShop(vault: () => string): Promise<Shop> {
  const pages = new Map<string, { html: string; headers: Readonly<Record<string, string>> }>();
  const server = createServer(({ url = '/' }, response) => {
    const [path = '/', script = ''] = url.split('?');
    response.setHeader('content-type', 'text/html');
    if (path === STRICT) response.setHeader('content-security-policy', strictPolicy(vault()));
    const isScript = script.startsWith('/v1/');
    const page = pages.get(path);
    for (const [name, value] of Object.entries(page?.headers ?? {})) response.setHeader(name, value);
    response.end(page?.html ?? shopPage(`${vault()}${isScript ? script : '/v1/cardvault.js'}`));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    otherOrigin: `http://localhost:${port}`,
    strict: `http://127.0.0.1:${port}${STRICT}`,
    serve: (path, html, headers = {}) => void pages.set(path, { html, headers }),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export interface OpenSession {
  readonly id: string;
  readonly client_secret: string;
  readonly url?: string;
}

type Send = (
  method: string,
  path: string,
  options: { key: string; body: unknown },
  // biome-ignore lint/suspicious/noExplicitAny: a response of every shape
) => Promise<{ status: number; json: any; text: string }>;

/** Creates a session that becomes a capture. */
export async function openSession(call: Send, key: string, change: object): Promise<OpenSession> {
  const body = { amount: 100, currency: 'USD', ttl: 10, ...change };
  const { status, json, text } = await call('POST', '/v1/capture-sessions', { key, body });
  assert.equal(status, 200, text);
  return json.data;
}

/** Opens the shop with a form of a session; resolves when it is ready. */
export async function mountForm(
  page: Page,
  address: string,
  session: OpenSession,
  options: object = {},
): Promise<FrameLocator> {
  await page.goto(address);
  const given = { session: session.id, clientSecret: session.client_secret, ...options };
  await page.evaluate(`mountForm(${JSON.stringify(given)})`);
  return page.frameLocator('iframe');
}

export async function fillCard(
  form: { getByLabel(text: string, options?: object): Locator },
  number = NUMBER,
): Promise<void> {
  await form.getByLabel('Card number').fill(number);
  await form.getByLabel('Expiry date').fill('12/40');
  await form.getByLabel('Security code').fill('123');
  await form.getByLabel('Name on card').fill(NAME);
}

/** Returns the result of a submission, or its code and fields. */
// biome-ignore lint/suspicious/noExplicitAny: a result of every shape
export const submitForm = (page: Page): Promise<any> => page.evaluate('submitForm()');
