import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import type { FrameLocator } from 'playwright-core';
import { Shop } from '../../examples/shop/shop.ts';
import { CardvaultClient } from '../../sdk/src/index.ts';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { newMerchant } from '../interface/payment-requests.ts';
import { openBrowser, type TestBrowser } from './browser.ts';

const DIGITS = '4111111111111111';

/** A free port: the origin of the shop is needed before it listens. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });

describe('the example shop', { skip: whyNoChromium(), timeout: 120_000 }, () => {
  let service: TestService;
  let browser: TestBrowser;
  let shop: Shop;
  let server: Server;
  let origin: string;
  let webhookSecret: string;

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
    const { key: apiKey } = await newMerchant(service);
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const vaultUrl = `https://localhost:${service.ports.sandbox}`;
    const ca = service.authority;
    const client = new CardvaultClient({ baseUrl: vaultUrl, apiKey, ca });
    ({ secret: webhookSecret } = await client.webhooks.create({ url: `${origin}/webhook`, events: ['*'] }));
    client.close();
    const formOrigin = `https://localhost:${service.ports.cards}`;
    shop = new Shop({ origin, vaultUrl, formOrigin, apiKey, ca, webhookSecret });
    server = await shop.listen(port);
    browser = await openBrowser(service.ports.cards);
  });
  afterEach(() => browser.endVisits());
  after(async () => {
    await browser?.close();
    shop?.close();
    server?.closeAllConnections();
    server?.close();
    await service?.stop();
  });

  it('sells, is paid once, hears of it, and refunds, without a card number', async () => {
    const { page } = await browser.newVisitor({ origin });
    await page.goto(`${origin}/`);
    await page.getByLabel('A red chair').fill('2');
    await page.getByLabel('A blue lamp').fill('1');
    await page.getByRole('button', { name: 'Check out' }).click();
    await page.getByRole('heading', { name: '2 × A red chair, 1 × A blue lamp, $299.00' }).waitFor();
    await fillCard(page.frameLocator('iframe'));
    await page.getByRole('button', { name: 'Pay' }).dblclick();
    await page.getByText('paid', { exact: true }).waitFor();
    const [order] = [...shop.orders.values()];
    assert.equal(order?.card, 'visa 411111******1111');
    await untilPasses(async () => {
      service.advance(1000);
      assert.ok(order?.events.includes('payment.collected'), order?.events.join());
      assert.ok(order?.events.filter((type) => type === 'payment.collected').length === 1);
    });
    await page.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('refunded', { exact: true }).waitFor();
    await untilPasses(async () => {
      service.advance(1000);
      assert.ok(order?.events.includes('payment.refunded'), order?.events.join());
    });
    const again = await fetch(`${origin}/orders/${order?.id}/pay`, { method: 'POST' });
    assert.deepEqual([await again.json(), order?.status], [{ status: 'refunded' }, 'refunded']);
    assert.ok(!JSON.stringify([...shop.orders.values()]).includes(DIGITS));
    assert.equal(await countPayments(), 1);
  });

  /** Orders a chair, and returns the order before it is paid. */
  const newOrder = async () => {
    const body = new URLSearchParams({ 'A red chair': '1' });
    const { headers } = await fetch(`${origin}/orders`, { method: 'POST', body, redirect: 'manual' });
    const order = shop.orders.get(headers.get('location')?.split('/').at(-1) ?? '');
    assert.ok(order !== undefined);
    return order;
  };

  const fillCard = async (frame: FrameLocator): Promise<void> => {
    await frame.getByLabel('Card number').fill(DIGITS);
    await frame.getByLabel('Expiry date').fill('12/40');
    await frame.getByLabel('Security code').fill('123');
    await frame.getByLabel('Name on card').fill('Ana Lopez');
  };
  const countPayments = async (): Promise<unknown> =>
    (await service.core.database.read('select count(*) as number from payments'))[0]?.['number'];

  it('is paid once when the request to pay is lost, however often the buyer presses', async () => {
    const order = await newOrder();
    const before = Number(await countPayments());
    const { page, errors } = await browser.newVisitor({ origin });
    let lost = 0;
    await page.route('**/pay', (route) => {
      lost++;
      return route.abort('connectionreset');
    });
    await page.goto(`${origin}/orders/${order.id}`);
    await fillCard(page.frameLocator('iframe'));
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('That did not work').waitFor();
    await page.getByRole('button', { name: 'Pay' }).click();
    await untilPasses(async () => assert.equal(lost, 2));
    await page.unroute('**/pay');
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByText('paid', { exact: true }).waitFor();
    assert.equal(Number(await countPayments()), before + 1);
    errors.expect(/^not loaded: POST .*ERR_CONNECTION_RESET/);
  });

  it('is paid when the buyer closes the page, by the event of the session', async () => {
    const order = await newOrder();
    const { page } = await browser.newVisitor({ origin });
    await page.route('**/pay', () => new Promise(() => undefined));
    await page.goto(`${origin}/orders/${order.id}`);
    await fillCard(page.frameLocator('iframe'));
    const asked = page.waitForRequest(/\/pay$/);
    await page.getByRole('button', { name: 'Pay' }).click();
    await asked;
    await page.close();
    // The clock is not advanced: a payment that is sent later than its recovery starts is not sent at all.
    await untilPasses(async () => assert.equal(order.status, 'paid'));
  });

  it('goes by the newest of events that come in any order, and by none without a signature', async () => {
    const order = await newOrder();
    const hear = async (
      id: string,
      seconds: number,
      event: { type: string; status: string; reference?: string },
      secret = webhookSecret,
    ) => {
      const at = Math.floor(Date.now() / 1000);
      const timestamp = new Date((at + seconds) * 1000).toISOString();
      const { reference = order.id, status: paymentStatus } = event;
      const info = { reference_code: reference, payment_id: order.paymentId, status: paymentStatus };
      const data = { transaction_info: info };
      const body = JSON.stringify({ type: event.type, timestamp, environment: 'sandbox', data });
      const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
      const signature = mac.update(`${id}.${at}.${body}`).digest('base64');
      const headers = { 'webhook-id': id, 'webhook-timestamp': `${at}`, 'webhook-signature': `v1,${signature}` };
      const { status } = await fetch(`${origin}/webhook`, { method: 'POST', body, headers });
      return [status, order.status];
    };
    const [paid, doubt] = [
      { type: 'payment.collected', status: 'Collected' },
      { type: 'payment.in_doubt', status: 'Opened' },
    ];
    const forged = `whsec_${Buffer.alloc(32).toString('base64')}`;
    assert.deepEqual(await hear('evt_1', 0, paid, forged), [400, 'open']);
    assert.deepEqual(await hear('evt_1', 0, paid), [204, 'paid']);
    assert.deepEqual(await hear('evt_0', -10, doubt), [204, 'paid']);
    // An unknown reference finds the order of the payment, and none without a payment.
    const renamed = { ...doubt, reference: 'unknown' };
    assert.deepEqual(await hear('evt_2', 10, renamed), [204, 'paid']);
    order.paymentId = 'payment-1';
    assert.deepEqual(await hear('evt_3', 10, renamed), [204, 'in doubt']);
  });

  it('lets no script run on the page of the form but its own', async () => {
    const { id } = await newOrder();
    const nonces = new Set<string>();
    for (let count = 0; count < 2; count++) {
      const response = await fetch(`${origin}/orders/${id}`);
      const scripts = /script-src ([^;]*)/.exec(response.headers.get('content-security-policy') ?? '')?.[1] ?? '';
      const nonce = /^'nonce-([A-Za-z0-9_-]{22})'$/.exec(scripts)?.[1] ?? '';
      const tags = (await response.text()).match(/<script[^>]*>/g) ?? [];
      assert.ok(nonce !== '' && tags.length === 2 && tags.every((tag) => tag.includes(`nonce="${nonce}"`)), scripts);
      nonces.add(nonce);
    }
    assert.equal(nonces.size, 2);
  });

  it('takes no empty cart, and no quantity that it does not offer', async () => {
    const orders = shop.orders.size;
    for (const body of ['', 'A red chair=0', 'A red chair=-1', 'A red chair=1.5', 'A red chair=10', 'Another=1']) {
      const response = await fetch(`${origin}/orders`, { method: 'POST', body: new URLSearchParams(body) });
      assert.equal(response.status, 400, body);
    }
    assert.equal(shop.orders.size, orders);
  });
});
