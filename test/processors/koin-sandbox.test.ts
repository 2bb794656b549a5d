import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { KoinFixture, money, ORDER, toSummary } from './koin-fixture.ts';

describe('the fake KOIN in sandbox mode', () => {
  const sandbox = new KoinFixture({ byAmount: true });
  before(() => sandbox.start());
  after(() => sandbox.stop());

  const rows = [
    [5000n, 'approved'],
    [5001n, 'Declined Rejected'],
    [10_000n, 'Declined Rejected'],
    [15_000n, 'Declined InsufficientFunds'],
    [20_000n, 'Declined InvalidCard'],
    [25_000n, 'Declined InvalidData'],
    [30_000n, 'Declined Referred'],
    [35_000n, 'Declined ExpiredCard'],
    [40_000n, 'Declined StolenCard'],
    [45_000n, 'ProcessorError ConnectionRejected'],
    [50_000n, 'Declined Antifraud'],
    [55_000n, 'ProcessorError Undefined'],
    [59_999n, 'ProcessorError InvalidConfiguration'],
    [65_000n, 'pending'],
    [65_001n, 'unknown'],
    [70_001n, 'approved'],
  ] as const;
  for (const [units, expected] of rows) {
    it(`a ${units} amount is ${expected}`, async () => {
      const order = { ...ORDER, amount: money(units * 100n) };
      assert.equal(toSummary(await sandbox.authorize(sandbox.newKey(), order, {}, sandbox.fake.nextWait())), expected);
      assert.deepEqual(sandbox.fake.violations, []);
    });
  }
});
