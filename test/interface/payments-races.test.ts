import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import { assertRefused, infoOf, type Merchant, newMerchant, processed } from './payment-requests.ts';

const shared = shareService();

const ROUNDS = inScope({ usual: 3, long: 8 });
const MANY = 10;

describe('concurrent operations on one payment', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service, { 'timeout-ms': '5000' });
  });
  after(() => shared.close());

  const won = (responses: readonly TestResponse[]): TestResponse[] => {
    for (const response of responses.filter(({ status }) => status !== 200)) {
      const isBusy = response.status === 409;
      const path = isBusy ? '' : response.json.data.path;
      const code = isBusy ? 'operation_in_progress' : response.json.data.code;
      assert.ok(['operation_in_progress', 'payment_state', 'invalid_field'].includes(code), response.text);
      assertRefused(response, { status: isBusy ? 409 : 400, code, path });
      if (isBusy) assert.ok(Number(response.headers['retry-after']) > 0);
    }
    const winners = responses.filter(({ status }) => status === 200);
    for (const response of winners) processed(response);
    return winners;
  };
  const times = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => act(index)));
  const operationsOf = async (id: string): Promise<number> => {
    const sql = 'select count(*) as rows from payment_operations where payment = ? and id <> payment';
    return 1 + Number((await service.core.database.read(sql, id))[0]?.['rows']);
  };
  /** How often something happened at once, over some payments. */
  const rounds = async (act: () => Promise<void>): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) await act();
  };

  test('capture and void: one of them', () =>
    rounds(async () => {
      const id = await me.opened();
      const responses = await times(MANY, (index) => me.move(index % 2 === 0 ? 'capture' : 'void', id));
      const winners = won(responses);
      assert.equal(winners.length, 1, responses.map(({ text }) => text).join('\n'));
      const { status, amounts } = await me.standing(id);
      assert.equal(status, infoOf(winners[0] ?? assert.fail()).status);
      assert.equal(amounts['collected_amount'], status === 'Collected' ? 125.5 : 0);
      assert.ok(['Collected', 'Voided'].includes(status));
      assert.equal(await operationsOf(id), 2);
    }));

  for (const [move, status] of [
    ['capture', 'Collected'],
    ['void', 'Voided'],
  ] as const) {
    test(`${move}, ten times: one of them`, () =>
      rounds(async () => {
        const id = await me.opened();
        assert.equal(won(await times(MANY, () => me.move(move, id))).length, 1);
        assert.equal((await me.standing(id)).status, status);
        assert.equal(await operationsOf(id), 2);
      }));
  }

  test('captures of different parts: one of them, and its amount', () =>
    rounds(async () => {
      const id = await me.opened();
      const [winner, ...others] = won(await times(MANY, (index) => me.move('capture', id, index + 1)));
      assert.equal(others.length, 0);
      const total = processed(winner ?? assert.fail()).order_info.amount_details.total_amount;
      assert.equal((await me.standing(id)).amounts['collected_amount'], total);
    }));

  test('refunds: at most the captured amount, and all successful ones are stored', () =>
    rounds(async () => {
      const id = await me.opened('payment', { amount: 100 });
      // Repeated, since concurrent refunds get 409.
      let refunds = 0;
      for (let wave = 0; wave < 20 && refunds < 3; wave++)
        refunds += won(await times(MANY, () => me.move('refund', id, 30))).length;
      assert.equal(refunds, 3);
      assert.equal(won(await times(MANY, () => me.move('refund', id, 30))).length, 0);
      assert.equal((await me.standing(id)).amounts['refunded_amount'], 90);
      assert.equal(won(await times(MANY, () => me.move('refund', id))).length, 1, 'the rest');
      assert.equal((await me.standing(id)).amounts['refunded_amount'], 100);
      assert.equal(await operationsOf(id), 5);
    }));

  test('full refunds: one of them', () =>
    rounds(async () => {
      const id = await me.opened('payment', { amount: 100 });
      assert.equal(won(await times(MANY, () => me.move('refund', id))).length, 1);
      assert.equal((await me.standing(id)).amounts['refunded_amount'], 100);
    }));

  test('concurrent payments do not affect each other', async () => {
    const ids = await times(20, () => me.opened());
    const responses = await Promise.all(ids.map((id, index) => me.move(index % 2 === 0 ? 'capture' : 'void', id)));
    assert.equal(won(responses).length, ids.length);
  });
});
