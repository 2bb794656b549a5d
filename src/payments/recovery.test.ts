import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { buildPayment, NOW } from '../../test/fixtures/payment-fixtures.ts';
import type { Database } from '../storage/database.ts';
import type { PaymentActivations } from './payment-activations.ts';
import type { PaymentRepository } from './payment-repository.ts';
import { Recovery } from './recovery.ts';

const MANY = 40;
const rows = Array.from({ length: MANY }, (_, index) => ({
  account: `account-${index}`,
  environment: 'sandbox',
  id: buildPayment().id,
  due_at: NOW,
}));

test('a stop waits for the running jobs and starts no others, however many are due', async () => {
  let jobs = 0;
  const recovery = new Recovery({
    // The list of due payments never ends.
    database: { read: async () => rows } as unknown as Database,
    activations: { processors: ['simulator'] } as unknown as PaymentActivations,
    repository: {
      load: async () => {
        jobs++;
        await new Promise((resolve) => setImmediate(resolve));
      },
    } as unknown as PaymentRepository,
    payments: {} as never,
    idempotency: {} as never,
    transactions: {} as never,
    time: trustedTime(() => NOW),
    failed: (error) => assert.fail(String(error)),
  });
  await recovery.runOnce();
  assert.ok(jobs > 0);
  await recovery.stop();
  const before = jobs;
  await recovery.runOnce();
  assert.equal(jobs, before);
});
