import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR } from '../../src/kernel/clock.ts';
import { PaymentQueries } from '../../src/payments/payment-queries.ts';
import { sumPayments } from '../../src/payments/payment-totals.ts';
import { commitOrThrow } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { findTotalsFaults, listPaymentIds } from '../fixtures/payment-totals.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { FAILED, type Merchant, newMerchant, OPENED, processed, REJECTED, TIMES_OUT } from './payment-requests.ts';

describe('the totals of payments', { timeout: 120_000 }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const faultsOf = async ({ account }: Merchant): Promise<string[]> => {
    const { database } = service.core;
    const queries = new PaymentQueries(service.core);
    const tenant = { account, environment: 'sandbox' } as const;
    const ids = await listPaymentIds(database, account);
    const payments = await Promise.all(ids.map(async (id) => (await queries.detail(tenant, id)).payment));
    return findTotalsFaults(database, payments, account);
  };

  const sumsOf = async ({ account }: Merchant) =>
    (await sumPayments(service.core.database, { account, environment: 'sandbox' }, 0, service.now() + HOUR)).sort(
      (one, other) => (one.currency + one.status < other.currency + other.status ? -1 : 1),
    );

  test('are exact for amounts that no floating-point number holds', async () => {
    const me = await newMerchant(service);
    const amount = 999_999_999_999.99;
    const ids = [];
    for (let round = 0; round < 3; round++) ids.push(await me.opened('payment', { amount, currency: 'COP' }));
    await me.opened('authorization', { amount: 0.01, currency: 'COP' });
    processed(await me.move('refund', ids[0] ?? '', 0.01));
    const none = { reason: undefined, refunded: 0n };
    assert.deepEqual(await sumsOf(me), [
      { ...none, currency: 'COP', status: 'Authorized', number: 1, amount: 1n, collected: 0n },
      {
        ...none,
        currency: 'COP',
        status: 'Collected',
        number: 3,
        amount: 299_999_999_999_997n,
        collected: 299_999_999_999_997n,
        refunded: 1n,
      },
    ]);
    const largest = await newMerchant(service);
    for (let round = 0; round < 2; round++)
      await largest.opened('payment', { amount: '999999999999.9999', currency: 'CLF' });
    assert.deepEqual(
      (await sumsOf(largest)).map(({ collected }) => collected),
      [19_999_999_999_999_998n],
    );
  });

  test('follow a payment from its first result on, in the hour in which it began', async () => {
    const me = await newMerchant(service);
    const id = await me.opened('authorization', { amount: 10 });
    await me.order('authorization', { amount: OPENED });
    const before = service.now();
    service.advance(2 * HOUR);
    processed(await me.move('capture', id, 8));
    processed(await me.move('refund', id, 3));
    await me.order('authorization', { amount: REJECTED });
    const tenant = { account: me.account, environment: 'sandbox' } as const;
    const { database } = service.core;
    const started = await sumPayments(database, tenant, before - HOUR, before + HOUR);
    assert.deepEqual(
      started.map(({ status, number, amount, collected, refunded }) => [status, number, amount, collected, refunded]),
      [['Collected', 1, 1000n, 800n, 300n]],
    );
    const later = await sumPayments(database, tenant, before + HOUR, service.now() + 1);
    assert.deepEqual(
      later.map(({ status, reason, number }) => [status, reason, number]),
      [['Declined', 'Rejected', 1]],
    );
  });

  test('equal the payments after random operations, recovery included', async () => {
    const seed = Number(process.env['CARDVAULT_TEST_SEED'] ?? Date.now() % 2 ** 31);
    const seeded = new SeededRandom(seed);
    const me = await newMerchant(service, { 'timeout-ms': '500', 'recovery-delay-ms': '500' });
    const others = await newMerchant(service);
    const client = async (): Promise<void> => {
      for (let step = 0; step < 8; step++) {
        const ids = await listPaymentIds(service.core.database, me.account);
        const kind = ids.length === 0 ? 'order' : seeded.pick(['order', 'capture', 'refund', 'void', 'wait'] as const);
        const amount = seeded.pick([12.5, 100, REJECTED, FAILED, OPENED, TIMES_OUT]);
        if (kind === 'wait') service.advance(seeded.between(1, HOUR));
        else if (kind === 'order')
          await me.order(seeded.pick(['authorization', 'payment']), {
            amount,
            currency: seeded.pick(['USD', 'CLP', 'KWD']),
          });
        else await me.move(kind, seeded.pick(ids), kind !== 'void' && seeded.percent(50) ? 5 : undefined);
      }
    };
    await Promise.all([...Array.from({ length: 6 }, client), others.opened('payment')]);
    /** Totals and payments are two reads, and recovery or expiry may change a payment between them. */
    const assertAgreement = async (merchant: typeof me, when: string): Promise<void> => {
      let faults: readonly string[] = ['never compared'];
      const hasAgreed = async (): Promise<boolean> => {
        faults = await faultsOf(merchant);
        return faults.length === 0;
      };
      await eventually(hasAgreed).catch(() => undefined);
      assert.deepEqual(faults, [], `with the seed ${seed}${when}`);
    };
    await assertAgreement(me, '');
    const open = 'select id from payments where account = ?account and operation_in_progress is not null';
    await eventually(async () => {
      service.advance(6500);
      return (await service.core.database.read(open, me.account)).length === 0;
    });
    await assertAgreement(me, ', after recovery');
    await assertAgreement(others, ', of another account');
  });

  test('are found to differ when a row is changed', async () => {
    const me = await newMerchant(service);
    await me.opened('payment');
    assert.deepEqual(await faultsOf(me), []);
    const sql = 'update payment_totals set amount_low = amount_low + 1 where account = ?account';
    await commitOrThrow(service.core.database, { writes: [{ sql, rows: [[me.account]] }] });
    assert.equal((await faultsOf(me)).length, 2);
  });
});
