import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { KoinFault } from './fake-koin.ts';
import { type FaultRow, name, UNKNOWN_OUTCOME_FAULTS } from './koin-fault-table.ts';
import { KoinFixture, money, ORDER, subject, toSummary } from './koin-fixture.ts';

/** It was executed, and KOIN cannot reverse it. */

const bench = new KoinFixture();
const { standIn } = bench;

/** A request that hangs is cut off when it hangs, not after a fixed time. */
const patience = (deed: KoinFault): AbortSignal | undefined =>
  deed === 'hang-before' || deed === 'hang-after' ? standIn.nextWait() : undefined;

before(() => bench.start());
after(() => bench.stop());
afterEach(() => assert.deepEqual(standIn.violations, []));

describe('a capture at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-amount', 'unknown', 'done'],
    ['wrong-currency', 'unknown', 'done'],
    ['wrong-reference', 'unknown', 'done'],
    [{ says: 'Authorized' }, 'unknown', 'done'],
    [{ says: 'Voided' }, 'unknown', 'done'],
    // The order itself then decides.
    [{ says: 'Failed', reason: 'Rejected' }, 'approved', 'done'],
    ...[400, 404, 409].map((status): FaultRow => [{ status }, 'Declined InvalidData', 'not done']),
    [{ status: 401 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [deed, expected, done] of rows) {
    it(`that meets ${name(deed)} is ${expected}`, async () => {
      const authorized = await bench.authorized();
      standIn.inject({ on: 'capture', do: deed });
      assert.equal(toSummary(await bench.capture(authorized, patience(deed))), expected);
      const capture = subject('capture', bench.newKey(), ORDER.amount);
      assert.equal(toSummary(await bench.inquire(capture, authorized)), done === 'done' ? 'approved' : 'not-found');
      assert.equal(
        toSummary(await bench.abandon(capture, authorized)),
        done === 'done' ? 'not-reversible' : 'not-found',
      );
    });
  }

  it('that is refused while the order cannot be read is unknown', async () => {
    for (const deed of ['error-before', 'garbage', { status: 404 }] as const) {
      const authorized = await bench.authorized();
      standIn.inject({ on: 'capture', do: { status: 400 } });
      standIn.inject({ on: 'get', do: deed });
      assert.equal(toSummary(await bench.capture(authorized)), 'unknown');
    }
  });

  it('of an order that was voided or failed at KOIN has failed', async () => {
    const authorized = await bench.authorized();
    const capture = subject('capture', bench.newKey(), ORDER.amount);
    standIn.turn(authorized.operationRef, 'Voided');
    assert.equal(toSummary(await bench.inquire(capture, authorized)), 'reversed');
    assert.equal(toSummary(await bench.abandon(capture, authorized)), 'reversed-with-authorization');
    standIn.turn(authorized.operationRef, 'Failed', 'Rejected');
    assert.equal(toSummary(await bench.inquire(capture, authorized)), 'Declined Rejected');
    assert.equal(toSummary(await bench.abandon(capture, authorized)), 'reversed-with-authorization');
    assert.equal(toSummary(await bench.capture(authorized)), 'Declined Rejected');
  });
});

describe('a void at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-reference', 'unknown', 'done'],
    [{ says: 'Authorized' }, 'unknown', 'done'],
    [{ says: 'Collected' }, 'unknown', 'done'],
    ...[400, 404, 409].map((status): FaultRow => [{ status }, 'Declined InvalidData', 'not done']),
    [{ status: 403 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [deed, expected, done] of rows) {
    it(`that meets ${name(deed)} is ${expected}`, async () => {
      const authorized = await bench.authorized();
      standIn.inject({ on: 'cancel', do: deed });
      assert.equal(toSummary(await bench.void(authorized, patience(deed))), expected);
      for (const type of ['authorization_void', 'expiry'] as const) {
        const ending = subject(type, bench.newKey(), ORDER.amount);
        assert.equal(toSummary(await bench.inquire(ending, authorized)), done === 'done' ? 'approved' : 'not-found');
        assert.equal(toSummary(await bench.abandon(ending, authorized)), 'not-found');
      }
    });
  }

  it('of an order that was collected or failed is refused', async () => {
    const authorized = await bench.collected();
    const ending = subject('authorization_void', bench.newKey(), ORDER.amount);
    assert.equal(toSummary(await bench.inquire(ending, authorized)), 'Declined InvalidData');
    standIn.turn(authorized.operationRef, 'Failed', 'Referred');
    assert.equal(toSummary(await bench.inquire(ending, authorized)), 'Declined Referred');
  });
});

describe('a refund at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-amount', 'unknown', 'done'],
    ['wrong-currency', 'unknown', 'done'],
    [{ says: 'Done' }, 'unknown', 'done'],
    [{ status: 400 }, 'Declined InvalidData', 'not done'],
    [{ status: 404 }, 'Declined InvalidData', 'not done'],
    [{ status: 409 }, 'unknown', 'not done'],
    [{ status: 401 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [deed, expected, done] of rows) {
    it(`that meets ${name(deed)} is ${expected}`, async () => {
      const collected = await bench.collected();
      const refund = subject('payment_refund', bench.newKey(), money(500n));
      standIn.inject({ on: 'refund', do: deed });
      assert.equal(
        toSummary(await bench.refund(collected, refund.amount, { key: refund.operationRef, signal: patience(deed) })),
        expected,
      );
      assert.equal(toSummary(await bench.inquire(refund, collected)), done === 'done' ? 'approved' : 'not-found');
      assert.equal(toSummary(await bench.abandon(refund, collected)), done === 'done' ? 'not-reversible' : 'not-found');
    });
  }
});
