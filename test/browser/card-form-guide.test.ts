import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { whyNoChromium } from '../fixtures/chromium.ts';
import { withoutSettings } from '../fixtures/command.ts';
import { blocksOf, run } from '../fixtures/guide-blocks.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { newMerchant } from '../interface/payment-requests.ts';
import { onPath } from '../receivers/install.ts';
import { openBrowser, type TestBrowser } from './browser.ts';
import { fillCard, type Shop, startShop } from './card-form-shop.ts';

const PAGE = 'docs/guides/browser.md';
const missing = ['bash', 'curl', 'jq'].filter((command) => !onPath(command));
const skip = missing.length === 0 ? whyNoChromium() : `no ${missing.join(', ')}`;

describe('the guide to the card form', { skip, timeout: 120_000 }, () => {
  let service: TestService;
  let browser: TestBrowser;
  let shop: Shop;
  let folder: string;
  const vault = (): string => `https://localhost:${service.ports.cards}`;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    service = await startTestService();
    symlinkSync(service.directory, join(folder, 'data'));
    shop = await startShop(vault);
    browser = await openBrowser(service.ports.cards);
  });
  after(async () => {
    await browser?.close();
    shop?.stop();
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('leads from the first request to a payment when its blocks are copied as they are', async () => {
    const { key } = await newMerchant(service);
    const blocks = blocksOf(PAGE);
    const adapt = (text: string): string =>
      text
        .replaceAll('cv_sandbox_...', key)
        .replaceAll('https://localhost:8444', `https://localhost:${service.ports.sandbox}`)
        .replaceAll('https://localhost:8446', vault())
        // A page of the reader's shop is at the usual port.
        .replaceAll('"http://localhost"', `"${shop.otherOrigin}"`);
    const textOf = (wanted: string): string[] =>
      blocks.filter(({ info }) => info === wanted).map(({ text }) => adapt(text));
    const [[create = '', show = ''], [page = ''], [pay = '']] = [textOf('sh'), textOf('html'), textOf('console')];
    const untilPaid = 'while [ ! -e pressed ]; do sleep 0.1; done\n';
    const script = [create, untilPaid, show, pay, pay].join('\n');
    const shell = run(['bash', '-euo', 'pipefail', '-c', script], { cwd: folder, env: withoutSettings(process.env) });
    const readSession = (): Promise<{ id: string; client_secret: string }> =>
      untilPasses(async () => JSON.parse(readFileSync(join(folder, 'session.json'), 'utf8')).data);
    const ended = shell.then(({ err }) => assert.fail(`the shell ended early: ${err}`));
    const session = await Promise.race([readSession(), ended]);

    const filled = page
      .replace('SESSION_ID', JSON.stringify(session.id))
      .replace('CLIENT_SECRET', JSON.stringify(session.client_secret));
    shop.serve('/guide', `<!doctype html><title>Shop</title><link rel="icon" href="data:,">${filled}`);
    const { page: buyer } = await browser.newVisitor({ origin: shop.otherOrigin });
    await buyer.goto(`${shop.otherOrigin}/guide`);
    await fillCard(buyer.frameLocator('iframe'));
    const payRequest = buyer.waitForRequest(
      (request) => request.method() === 'POST' && request.url().endsWith('/orders/A-1001/pay'),
    );
    await buyer.getByRole('button', { name: 'Pay' }).click();
    await payRequest;
    writeFileSync(join(folder, 'pressed'), '');

    const { code, out, err } = await shell;
    assert.equal(code, 0, err);
    const [shown, paid, again] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([shown.data.status, shown.data.card.card], ['completed', '411111******1111']);
    assert.equal(paid.data.transaction_info.status, 'Collected');
    assert.deepEqual(again, paid);
    const payments = await service.core.database.read('select 1 as found from payments');
    assert.equal(payments.length, 1);
    browser.check();
  });
});
