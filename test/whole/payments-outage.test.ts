import { after, before, describe, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { idOf, infoOf, type Merchant, newMerchant, order, PAYMENTS } from '../interface/payment-requests.ts';
import { FakeKoin } from '../processors/fake-koin.ts';

/** Beyond `recovery-max`, so that nothing that is asked in between still counts as early. */
const OUTAGE_MS = 2 * 3_600_000;

/** KOIN cannot take a capture or refund back, so its books are all there is to go by. */
describe('a processor that is unavailable for longer than recovery-max', () => {
  let service: TestService;
  let koin: FakeKoin;
  let me: Merchant;

  before(async () => {
    koin = new FakeKoin({ privateKey: 'sk_of_this_test', account: 'ACC' });
    const { url } = await koin.start();
    service = await startTestService();
    me = await newMerchant(service);
    const settings = { 'base-url': url, 'private-key': 'sk_of_this_test', account: 'ACC', 'recovery-delay-ms': '0' };
    await service.enablePayments(me.account, settings, 'koin');
    service.advance(5000);
  });
  after(async () => {
    await service.stop();
    await koin.stop();
  });

  /** An outage that begins right behind what KOIN has booked, and has an end. */
  async function outage(move: 'capture' | 'refund', id: string): Promise<void> {
    koin.inject({ on: move, do: 'drop-after' });
    for (const on of ['get', 'find', 'get-refund'] as const) koin.inject({ on, do: 'drop-before', times: 100_000 });
    await me.move(move, id);
    const inquiryCount = () => koin.requests.filter((kind) => kind === 'get').length;
    const before = inquiryCount();
    service.advance(OUTAGE_MS);
    await eventually(async () => inquiryCount() >= before + 2);
    koin.forgetFaults();
    service.advance(OUTAGE_MS);
  }

  const authorized = async (): Promise<string> => {
    const body = { ...order(), bill_to: { ...order().bill_to, country: 'BR' } };
    return idOf(await me.send('POST', PAYMENTS, body));
  };

  test('has processed a capture: Collected', async () => {
    const id = await authorized();
    await outage('capture', id);
    await eventually(async () => (await me.standing(id)).status === 'Collected');
  });

  test('has processed a refund', async () => {
    const id = await authorized();
    infoOf(await me.move('capture', id));
    await outage('refund', id);
    await eventually(async () => (await me.standing(id)).amounts['refunded_amount'] === 125.5);
  });
});

/** More than recovery processes concurrently. */
const MANY = 160;

test('an account whose gateway does not respond does not delay others', { timeout: 60_000 }, async () => {
  const gateways = [0, 1].map(() => new FakeKoin({ privateKey: 'sk_of_this_test', account: 'ACC' }));
  const service = await startTestService();
  try {
    const [silent, good] = await Promise.all(gateways.map((koin) => merchantOf(service, koin)));
    if (silent === undefined || good === undefined) throw new Error('two gateways, two merchants');
    for (const on of ['get', 'find'] as const) gateways[0]?.inject({ on, do: 'hang-before', times: 100_000 });
    service.advance(5000);
    await Promise.all(Array.from({ length: MANY }, () => inDoubt(silent)));
    const id = await inDoubt(good);
    service.advance(30_000);
    await eventually(async () => (await good.standing(id)).status === 'Authorized');
  } finally {
    await Promise.all(gateways.map((koin) => koin.stop()));
    await service.stop();
  }
});

/** Whose authorizations are all booked, and never answered. */
async function merchantOf(service: TestService, koin: FakeKoin): Promise<Merchant> {
  const { url } = await koin.start();
  const me = await newMerchant(service);
  const settings = {
    'private-key': 'sk_of_this_test',
    account: 'ACC',
    'recovery-delay-ms': '0',
    'timeout-ms': '20000',
  };
  await service.enablePayments(me.account, { ...settings, 'base-url': url }, 'koin');
  koin.inject({ on: 'create', do: 'drop-after', times: 100_000 });
  return me;
}

const inDoubt = async (me: Merchant): Promise<string> =>
  idOf(await me.send('POST', PAYMENTS, { ...order(), bill_to: { ...order().bill_to, country: 'BR' } }));
