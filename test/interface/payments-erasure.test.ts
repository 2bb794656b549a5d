import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import {
  idOf,
  type Merchant,
  newMerchant,
  OPENED,
  type OrderOptions,
  TIMES_OUT,
  waitForRecovery,
} from './payment-requests.ts';
import { CAPTURES, dataOf } from './vault-requests.ts';

const CHD = { card: '4111111111111111', name: 'Ana Lopez', exp: '12/29', cvv: '123' };
const TRACK_2 = '4111111111111111=29121010000012345678';

describe('sensitive authentication data of a capture', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service, { 'timeout-ms': '3000' });
  });
  after(() => service.stop());

  const byCapture = (id: string) => {
    const mark = `{{${id}:transaction}}`;
    return { number: mark, expiration_date: mark, security_code: mark };
  };
  const holds = async (id: string, who = me): Promise<boolean> => {
    const { pan, exp, cvv } = dataOf(await who.send('GET', `${CAPTURES}/${id}`));
    assert.deepEqual([pan, exp], [CHD.card, CHD.exp], 'card and expiry stay');
    return cvv === CHD.cvv;
  };
  const used = async (id: string, options: OrderOptions = {}, who = me): Promise<string> =>
    idOf(await who.order('authorization', { card: byCapture(id), ...options }));

  for (const [outcome, amount] of [
    ['approval', 1],
    ['rejection', 5001],
    ['decline for want of funds', 10_001],
    ['decline by antifraud', 45_001],
  ] as const) {
    for (const type of ['authorization', 'payment'] as const) {
      test(`is erased after ${outcome} of ${type}`, async () => {
        const id = await me.capture({ chd: CHD });
        assert.equal(await holds(id), true);
        await me.order(type, { card: byCapture(id), amount });
        assert.equal(await holds(id), false);
      });
    }
  }

  for (const [outcome, amount] of [
    ['Undefined', 50_001],
    ['ConnectionRejected', 40_001],
    ['InvalidConfiguration', 55_001],
  ] as const) {
    test(`remains after the processor error ${outcome}, so that a retry can use it`, async () => {
      const id = await me.capture({ chd: CHD });
      await used(id, { amount });
      assert.equal(await holds(id), true);
      await used(id);
      assert.equal(await holds(id), false);
    });
  }

  test('remains while the payment is open, and is erased when it is voided', async () => {
    const id = await me.capture({ chd: CHD });
    const payment = await used(id, { amount: OPENED });
    assert.equal(await holds(id), true);
    await me.move('void', payment);
    assert.equal(await holds(id), false);
  });

  test('remains while the outcome is unknown, and is erased when it is known', async () => {
    const id = await me.capture({ chd: CHD });
    const payment = await used(id, { amount: TIMES_OUT });
    assert.equal(await holds(id), true);
    await waitForRecovery(service, async () => (await me.standing(payment)).status === 'Authorized');
    assert.equal(await holds(id), false);
  });

  test('is erased with track 2, and the next payment reports that it is missing', async () => {
    const id = await me.capture({ chd: { track_2: TRACK_2, cvv: '123' } });
    await used(id);
    const { track_2, cvv, pan } = dataOf(await me.send('GET', `${CAPTURES}/${id}`));
    assert.deepEqual([track_2, cvv, pan], [undefined, undefined, CHD.card]);
    const again = await me.order('authorization', { card: byCapture(id) });
    assert.deepEqual([again.status, again.json.data.path], [400, 'card.security_code']);
    const { security_code: _, ...withoutCode } = byCapture(id);
    assert.equal((await me.order('authorization', { card: withoutCode })).json.status, 'success');
  });

  test('is erased in every capture that contributed to the card', async () => {
    const [one, two] = [await me.capture({ chd: CHD }), await me.capture({ chd: CHD })];
    const card = {
      number: `{{${one}:transaction}}`,
      expiration_date: '12/29',
      security_code: `{{${two}:transaction}}`,
    };
    await me.order('authorization', { card });
    assert.deepEqual([await holds(one), await holds(two)], [false, false]);
  });

  test('is erased in no other capture of the card', async () => {
    const [one, other] = [await me.capture({ chd: CHD }), await me.capture({ chd: CHD })];
    await used(one);
    assert.equal(await holds(other), true);
  });

  test('remains when the request is rejected', async () => {
    const id = await me.capture({ chd: CHD });
    assert.equal((await me.order('authorization', { card: byCapture(id), amount: 0 })).status, 400);
    assert.equal(await holds(id), true);
  });

  test('remains with erase-sad=false, and is erased for other accounts', async () => {
    const own = await newMerchant(service, { 'erase-sad': 'false' });
    const [retained, erased] = [await own.capture({ chd: CHD }), await me.capture({ chd: CHD })];
    await used(retained, {}, own);
    await used(retained, { amount: 5001 }, own);
    await used(erased);
    assert.deepEqual([await holds(retained, own), await holds(erased)], [true, false]);
  });

  test('is erased without an error when the capture is deleted or expires during the call to the processor', async () => {
    const patient = await newMerchant(service, { 'timeout-ms': '30000' });
    for (const end of ['deleted', 'expired'] as const) {
      const id = await patient.capture({ chd: CHD, ttl: 1 });
      const headers = { 'idempotency-key': `capture-${end}` };
      // The rest passes while the processor is asked, and is less than `timeout-ms`.
      if (end === 'expired') service.advance(50_000);
      const before = await patient.operations();
      const answered = patient.order('authorization', { card: byCapture(id), triggers: '_delay_200' }, headers);
      await eventually(async () => (await patient.operations()) > before);
      if (end === 'deleted') await patient.send('DELETE', `${CAPTURES}/${id}`);
      else service.advance(10_000);
      const response = await answered;
      assert.equal(response.json.message, 'Authorization successful', response.text);
      assert.equal((await patient.standing(idOf(response))).status, 'Authorized');
    }
  });

  test('is erased by concurrent payments with one capture', async () => {
    const id = await me.capture({ chd: CHD });
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => me.order('authorization', { card: byCapture(id) })),
    );
    for (const response of responses) {
      if (response.status === 200) assert.equal(response.json.status, 'success', response.text);
      else assert.deepEqual([response.status, response.json.data.path], [400, 'card.security_code']);
    }
    assert.ok(responses.some(({ status }) => status === 200));
    assert.equal(await holds(id), false);
  });
});
