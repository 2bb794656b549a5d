import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
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

  before(async () => {
    service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
    const { key: apiKey } = await newMerchant(service);
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const vaultUrl = `https://localhost:${service.ports.sandbox}`;
    const ca = service.authority;
    const client = new CardvaultClient({ baseUrl: vaultUrl, apiKey, ca });
    const { secret: webhookSecret } = await client.webhooks.create({ url: `${origin}/webhook`, events: ['*'] });
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
    const frame = page.frameLocator('iframe');
    await frame.getByLabel('Card number').fill(DIGITS);
    await frame.getByLabel('Expiry date').fill('12/40');
    await frame.getByLabel('Security code').fill('123');
    await frame.getByLabel('Name on card').fill('Ana Lopez');
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
    assert.ok(!JSON.stringify([...shop.orders.values()]).includes(DIGITS));
    const payments = await service.core.database.read('select count(*) as number from payments');
    assert.equal(payments[0]?.['number'], 1);
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
