import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../fixtures/shared-service.ts';
import type { TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  FAILED,
  type FollowOn,
  followOnRequest,
  idOf,
  infoOf,
  type Merchant,
  newMerchant,
  OPENED,
  PAYMENTS,
  processed,
  REJECTED,
  TIMES_OUT,
  UNKNOWN,
  waitForRecovery,
} from './payment-requests.ts';
import { newCaller } from './vault-requests.ts';

const shared = shareService();

const amounts = (authorized: number, collected: number, refunded: number, currency = 'USD') => ({
  authorized_amount: authorized,
  collected_amount: collected,
  refunded_amount: refunded,
  currency,
});

describe('follow-on operations of a payment', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await shared.open();
    me = await newMerchant(service, { 'timeout-ms': '400' });
  });
  after(() => shared.close());

  const assertRest = async (id: string, status: string, expected: object): Promise<void> =>
    assert.deepEqual(await me.standing(id), { status, amounts: expected });
  /** Refused, and nothing of the payment has changed. */
  const assertNot = async (move: FollowOn, id: string, amount?: unknown, field = 'id'): Promise<void> => {
    const [before, operations] = [await me.standing(id), await me.operations()];
    const code = field === 'id' ? 'payment_state' : 'invalid_field';
    assertRefused(await me.move(move, id, amount), { code, path: field });
    assert.deepEqual(await me.standing(id), before);
    assert.equal(await me.operations(), operations);
  };

  describe('capture', () => {
    for (const [what, amount, collected] of [
      ['in full, without amount', undefined, 125.5],
      ['in full, with it', 125.5, 125.5],
      ['in part', '100.25', 100.25],
      ['of the smallest part', 0.01, 0.01],
    ] as const) {
      test(`${what}, and only once`, async () => {
        const id = await me.opened();
        processed(await me.move('capture', id, amount), 'success', 'Capture successful');
        await assertRest(id, 'Collected', amounts(125.5, collected, 0));
        await assertNot('capture', id);
        await assertNot('capture', id, 0.01);
        await assertNot('void', id);
      });
    }

    test('is not above the authorized amount', async () => {
      const id = await me.opened();
      for (const amount of [125.51, '126', 999_999_999_999])
        await assertNot('capture', id, amount, 'capture_info.amount_details.total_amount');
      processed(await me.move('capture', id, '125.50'));
    });

    test('with an empty capture_info is for the entire amount', async () => {
      const id = await me.opened();
      const body = { ...followOnRequest('capture'), capture_info: {} };
      processed(await me.send('POST', `${PAYMENTS}/${id}/capture`, body));
      await assertRest(id, 'Collected', amounts(125.5, 125.5, 0));
    });

    test('can be repeated after a decline or a processor error', async () => {
      for (const [triggers, status] of [
        ['_capture_decline', 'Fail'],
        ['_capture_error', 'Error'],
        ['_capture_unsent', 'Error'],
      ] as const) {
        const id = await me.opened('authorization', { triggers });
        processed(await me.move('capture', id), status);
        await assertRest(id, 'Authorized', amounts(125.5, 0, 0));
        processed(await me.move('capture', id, 25));
        await assertRest(id, 'Collected', amounts(125.5, 25, 0));
      }
    });
  });

  describe('refund', () => {
    test('in parts, up to the captured amount', async () => {
      const id = await me.opened('payment', { amount: 100 });
      for (const [amount, refunded] of [
        [60, 60],
        ['39.99', 99.99],
      ] as const) {
        processed(await me.move('refund', id, amount), 'success', 'Refund successful');
        await assertRest(id, 'Collected', amounts(100, 100, refunded));
      }
      await assertNot('refund', id, 0.02, 'refund_info.amount_details.total_amount');
      const last = await me.move('refund', id);
      assert.equal(processed(last).order_info.amount_details.total_amount, 0.01);
      await assertNot('refund', id);
      await assertNot('refund', id, 0.01);
      await assertRest(id, 'Collected', amounts(100, 100, 100));
    });

    test('up to the captured amount, not the authorized one', async () => {
      const id = await me.opened();
      processed(await me.move('capture', id, 50));
      await assertNot('refund', id, 50.01, 'refund_info.amount_details.total_amount');
      processed(await me.move('refund', id));
      await assertRest(id, 'Collected', amounts(125.5, 50, 50));
    });

    test('by the id of the capture or of the payment', async () => {
      const id = await me.opened();
      const capture = idOf(await me.move('capture', id));
      assert.equal(infoOf(await me.move('refund', capture, 25)).payment_id, id);
      processed(await me.move('refund', id, 25));
      await assertRest(capture, 'Collected', amounts(125.5, 125.5, 50));
    });

    test('that is declined does not reduce the refundable amount', async () => {
      const id = await me.opened('payment', { triggers: '_refund_decline' });
      processed(await me.move('refund', id), 'Fail', 'Refund declined');
      processed(await me.move('refund', id));
      await assertNot('refund', id);
    });

    test('is rejected before a capture', async () => {
      for (const options of [{}, { amount: OPENED }])
        await assertNot('refund', await me.opened('authorization', options));
    });
  });

  describe('void', () => {
    test('of an authorization', async () => {
      const id = await me.opened();
      processed(await me.move('void', id), 'success', 'Authorization void successful');
      await assertRest(id, 'Voided', amounts(125.5, 0, 0));
      for (const move of ['capture', 'refund', 'void'] as const) await assertNot(move, id);
    });

    test('of an open payment cancels it', async () => {
      for (const type of ['authorization', 'payment'] as const) {
        const id = await me.opened(type, { amount: OPENED });
        await assertNot('capture', id);
        processed(await me.move('void', id), 'success', 'Authorization void successful');
        await assertRest(id, 'Cancelled', amounts(0, 0, 0));
        for (const move of ['capture', 'refund', 'void'] as const) await assertNot(move, id);
      }
    });

    test('is rejected for a collected payment', async () => assertNot('void', await me.opened('payment')));
  });

  test('declined and failed payments are final', async () => {
    for (const amount of [REJECTED, FAILED]) {
      for (const type of ['authorization', 'payment'] as const) {
        const id = idOf(await me.order(type, { amount }));
        for (const move of ['capture', 'refund', 'void'] as const) await assertNot(move, id);
      }
    }
  });

  describe('while the outcome is unknown', () => {
    const assertBusy = async (id: string): Promise<void> => {
      for (const move of ['capture', 'refund', 'void'] as const) {
        const response = await me.move(move, id);
        assertRefused(response, { status: 409, code: 'operation_in_progress' });
        assert.match(response.json.message, /^operation in progress/);
        assert.match(String(response.headers['retry-after']), /^[1-9][0-9]*$/);
      }
    };

    for (const [type, status, paid] of [
      ['authorization', 'Authorized', 0],
      ['payment', 'Collected', TIMES_OUT],
    ] as const) {
      test(`of ${type}, the payment is Opened and accepts no operation; then it is ${status}`, async () => {
        const response = await me.order(type, { amount: TIMES_OUT });
        assert.equal(response.json.status, 'success');
        const id = idOf(response);
        await assertBusy(id);
        await assertRest(id, 'Opened', amounts(0, 0, 0));
        await waitForRecovery(service, async () => (await me.standing(id)).status !== 'Opened');
        await assertRest(id, status, amounts(TIMES_OUT, paid, 0));
        processed(await me.move(type === 'payment' ? 'refund' : 'void', id));
      });
    }

    for (const [move, type, fault, status, expected] of [
      ['capture', 'authorization', 'timeout', 'Collected', amounts(125.5, 100, 0)],
      ['capture', 'authorization', 'lost', 'Authorized', amounts(125.5, 0, 0)],
      ['refund', 'payment', 'timeout', 'Collected', amounts(125.5, 125.5, 100)],
      ['refund', 'payment', 'lost', 'Collected', amounts(125.5, 125.5, 0)],
      ['void', 'authorization', 'timeout', 'Voided', amounts(125.5, 0, 0)],
      ['void', 'authorization', 'lost', 'Voided', amounts(125.5, 0, 0)],
    ] as const) {
      test(`of a ${move} that was ${fault === 'lost' ? 'never processed' : 'processed'}`, async () => {
        const id = await me.opened(type, { triggers: `_${move}_${fault}` });
        const before = await me.standing(id);
        const response = await me.move(move, id, move === 'void' ? undefined : 100);
        processed(response, 'Error', UNKNOWN);
        assert.equal(infoOf(response).status, before.status);
        await assertBusy(id);
        assert.deepEqual(await me.standing(id), before);
        const isResolved = async () => infoOf(await me.show(idOf(response))).operation_status !== 'in_progress';
        await waitForRecovery(service, isResolved);
        await assertRest(id, status, expected);
      });
    }
  });

  describe('ids', () => {
    const UNKNOWN_IDS = [
      'nothing',
      'aahlqkczgvaaatqbhwzmfnrcx',
      '{{x:transaction}}',
      '4111111111111111',
      "' or 1=1 --",
      '..',
      '%00',
    ];
    const assertUnknown = async (id: string, who = me): Promise<void> => {
      for (const move of ['capture', 'refund', 'void'] as const) {
        const response = await who.send('POST', `${PAYMENTS}/${encodeURIComponent(id)}/${move}`, followOnRequest(move));
        assertRefused(response, { code: 'unknown_payment', path: 'id' }, id);
      }
      assertRefused(await who.show(id), { code: 'unknown_payment', path: 'id' }, id);
    };

    test('that are unknown are 400', async () => {
      for (const id of UNKNOWN_IDS) await assertUnknown(id);
    });

    test('of another account or the other environment are 400, also those of the processor', async () => {
      const authorization = await me.order();
      const capture = await me.move('capture', idOf(authorization));
      const refund = await me.move('refund', idOf(authorization), 1);
      const other = await newMerchant(service);
      const production = await newCaller(service, { account: me.account, environment: 'production' });
      await service.core.transactions.run({ origin: { actor: { type: 'operator', name: 'test' } } }, (transaction) =>
        service.core.activations.enable(
          transaction,
          { account: me.account, environment: 'production' },
          { processor: 'simulator', settings: {}, force: true },
        ),
      );
      for (const response of [authorization, capture, refund]) {
        for (const id of [idOf(response), infoOf(response).request_id]) {
          processed(await me.show(id));
          await assertUnknown(id, other);
          await assertUnknown(id, {
            ...other,
            ...production,
            show: (id) => production.send('GET', `${PAYMENTS}/transactions/${id}`),
          });
        }
      }
      await assertRest(idOf(authorization), 'Collected', amounts(125.5, 125.5, 1));
    });

    test('of operations other than the payment are not accepted, nor are those of the processor', async () => {
      const authorization = await me.order();
      const capture = await me.move('capture', idOf(authorization), 100);
      const refund = await me.move('refund', idOf(authorization), 1);
      const voided = await me.move('void', await me.opened());
      const tries: readonly (readonly [FollowOn, string])[] = [
        ['capture', idOf(capture)],
        ['void', idOf(capture)],
        ['refund', idOf(refund)],
        ['void', idOf(refund)],
        ['void', idOf(voided)],
        ...[authorization, capture, refund].map((response) => ['refund', infoOf(response).request_id] as const),
      ];
      for (const [move, id] of tries)
        assertRefused(await me.move(move, id), { code: 'unknown_payment', path: 'id' }, id);
      await assertRest(idOf(authorization), 'Collected', amounts(125.5, 100, 1));
    });

    test('of every operation can be looked up, those of the vault and of the processor', async () => {
      const declined = await me.order('payment', { amount: REJECTED });
      const failed = await me.order('payment', { amount: FAILED });
      const opened = await me.order('authorization', { amount: OPENED });
      const voided = await me.move('void', idOf(opened));
      const refused = await me.move('capture', await me.opened('authorization', { triggers: '_capture_decline' }));
      for (const response of [declined, failed, opened, voided, refused]) {
        const { transaction_id: ours, request_id: theirs } = infoOf(response);
        const shown = await me.show(ours);
        assert.equal(infoOf(shown).transaction_id, ours);
        assert.equal((await me.show(theirs)).text, shown.text);
      }
    });
  });
});
