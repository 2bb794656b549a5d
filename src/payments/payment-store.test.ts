import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isPostgres } from '../../test/fixtures/database.ts';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { type Merchant, newMerchant } from '../../test/interface/payment-requests.ts';
import type { Database, Value } from '../storage/database.ts';
import { listOperations, loadPayment } from './payment-store.ts';

/** A condition on all columns of an index: the rows of other payments are not read. */
const BY_INDEX =
  /^SEARCH (?:payments|payment_operations) USING INDEX \w+ \(account=\? AND environment=\? AND \w+=\?\)$/;

const skip = isPostgres && 'PostgreSQL explains plans in another form, and by statistics';

describe('the reading of payments', { skip }, () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service);
  });
  after(() => service.stop());

  test('costs the same however many payments there are: an index finds each row', async () => {
    const { database, keyring } = service.core;
    const read: { sql: string; values: readonly Value[] }[] = [];
    const observed: Database = Object.create(database, {
      read: {
        value: (sql: string, ...values: Value[]) => {
          read.push({ sql, values });
          return database.read(sql, ...values);
        },
      },
    });
    const tenant = { account: me.account, environment: 'sandbox' } as const;
    const payment = await loadPayment(observed, keyring, tenant, await me.opened('authorization'));
    assert.ok(payment !== undefined);
    await listOperations(observed, keyring, payment);
    assert.equal(await loadPayment(observed, keyring, tenant, 'unknown'), undefined);
    assert.equal(read.length, 6);
    for (const { sql, values } of read) {
      const [plan] = await database.read(`explain query plan ${sql}`, ...values);
      assert.match(String(plan?.['detail']), BY_INDEX, sql);
    }
  });
});
