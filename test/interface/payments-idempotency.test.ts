import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { inScope } from '../scope.ts';
import {
  assertRefused,
  type FollowOn,
  followOnRequest,
  idOf,
  infoOf,
  type Merchant,
  newMerchant,
  operationsIn,
  order,
  PAYMENTS,
  processed,
  REJECTED,
  TIMES_OUT,
  UNKNOWN,
  waitForRecovery,
} from './payment-requests.ts';

const DAY = 86_400_000;

let keys = 0;
const keyed = (): { 'idempotency-key': string } => ({ 'idempotency-key': `order-${++keys}` });
const isReplay = ({ headers }: TestResponse): boolean => headers['idempotent-replayed'] === 'true';
const assertBusy = (response: TestResponse): void => {
  assertRefused(response, { status: 409, code: 'operation_in_progress' });
  assert.match(String(response.headers['retry-after']), /^[1-9][0-9]*$/);
  assert.equal(isReplay(response), false);
};

describe('the Idempotency-Key of payments', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service, { 'timeout-ms': '400' });
  });
  after(() => service.stop());

  const assertSame = async (first: TestResponse, repeat: () => Promise<TestResponse>): Promise<void> => {
    assert.equal(first.status, 200, first.text);
    assert.equal(isReplay(first), false);
    const operations = await me.operations();
    for (let count = 0; count < inScope({ usual: 1, long: 3 }); count++) {
      service.advance(1000);
      const again = await repeat();
      assert.equal(again.text, first.text);
      assert.equal(again.status, 200);
      assert.ok(isReplay(again));
    }
    assert.equal(await me.operations(), operations);
  };

  for (const type of ['authorization', 'payment'] as const) {
    for (const [outcome, amount] of [
      ['approved', 1],
      ['declined', REJECTED],
      ['failed', 50_001],
      ['opened', 60_000],
    ] as const) {
      test(`replays the first response of ${type}, ${outcome}, without a second payment`, async () => {
        const headers = keyed();
        const send = () => me.order(type, { amount }, headers);
        await assertSame(await send(), send);
        assert.notEqual(idOf(await me.order(type, { amount }, keyed())), idOf(await send()));
      });
    }
  }

  for (const [move, type] of [
    ['capture', 'authorization'],
    ['refund', 'payment'],
    ['void', 'authorization'],
  ] as const) {
    test(`replays the first response of ${move}, also when the payment has changed since`, async () => {
      const id = await me.opened(type);
      const headers = keyed();
      const send = () => me.move(move, id, move === 'void' ? undefined : 10, headers);
      const first = await send();
      await assertSame(first, send);
      await me.move('refund', id, 5);
      assert.equal((await send()).text, first.text);
    });
  }

  test('is 400 with another body, and belongs to its path', async () => {
    const headers = keyed();
    const first = await me.order('authorization', {}, headers);
    const operations = await me.operations();
    for (const other of [
      order('payment'),
      order('authorization', { amount: 125.51 }),
      `${JSON.stringify(order())} `,
      '{',
    ])
      assertRefused(await me.send('POST', PAYMENTS, other, headers), {
        code: 'idempotency_key_reused',
        path: 'Idempotency-Key',
      });
    assert.equal(await me.operations(), operations);
    processed(await me.move('capture', idOf(first), undefined, headers));
    processed(await me.move('refund', idOf(first), undefined, headers));
  });

  test('stores errors of fields, and no failure that can change with time', async () => {
    const bad = keyed();
    const refused = await me.order('authorization', { amount: 0 }, bad);
    const again = await me.order('authorization', { amount: 0 }, bad);
    assert.equal(again.text, refused.text);
    assert.deepEqual([isReplay(refused), isReplay(again)], [false, true]);
    const early = keyed();
    const id = await me.opened();
    const refund = () => me.move('refund', id, 1, early);
    for (let count = 0; count < 2; count++) assertRefused(await refund(), { code: 'payment_state', path: 'id' });
    processed(await me.move('capture', id));
    const first = await refund();
    processed(first);
    assert.equal(isReplay(first), false);
  });

  test('is the same with and without a slash at the end of the path', async () => {
    const headers = keyed();
    const [first, second] = [
      await me.send('POST', PAYMENTS, order(), headers),
      await me.send('POST', `${PAYMENTS}/`, order(), headers),
    ];
    assert.equal(second.text, first.text);
    assert.ok(isReplay(second));
  });

  test('of an operation that was rejected during another one can be used again', async () => {
    const id = await me.opened('authorization', { amount: TIMES_OUT });
    const headers = keyed();
    assertBusy(await me.move('capture', id, 1, headers));
    await waitForRecovery(service, async () => (await me.standing(id)).status === 'Authorized');
    const response = await me.move('capture', id, 1, headers);
    processed(response);
    assert.equal(isReplay(response), false);
  });

  test('of the same concurrent request: one is executed, others are 409, then replay its response', async () => {
    // Slower than the others arrive, and much quicker than what is waited for on a machine that is busy.
    const patient = await newMerchant(service, { 'timeout-ms': '20000' });
    const slow = { triggers: '_delay_300' };
    const headers = keyed();
    const operations = await patient.operations();
    const responses = await Promise.all(Array.from({ length: 10 }, () => patient.order('payment', slow, headers)));
    // One that comes late gets the answer again.
    const [first, ...others] = responses.filter((response) => response.status === 200 && !isReplay(response));
    assert.equal(others.length, 0);
    for (const response of responses.filter(({ status }) => status !== 200)) assertBusy(response);
    const again = await patient.order('payment', slow, headers);
    assert.equal(again.text, first?.text);
    assert.ok(isReplay(again));
    assert.equal(await patient.operations(), operations + 1);
  });

  test('can be used again a day after the response, not before', async () => {
    const headers = keyed();
    const send = () => me.order('authorization', { amount: REJECTED }, headers);
    const first = await send();
    service.advance(DAY - 60_000);
    assert.equal((await send()).text, first.text);
    service.advance(120_000);
    assert.notEqual(idOf(await send()), idOf(first));
  });

  describe('of an unknown outcome is 409 until it is resolved; then the response states it', () => {
    // On an account of its own, so that nothing else happens.
    let one: Merchant;
    beforeEach(async () => {
      one = await newMerchant(service, { 'timeout-ms': '400' });
    });
    const resolves = async (id: string): Promise<void> =>
      waitForRecovery(service, async () => infoOf(await one.show(id)).operation_status !== 'in_progress');

    for (const [type, options, envelope, status] of [
      ['authorization', { amount: TIMES_OUT }, 'success', 'Authorized'],
      ['payment', { amount: TIMES_OUT }, 'success', 'Collected'],
      ['authorization', { triggers: '_lost' }, 'Error', 'ProcessorError'],
    ] as const) {
      test(`${type}: ${status}`, async () => {
        const headers = keyed();
        const send = () => one.order(type, options, headers);
        const first = await send();
        assert.equal(infoOf(first).status, 'Opened');
        const operations = await one.operations();
        for (let count = 0; count < 2; count++) assertBusy(await send());
        await resolves(idOf(first));
        const response = await send();
        assert.equal(processed(response, envelope).transaction_info.status, status);
        assert.equal(idOf(response), idOf(first));
        await assertReplays(response, send, operations);
      });
    }

    for (const [move, type, fault, envelope, message, status] of [
      ['capture', 'authorization', 'timeout', 'success', 'Capture successful', 'Collected'],
      ['capture', 'authorization', 'lost', 'Error', 'Capture failed at the processor', 'Authorized'],
      ['refund', 'payment', 'timeout', 'success', 'Refund successful', 'Collected'],
      ['void', 'authorization', 'timeout', 'success', 'Authorization void successful', 'Voided'],
      ['void', 'authorization', 'lost', 'success', 'Authorization void successful', 'Voided'],
    ] as const) {
      test(`${move}, ${fault}: ${message}`, async () => {
        const id = await one.opened(type, { triggers: `_${move}_${fault}` });
        const headers = keyed();
        const send = () => one.move(move, id, undefined, headers);
        const first = await send();
        processed(first, 'Error', UNKNOWN);
        const operations = await one.operations();
        assertBusy(await send());
        assertBusy(await one.move(move, id, undefined, keyed()));
        await resolves(idOf(first));
        const response = await send();
        assert.equal(processed(response, envelope, message).transaction_info.status, status);
        assert.equal(idOf(response), idOf(first));
        await assertReplays(response, send, operations);
      });
    }

    const assertReplays = async (
      response: TestResponse,
      send: () => Promise<TestResponse>,
      operations: number,
    ): Promise<void> => {
      assert.ok(isReplay(response));
      const again = await send();
      assert.equal(again.text, response.text);
      assert.ok(isReplay(again));
      assert.equal(await one.operations(), operations);
    };

    test('and 400 for another request, before and after the resolution', async () => {
      const headers = keyed();
      const id = idOf(await one.order('payment', { amount: TIMES_OUT }, headers));
      const other = () => one.order('payment', { amount: TIMES_OUT + 1 }, headers);
      const reused = { code: 'idempotency_key_reused', path: 'Idempotency-Key' };
      assertRefused(await other(), reused);
      await resolves(id);
      assertRefused(await other(), reused);
    });

    test('for longer than a day while the outcome is unknown', async () => {
      const own = await newMerchant(service, { 'timeout-ms': '400', 'recovery-max': '7d', 'opened-expiry': '30d' });
      const headers = keyed();
      const send = () =>
        own.order('authorization', { amount: TIMES_OUT, triggers: '_inquiry_timeout_always' }, headers);
      idOf(await send());
      service.advance(2 * DAY);
      assertBusy(await send());
      assert.equal(await own.operations(), 1);
    });

    test('and can be used again a day after the resolution, not before', async () => {
      const headers = keyed();
      const send = () => one.order('payment', { amount: TIMES_OUT }, headers);
      const id = idOf(await send());
      service.advance(DAY);
      await resolves(id);
      service.advance(DAY - 120_000);
      assert.equal(idOf(await send()), id);
      service.advance(240_000);
      const anew = await send();
      assert.equal(isReplay(anew), false);
      assert.notEqual(idOf(anew), id);
    });

    test('returns the original result, whatever happened later', async () => {
      const headers = keyed();
      const send = () => one.order('payment', { amount: TIMES_OUT }, headers);
      const id = idOf(await send());
      await resolves(id);
      processed(await one.move('refund', id));
      const response = await send();
      assert.equal(processed(response).order_info.amount_details.authorized_amount, TIMES_OUT);
      assert.equal(infoOf(response).status, 'Collected');
      const card = processed(response).card;
      assert.equal(card.scheme, 7);
    });
  });

  describe('across a restart', () => {
    let directory: string;
    let own: TestService;
    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
      own = await startTestService({ directory });
    });
    after(async () => {
      await own.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    const restart = async (): Promise<void> => {
      await own.stop();
      own = await startTestService({ directory });
    };
    const post = (key: string, path: string, body: unknown, headers: Record<string, string>): Promise<TestResponse> =>
      own.call('POST', PAYMENTS + path, { key, body, headers });

    test('responses are replayed', async () => {
      const { key } = await newMerchant(own);
      const headers = keyed();
      const first = await post(key, '', order('payment'), headers);
      processed(first);
      await restart();
      const again = await post(key, '', order('payment'), headers);
      assert.equal(again.text, first.text);
      assert.ok(isReplay(again));
    });

    for (const [what, move] of [
      ['a payment', undefined],
      ['a refund', 'refund'],
    ] as const satisfies readonly (readonly [string, FollowOn | undefined])[]) {
      test(`${what} with an unknown outcome remains 409 until it is resolved, and is executed once`, async () => {
        const { account, key, opened } = await newMerchant(own, { 'timeout-ms': '400' });
        const id = move === undefined ? '' : await opened('payment', { triggers: '_refund_timeout' });
        const body = move === undefined ? order('payment', { amount: TIMES_OUT }) : followOnRequest(move, 10);
        const path = move === undefined ? '' : `/${id}/${move}`;
        const headers = keyed();
        const first = await post(key, path, body, headers);
        const transaction = idOf(first);
        const count = await operationsIn(own, account);
        await restart();
        assertBusy(await post(key, path, body, headers));
        own.advance(6500);
        await eventually(async () => (await post(key, path, body, headers)).status === 200);
        const response = await post(key, path, body, headers);
        assert.ok(isReplay(response));
        assert.equal(idOf(response), transaction);
        assert.equal(processed(response).transaction_info.status, 'Collected');
        await restart();
        assert.equal((await post(key, path, body, headers)).text, response.text);
        assert.equal(await operationsIn(own, account), count);
      });
    }
  });
});
