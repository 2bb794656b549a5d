import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  followOnRequest,
  type Merchant,
  newMerchant,
  order,
  PAYMENTS,
  processed,
  TIMES_OUT,
} from './payment-requests.ts';
import { PAYMENT_LINES, patternOf } from './request-lines.ts';
import { newCaller } from './vault-requests.ts';

const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const MIB = 1024 * 1024;
const METHODS = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY'.split(' ');
const DENIED = {
  status: 'Fail',
  message: 'Access denied.',
  data: { code: 'access_denied', description: 'Access denied.', path: '' },
};

describe('access to payments', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service, { 'timeout-ms': '400' });
  });
  after(() => service.stop());

  const of = (who: { account: string }, environment: 'sandbox' | 'production' = 'sandbox') => ({
    account: who.account,
    environment,
  });
  const assertDenied = ({ status, json, text }: TestResponse): void => {
    assert.equal(status, 403, text);
    assert.deepEqual(json, DENIED);
  };
  const accountOf = async (key: string, environment: 'sandbox' | 'production' = 'sandbox') => {
    const { enabled, processor } = (await service.call('GET', '/v1/account', { key, environment })).json.data;
    return [enabled.payments, processor];
  };

  test('every endpoint of payments is in the list of this test, with its permission', () => {
    const served = ENDPOINTS.filter(({ family }) => family === 'payments');
    assert.deepEqual(
      PAYMENT_LINES.map((line) => `${line.method} ${patternOf(line)} ${line.permission}`).sort(),
      served.map(({ method, path, permission }) => `${method} ${path} ${permission}`).sort(),
    );
  });

  for (const { method, path, permission, body } of PAYMENT_LINES) {
    describe(`${method} ${path}`, () => {
      const send = (key: string | undefined, more: object = {}): Promise<TestResponse> =>
        service.call(method, path, { body, ...(key !== undefined && { key }), ...more });

      test(`requires ${permission} only`, async () => {
        const { account } = me;
        const only = await service.newKey(account, { permissions: PERMISSIONS.filter((each) => each === permission) });
        const others = await service.newKey(account, {
          permissions: PERMISSIONS.filter((each) => each !== permission),
        });
        assert.ok([200, 400].includes((await send(only.secret)).status));
        assertDenied(await send(others.secret));
      });

      test('has the same 403 for every cause', async () => {
        const { account } = me;
        const keys = [
          undefined,
          '',
          'cv_sandbox_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
          (await service.newKey(account, { environment: 'production' })).secret,
          (await service.newKey(account, { allow: ['203.0.113.0/24'] })).secret,
          (await service.newKey(account, { expiresAt: service.now() - 1 })).secret,
        ];
        for (const key of keys) {
          for (const more of [{}, { body: 'no json' }, { headers: { 'idempotency-key': '' } }])
            assertDenied(await send(key, more));
        }
        assertDenied(await send(undefined, { headers: { 'ft-access-key': me.key } }));
      });

      test('accepts its method with and without slash, and no others', async () => {
        for (const other of METHODS) {
          for (const slash of ['', '/']) {
            const response = await service.call(other, path + slash);
            if (other === method) assertDenied(response);
            else {
              assert.equal(response.headers.allow, method, other);
              if (other === 'HEAD') assert.equal(response.status, 405);
              else assertRefused(response, { status: 405, code: 'method_not_allowed' });
            }
          }
        }
        const responses = await Promise.all(
          ['', '/', '?a=b', '/?a=/x'].map((end) => service.call(method, path + end, { key: me.key, body })),
        );
        assert.equal(new Set(responses.map(({ status }) => status)).size, 1);
      });

      test('is not on the console listener', async () => {
        assert.equal((await send(me.key, { environment: 'console' })).status, 404);
      });

      if (body !== undefined) {
        test('rejects other media types, encodings and sizes', async () => {
          for (const type of ['text/plain', 'application/xml', '', 'application/json5'])
            assertRefused(await send(me.key, { headers: { 'content-type': type } }), {
              status: 415,
              code: 'unsupported_media_type',
            });
          for (const encoding of ['gzip', 'identity', ''])
            assertRefused(await send(me.key, { headers: { 'content-encoding': encoding } }), {
              status: 415,
              code: 'unsupported_media_type',
            });
          const filled = (size: number): string => {
            const start = JSON.stringify({ ...(body as object), filling: '' }).slice(0, -2);
            return `${start}${'x'.repeat(size - start.length - 2)}"}`;
          };
          assert.ok([200, 400].includes((await send(me.key, { body: filled(MIB) })).status));
          assertRefused(await send(me.key, { body: filled(MIB + 1) }), { status: 413, code: 'body_too_large' });
          assert.equal(
            (await send(me.key, { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })).status,
            (await send(me.key)).status,
          );
        });

        test('checks the Idempotency-Key before the body', async () => {
          for (const wrong of ['', 'a b', 'x'.repeat(256)]) {
            const response = await send(me.key, { body: 'no json', headers: { 'idempotency-key': wrong } });
            assertRefused(response, { path: 'Idempotency-Key' });
          }
        });
      }
    });
  }

  test('similar paths are 404', async () => {
    const id = await me.opened();
    for (const path of [
      '/v1/payment',
      `${PAYMENTS}/${id}`,
      `${PAYMENTS}/transactions`,
      `${PAYMENTS}/${id}/Capture`,
      `${PAYMENTS}/${id}/capture/x`,
      '/V1/payments',
    ])
      for (const method of ['GET', 'POST'])
        assert.equal((await service.call(method, path, { key: me.key })).status, 404, path);
  });

  describe('an account without payments', () => {
    test('gets the same 403 for every POST, without an effect, and the audit log has the cause', async () => {
      const other = await newCaller(service);
      assert.deepEqual(await accountOf(other.key), [false, null]);
      for (const { method, path, body } of PAYMENT_LINES.filter(({ body: sent }) => sent !== undefined)) {
        const id = `denied-${path.length}`;
        assertDenied(await other.send(method, path, body, { 'x-request-id': id }));
        assert.ok(await isAudited(id));
      }
      assertDenied(await other.send('POST', PAYMENTS, order('payment'), { 'idempotency-key': 'once' }));
      assert.deepEqual([await other.count('tokens'), await other.count('idempotency')], [0, 0]);
      assertRefused(await other.send('GET', `${PAYMENTS}/transactions/x`), { code: 'unknown_payment', path: 'id' });
    });

    const isAudited = async (id: string): Promise<boolean> => {
      for await (const { record } of exportJournal(service.core.database)) {
        const { action, outcome, request_id } = JSON.parse(record);
        if (request_id === id && action === 'access.denied') return outcome === 'payments_not_enabled';
      }
      return false;
    };

    test('gets errors of fields first, and never of unknown tokens', async () => {
      const other = await newCaller(service);
      assertRefused(await other.send('POST', PAYMENTS, order('payment', { amount: 0 })), {
        path: 'order_info.amount_details.total_amount',
      });
      const card = { number: '{{unknown:detokenize}}', expiration_date: '12/29' };
      assertDenied(await other.send('POST', PAYMENTS, order('payment', { card })));
    });

    test('can use payments immediately when they are enabled', async () => {
      const other = await newCaller(service);
      assertDenied(await other.send('POST', PAYMENTS, order()));
      await service.enablePayments(other.account);
      processed(await other.send('POST', PAYMENTS, order()));
      assert.deepEqual(await accountOf(other.key), [true, 'simulator']);
    });

    test('has payments in one environment and not in the other', async () => {
      const production = await newCaller(service, { account: me.account, environment: 'production' });
      assert.deepEqual(await accountOf(me.key), [true, 'simulator']);
      assert.deepEqual(await accountOf(production.key, 'production'), [false, null]);
      assertDenied(await production.send('POST', PAYMENTS, order()));
    });
  });

  test('production rejects the simulator unless --force is given', async () => {
    const own = await newCaller(service, { environment: 'production' });
    const enable = (force: boolean) =>
      service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.activations.enable(transaction, of(own, 'production'), {
          processor: 'simulator',
          settings: {},
          force,
        }),
      );
    await assert.rejects(enable(false), /--force/);
    assertDenied(await own.send('POST', PAYMENTS, order()));
    await enable(true);
    processed(await own.send('POST', PAYMENTS, order('payment')));
    assert.deepEqual(await accountOf(own.key, 'production'), [true, 'simulator']);
  });

  describe('when payments are disabled', () => {
    test('every POST is 403 within 5 seconds, the lookup works, and operations in progress are completed', async () => {
      const own = await newMerchant(service, { 'timeout-ms': '400' });
      const paid = await own.opened('payment');
      const authorized = await own.opened();
      const doubtful = await own.opened('authorization', { amount: TIMES_OUT });
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.activations.disable(transaction, of(own)),
      );
      service.advance(5000);
      assertDenied(await own.order());
      for (const [move, id] of [
        ['capture', authorized],
        ['void', authorized],
        ['refund', paid],
      ] as const)
        assertDenied(await own.send('POST', `${PAYMENTS}/${id}/${move}`, followOnRequest(move)));
      assert.deepEqual(
        [(await own.standing(paid)).status, (await own.standing(authorized)).status],
        ['Collected', 'Authorized'],
      );
      assert.deepEqual(await accountOf(own.key), [false, null]);
      service.advance(6500);
      for (let wait = 0; (await own.standing(doubtful)).status === 'Opened' && wait < 100; wait++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal((await own.standing(doubtful)).status, 'Authorized');
      await service.enablePayments(own.account);
      processed(await own.move('capture', authorized));
      processed(await own.move('refund', paid));
    });

    test('a stored response does not allow a new request', async () => {
      const own = await newMerchant(service);
      const headers = { 'idempotency-key': 'kept' };
      const first = await own.order('payment', {}, headers);
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.activations.disable(transaction, of(own)),
      );
      service.advance(5000);
      assert.equal((await own.order('payment', {}, headers)).text, first.text);
      assertDenied(await own.order('payment', {}, { 'idempotency-key': 'other' }));
      assert.equal(await own.operations(), 1);
    });
  });

  test('a suspended account gets 403 everywhere until it is resumed', async () => {
    const own = await newMerchant(service);
    const id = await own.opened();
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.suspend(transaction, own.account),
    );
    service.advance(5000);
    assertDenied(await own.order());
    assertDenied(await own.show(id));
    for (const move of ['capture', 'refund', 'void'] as const) assertDenied(await own.move(move, id));
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.resume(transaction, own.account),
    );
    service.advance(5000);
    processed(await own.move('capture', id));
  });

  test('too many requests are 429 in the envelope of payments', async () => {
    const own = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_PER_KEY: '1' } });
    try {
      const other = await newMerchant(own);
      const responses = await Promise.all(Array.from({ length: 10 }, () => other.order()));
      const refused = responses.filter(({ status }) => status === 429);
      assert.ok(refused.length > 0);
      for (const response of refused) {
        assertRefused(response, { status: 429, code: 'rate_limited' });
        assert.match(String(response.headers['retry-after']), /^[1-9][0-9]*$/);
      }
      assert.equal(await other.operations(), responses.length - refused.length);
    } finally {
      await own.stop();
    }
  });
});
