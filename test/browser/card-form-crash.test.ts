import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { isPostgres } from '../fixtures/database.ts';
import { freePort } from '../fixtures/postgres-server.ts';
import { newDirectory, removeDirectory, type ServiceProcess, startProcess } from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { onlyLong } from '../scope.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import {
  fillCard,
  mountForm,
  type OpenSession,
  openSession,
  type Shop,
  startShop,
  submitForm,
} from './card-form-shop.ts';

const CRASHES = 8;
const SESSIONS = 24;

interface FormResponse {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a response of every shape
  readonly json: any;
}

describe('kill -9 beside the card form', { skip: whyNoChromium() || onlyLong, timeout: 400_000 }, () => {
  const directory = newDirectory();
  let service: ServiceProcess;
  let browser: TestBrowser;
  let shop: Shop;
  let key: string;
  let variables: Readonly<Record<string, string>>;
  const cards = (): number => Number(variables['CARDVAULT_CAPTURE_PORT']);
  const vault = (): string => `https://localhost:${cards()}`;

  const start = async (): Promise<void> => {
    service = await startProcess(directory, variables);
  };
  before(async () => {
    const [sandbox, port] = [await freePort(), await freePort()];
    variables = {
      CARDVAULT_SANDBOX_PORT: String(sandbox),
      CARDVAULT_CAPTURE_PORT: String(port),
      CARDVAULT_RATE_LIMIT_CAPTURE: '0',
    };
    await start();
    key = service.demoKey ?? '';
    shop = await startShop(vault);
    browser = await openBrowser(port);
  });
  afterEach(() => browser.endVisits());
  after(async () => {
    await browser?.close();
    shop?.stop();
    await service?.kill();
    removeDirectory(directory);
  });

  const open = (): Promise<OpenSession> =>
    openSession((method, path, options) => service.call(method, path, options), key, {
      allowed_origins: [shop.origin],
    });
  const newPage = async (): Promise<Page> => (await browser.newVisitor({ origin: shop.origin })).page;
  const show = async ({ id }: OpenSession) =>
    (await service.call('GET', `/v1/capture-sessions/${id}`, { key })).json.data;

  /** Sends a submission as the form does; rejects without a response. */
  const post = (agent: Agent, { id, client_secret: secret }: OpenSession, body: object): Promise<FormResponse> =>
    new Promise((resolve, reject) => {
      const headers = { origin: vault(), authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const path = `/v1/card/${id}`;
      const options = { agent, host: '127.0.0.1', servername: 'localhost', port: cards(), ca: service.authority };
      const outgoing = request({ ...options, method: 'POST', path, headers }, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        incoming.on('error', reject);
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, json: JSON.parse(text) }));
      });
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify(body));
    });

  it('after its creation a session is there, and takes a card', async () => {
    const session = await open();
    await service.kill();
    await start();
    const page = await newPage();
    await fillCard(await mountForm(page, shop.origin, session));
    const { result } = await submitForm(page);
    assert.deepEqual((await show(session)).result, result);
  });

  /** Seconds for which the service is away: a moment, and half of the minute in which the form sends again. */
  for (const seconds of [0, 30])
    it(`before a submission the form tries until the service is there again, ${seconds} s later`, async () => {
      const session = await open();
      const page = await newPage();
      await fillCard(await mountForm(page, shop.origin, session));
      await service.kill();
      const submission = submitForm(page);
      await pause(seconds * 1000);
      await start();
      const { result } = await submission;
      const shown = await show(session);
      assert.deepEqual([shown.result, shown.attempts], [result, 0]);
    });

  it('between commit and response the form gets the result of the first submission', async () => {
    const session = await open();
    const page = await newPage();
    const agent = new Agent();
    let first: FormResponse | undefined;
    await page.route(`${vault()}/v1/card/*`, async (route) => {
      if (route.request().method() !== 'POST' || first !== undefined) return route.continue();
      first = await post(agent, session, route.request().postDataJSON());
      await service.kill();
      return route.abort('connectionreset');
    });
    await fillCard(await mountForm(page, shop.origin, session));
    const submission = submitForm(page);
    while (first === undefined || service.child.signalCode === null) await pause(10);
    await start();
    const { result, card } = await submission;
    agent.destroy();
    assert.deepEqual([result, card], [first.json.result, first.json.card]);
    const shown = await show(session);
    assert.deepEqual([shown.result, shown.attempts], [result, 0]);
  });

  it('at any moment of many submissions each session takes one card, and what was responded stays', {
    skip: isPostgres && 'counts the rows of the file',
  }, async () => {
    for (let crash = 0; crash < CRASHES; crash++) {
      const sessions = await Promise.all(Array.from({ length: SESSIONS }, open));
      // Two submissions of each session at once, of other cards.
      const sent = sessions.flatMap((session) =>
        [1, 2].map(() => {
          const card = { number: luhnPan('411111'), exp: '12/40', name: 'Ana Lopez', cvv: '123' };
          return { session, body: { ...card, attempt: randomUUID() } };
        }),
      );
      const agent = new Agent({ keepAlive: true });
      const before = Promise.all(sent.map(({ session, body }) => post(agent, session, body).catch(() => undefined)));
      await pause(crash * 15);
      await service.kill();
      const responses = await before;
      agent.destroy();
      await start();
      const fresh = new Agent({ keepAlive: true });
      for (const [index, { session, body }] of sent.entries()) {
        const known = responses[index];
        const again = await post(fresh, session, body);
        if (known?.status === 200) assert.deepEqual(again, known);
        else assert.ok(again.status === 200 || again.status === 410, String(again.status));
      }
      fresh.destroy();
      const shown = await Promise.all(sessions.map(show));
      for (const { status, attempts } of shown) assert.deepEqual([status, attempts], ['completed', 0]);
    }
    await service.stop();
    const database = new DatabaseSync(join(directory, 'cardvault.db'), { readOnly: true });
    const count = (sql: string): number => Number(database.prepare(sql).get()?.['number']);
    const completed = count("select count(*) as number from capture_sessions where status = 'completed'");
    assert.equal(completed, CRASHES * SESSIONS + 4);
    assert.equal(count('select count(*) as number from captures'), completed);
    database.close();
    await start();
  });
});
