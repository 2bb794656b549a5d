import { after, before, test } from 'node:test';
import { write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newMerchant, TIMES_OUT } from '../interface/payment-requests.ts';

/** More than recovery looks at in one go. */
const MANY = 70;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.stop());

test('payments that cannot be unsealed do not block the recovery of others', async () => {
  const settings = { 'recovery-delay-ms': '60000' };
  const [damaged, healthy] = [await newMerchant(service, settings), await newMerchant(service, settings)];
  await Promise.all(Array.from({ length: MANY }, () => damaged.opened('payment', { triggers: '_lost' })));
  const changed = write("update payments set status = 'Collected' where account = ?account", [damaged.account], MANY);
  await service.core.database.commit({ writes: [changed] });
  const payment = await healthy.opened('payment', { amount: TIMES_OUT });
  service.advance(62_000);
  await eventually(async () => (await healthy.standing(payment)).status === 'Collected');
});
