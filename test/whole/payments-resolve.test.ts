import { after, before, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { idOf, type Merchant, newMerchant, order, PAYMENTS } from '../interface/payment-requests.ts';
import { FakeCyberSource } from '../processors/fake-cybersource.ts';

const OUTAGE_MS = 2 * 3_600_000;
const KEYS = { merchantId: 'mymid', keyId: 'kid-1', sharedSecret: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=' };
const SETTLED = { status: '', http: 400, reason: 'TRANSACTION_ALREADY_SETTLED' } as const;

let service: TestService;
let fake: FakeCyberSource;
let me: Merchant;

before(async () => {
  service = await startTestService();
  fake = new FakeCyberSource({ ...KEYS, clock: service.now });
  const { url } = await fake.start();
  me = await newMerchant(service);
  const settings = {
    'base-url': url,
    'merchant-id': KEYS.merchantId,
    'key-id': KEYS.keyId,
    'shared-secret': KEYS.sharedSecret,
    'recovery-delay-ms': '0',
  };
  await service.enablePayments(me.account, settings, 'cybersource');
  service.advance(5000);
});
after(async () => {
  await service.stop();
  await fake.stop();
});

test('a capture that was settled while the processor was unavailable, and can no longer be reversed, is Collected', async () => {
  const id = idOf(await me.send('POST', PAYMENTS, order()));
  fake.inject({ on: 'capture', fault: 'drop-after' });
  for (const on of ['search', 'details', 'timeout-void'] as const)
    fake.inject({ on, fault: 'drop-before', times: 100_000 });
  await me.move('capture', id);
  service.advance(OUTAGE_MS);
  await eventually(async () => fake.requests.includes('timeout-void'));
  fake.heal();
  fake.inject({ on: 'timeout-void', fault: 'verdict', verdict: SETTLED, times: 100_000 });
  service.advance(OUTAGE_MS);
  await eventually(async () => (await me.standing(id)).status === 'Collected');
});
