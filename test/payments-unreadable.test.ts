import { after, before, test } from 'node:test';
import { write } from '../src/storage/database.ts';
import { type House, startHouse } from './house.ts';
import { newMerchant, TIMES_OUT } from './interface/payments.ts';
import { eventually } from './interface/vault.ts';

/** More than recovery looks at in one go. */
const MANY = 70;

let house: House;
before(async () => {
  house = await startHouse();
});
after(() => house?.stop());

test('payments that cannot be read do not keep the others from being recovered', async () => {
  const settings = { 'recovery-delay-ms': '60000' };
  const [damaged, healthy] = [await newMerchant(house, settings), await newMerchant(house, settings)];
  await Promise.all(Array.from({ length: MANY }, () => damaged.opened('payment', { words: '_lost' })));
  const changed = write("update payments set status = 'Collected' where account = ?", [damaged.account], MANY);
  await house.core.database.commit({ writes: [changed] });
  const payment = await healthy.opened('payment', { amount: TIMES_OUT });
  house.advance(62_000);
  await eventually(async () => (await healthy.standing(payment)).status === 'Collected');
});
