import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  idOf,
  infoOf,
  type Merchant,
  newMerchant,
  OPENED,
  processed,
  TIMES_OUT,
} from './payment-requests.ts';
import { CAPTURES, dataOf } from './vault-requests.ts';

const DAY = 86_400_000;
const SHORT = { 'opened-expiry': '1s', 'authorization-expiry': '1s' };

describe('the expiry of payments', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const becomes = (who: Merchant, id: string, status: string): Promise<void> =>
    eventually(async () => (await who.standing(id)).status === status);

  /** A whole look at what is due is over: something that was due was dealt with. */
  async function looked(): Promise<void> {
    const own = await newMerchant(service, SHORT);
    const id = await own.opened();
    service.advance(1000);
    await becomes(own, id, 'Voided');
  }

  for (const [what, type, amount, status, authorized] of [
    ['Opened authorization', 'authorization', OPENED, 'Cancelled', 0],
    ['Opened payment', 'payment', OPENED, 'Cancelled', 0],
    ['Authorized payment', 'authorization', 125.5, 'Voided', 125.5],
  ] as const) {
    test(`changes an ${what} to ${status}, and the lookup reports the expiry`, async () => {
      const me = await newMerchant(service, SHORT);
      const first = await me.order(type, { amount });
      const [id, before] = [idOf(first), infoOf(first).status];
      assert.equal((await me.standing(id)).status, before);
      assert.equal(infoOf(await me.show(id)).operation, type);
      service.advance(1000);
      await becomes(me, id, status);
      const shown = await me.show(id);
      const { operation, transaction_id, request_id, reason } = infoOf(shown);
      assert.deepEqual([operation, transaction_id, reason], ['expiry', id, undefined]);
      assert.equal((await me.show(request_id)).text, shown.text);
      assert.deepEqual((await me.standing(id)).amounts, {
        authorized_amount: authorized,
        collected_amount: 0,
        refunded_amount: 0,
        currency: 'USD',
      });
      for (const move of ['capture', 'refund', 'void'] as const)
        assertRefused(await me.move(move, id), { code: 'payment_state', path: 'id' });
    });
  }

  test('is not reported for a payment that the merchant voided', async () => {
    const me = await newMerchant(service, SHORT);
    const id = await me.opened();
    const voided = await me.move('void', id);
    service.advance(5000);
    await looked();
    for (const each of [id, idOf(voided)]) assert.notEqual(infoOf(await me.show(each)).operation, 'expiry');
    assert.equal((await me.standing(id)).status, 'Voided');
  });

  test('does not change collected, declined and failed payments', async () => {
    const me = await newMerchant(service, SHORT);
    const paid = await me.opened('payment');
    const captured = await me.opened();
    await me.move('capture', captured, 10);
    const ends = [
      idOf(await me.order('authorization', { amount: 5001 })),
      idOf(await me.order('payment', { amount: 50_001 })),
    ];
    service.advance(60 * DAY);
    await looked();
    const seen = [];
    for (const id of [paid, captured, ...ends]) seen.push((await me.standing(id)).status);
    assert.deepEqual(seen, ['Collected', 'Collected', 'Declined', 'ProcessorError']);
    processed(await me.move('refund', paid));
  });

  for (const [what, amount, life, status] of [
    ['Opened', OPENED, DAY, 'Cancelled'],
    ['Authorized', 1, 7 * DAY, 'Voided'],
  ] as const) {
    test(`is after ${life / DAY} days by default for a payment that is ${what}`, async () => {
      const me = await newMerchant(service);
      const id = await me.opened('authorization', { amount });
      service.advance(life - 60_000);
      await looked();
      assert.equal((await me.standing(id)).status, what);
      service.advance(60_000);
      await becomes(me, id, status);
    });
  }

  test('of an authorization counts from its approval, not from its request', async () => {
    const me = await newMerchant(service, { 'timeout-ms': '400', 'opened-expiry': '1h', 'authorization-expiry': '1h' });
    const id = await me.opened('authorization', { amount: TIMES_OUT });
    service.advance(1_800_000);
    await becomes(me, id, 'Authorized');
    service.advance(2_400_000);
    await looked();
    assert.equal((await me.standing(id)).status, 'Authorized');
    service.advance(1_260_000);
    await becomes(me, id, 'Voided');
  });

  test('and a capture at the same instant exclude each other', async () => {
    const me = await newMerchant(service, SHORT);
    const ids = await Promise.all(Array.from({ length: 12 }, () => me.opened()));
    service.advance(1000);
    for (const id of ids) {
      const response = await me.move('capture', id);
      if (response.status === 200) processed(response);
      else if (response.status === 409) assertRefused(response, { status: 409, code: 'operation_in_progress' });
      else assertRefused(response, { code: 'payment_state', path: 'id' });
      await eventually(async () => (await me.standing(id)).status !== 'Authorized');
      const { status, amounts } = await me.standing(id);
      const isCaptured = response.status === 200;
      assert.deepEqual([status, amounts['collected_amount']], isCaptured ? ['Collected', 125.5] : ['Voided', 0]);
      assert.equal(infoOf(await me.show(id)).operation, isCaptured ? 'authorization' : 'expiry');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  test('is repeated until its reversal is answered', async () => {
    const me = await newMerchant(service, { ...SHORT, 'timeout-ms': '400', 'recovery-delay-ms': '0' });
    const id = await me.opened('authorization', { triggers: '_void_lost' });
    service.advance(1000);
    await eventually(async () => infoOf(await me.show(id)).status === 'Voided' || (await me.operations()) === 2);
    service.advance(5000);
    await becomes(me, id, 'Voided');
    assert.equal(infoOf(await me.show(id)).operation, 'expiry');
    assert.equal(await me.operations(), 2, 'one authorization and one expiry');
  });

  test('continues when payments are disabled, with the settings of that time', async () => {
    const me = await newMerchant(service, SHORT);
    const id = await me.opened();
    const operator = { actor: { type: 'operator' as const, name: 'test' } };
    await service.core.transactions.run({ origin: operator }, (transaction) =>
      service.core.activations.disable(transaction, { account: me.account, environment: 'sandbox' }),
    );
    service.advance(5000);
    await becomes(me, id, 'Voided');
  });

  test('erases the sensitive data of a capture for an open payment', async () => {
    const me = await newMerchant(service, SHORT);
    const capture = await me.capture();
    const card = { number: '4111111111111111', expiration_date: '12/29', security_code: `{{${capture}:transaction}}` };
    const id = await me.opened('authorization', { card, amount: OPENED });
    const cvv = async () => dataOf(await me.send('GET', `${CAPTURES}/${capture}`)).cvv;
    assert.equal(await cvv(), '123');
    service.advance(1000);
    await becomes(me, id, 'Cancelled');
    assert.equal(await cvv(), undefined);
  });
});
