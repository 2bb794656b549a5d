import { after, before, test } from 'node:test';
import { type House, startHouse } from './house.ts';
import { idOf, type Merchant, newMerchant, order, PAYMENTS } from './interface/payments.ts';
import { eventually } from './interface/vault.ts';
import { CyberSourceStandIn } from './processors/cybersource-stand-in.ts';

const OUTAGE_MS = 2 * 3_600_000;
const KEYS = { merchantId: 'mymid', keyId: 'kid-1', sharedSecret: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=' };
const SETTLED = { status: '', http: 400, reason: 'TRANSACTION_ALREADY_SETTLED' } as const;

let house: House;
let standIn: CyberSourceStandIn;
let me: Merchant;

before(async () => {
  house = await startHouse();
  standIn = new CyberSourceStandIn({ ...KEYS, clock: house.now });
  const { url } = await standIn.start();
  me = await newMerchant(house);
  const settings = {
    'base-url': url,
    'merchant-id': KEYS.merchantId,
    'key-id': KEYS.keyId,
    'shared-secret': KEYS.sharedSecret,
    'recovery-delay-ms': '0',
  };
  await house.enablePayments(me.account, settings, 'cybersource');
  house.advance(5000);
});
after(async () => {
  await house.stop();
  await standIn.stop();
});

test('a capture that was settled while the processor was away, and cannot be undone any more, is Collected', async () => {
  const id = idOf(await me.send('POST', PAYMENTS, order()));
  standIn.inject({ on: 'capture', fault: 'drop-after' });
  for (const on of ['search', 'details', 'timeout-void'] as const)
    standIn.inject({ on, fault: 'drop-before', times: 100_000 });
  await me.move('capture', id);
  house.advance(OUTAGE_MS);
  await eventually(async () => standIn.requests.includes('timeout-void'));
  standIn.heal();
  standIn.inject({ on: 'timeout-void', fault: 'verdict', verdict: SETTLED, times: 100_000 });
  house.advance(OUTAGE_MS);
  await eventually(async () => (await me.standing(id)).status === 'Collected');
});
