import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { KoinFault } from './fake-koin.ts';
import { type FaultRow, name, UNKNOWN_OUTCOME_FAULTS } from './koin-fault-table.ts';
import { KoinFixture, money, ORDER, subject, toSummary } from './koin-fixture.ts';

/** It was executed, and KOIN cannot reverse it. */

const fixture = new KoinFixture();
const { fake } = fixture;

/** A request that hangs is cut off when it hangs, not after a fixed time. */
const deadlineFor = (fault: KoinFault): AbortSignal | undefined =>
  fault === 'hang-before' || fault === 'hang-after' ? fake.nextWait() : undefined;

before(() => fixture.start());
after(() => fixture.stop());
afterEach(() => assert.deepEqual(fake.violations, []));

describe('a capture at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-amount', 'unknown', 'done'],
    ['wrong-currency', 'unknown', 'done'],
    ['wrong-reference', 'unknown', 'done'],
    [{ reportedStatus: 'Authorized' }, 'unknown', 'done'],
    [{ reportedStatus: 'Voided' }, 'unknown', 'done'],
    // The order itself then decides.
    [{ reportedStatus: 'Failed', reason: 'Rejected' }, 'approved', 'done'],
    ...[400, 404, 409].map((status): FaultRow => [{ status }, 'Declined InvalidData', 'not done']),
    [{ status: 401 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [fault, expected, done] of rows) {
    it(`that meets ${name(fault)} is ${expected}`, async () => {
      const authorized = await fixture.authorized();
      fake.inject({ on: 'capture', do: fault });
      assert.equal(toSummary(await fixture.capture(authorized, deadlineFor(fault))), expected);
      const capture = subject('capture', fixture.newKey(), ORDER.amount);
      assert.equal(toSummary(await fixture.inquire(capture, authorized)), done === 'done' ? 'approved' : 'not-found');
      assert.equal(
        toSummary(await fixture.abandon(capture, authorized)),
        done === 'done' ? 'not-reversible' : 'not-found',
      );
    });
  }

  it('that is refused while the order cannot be read is unknown', async () => {
    for (const fault of ['error-before', 'garbage', { status: 404 }] as const) {
      const authorized = await fixture.authorized();
      fake.inject({ on: 'capture', do: { status: 400 } });
      fake.inject({ on: 'get', do: fault });
      assert.equal(toSummary(await fixture.capture(authorized)), 'unknown');
    }
  });

  it('of an order that was voided or failed at KOIN has failed', async () => {
    const authorized = await fixture.authorized();
    const capture = subject('capture', fixture.newKey(), ORDER.amount);
    fake.setStatus(authorized.operationRef, 'Voided');
    assert.equal(toSummary(await fixture.inquire(capture, authorized)), 'reversed');
    assert.equal(toSummary(await fixture.abandon(capture, authorized)), 'reversed-with-authorization');
    fake.setStatus(authorized.operationRef, 'Failed', 'Rejected');
    assert.equal(toSummary(await fixture.inquire(capture, authorized)), 'Declined Rejected');
    assert.equal(toSummary(await fixture.abandon(capture, authorized)), 'reversed-with-authorization');
    assert.equal(toSummary(await fixture.capture(authorized)), 'Declined Rejected');
  });
});

describe('a void at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-reference', 'unknown', 'done'],
    [{ reportedStatus: 'Authorized' }, 'unknown', 'done'],
    [{ reportedStatus: 'Collected' }, 'unknown', 'done'],
    ...[400, 404, 409].map((status): FaultRow => [{ status }, 'Declined InvalidData', 'not done']),
    [{ status: 403 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [fault, expected, done] of rows) {
    it(`that meets ${name(fault)} is ${expected}`, async () => {
      const authorized = await fixture.authorized();
      fake.inject({ on: 'cancel', do: fault });
      assert.equal(toSummary(await fixture.void(authorized, deadlineFor(fault))), expected);
      for (const type of ['authorization_void', 'expiry'] as const) {
        const ending = subject(type, fixture.newKey(), ORDER.amount);
        assert.equal(toSummary(await fixture.inquire(ending, authorized)), done === 'done' ? 'approved' : 'not-found');
        assert.equal(toSummary(await fixture.abandon(ending, authorized)), 'not-found');
      }
    });
  }

  it('of an order that was collected or failed is refused', async () => {
    const authorized = await fixture.collected();
    const ending = subject('authorization_void', fixture.newKey(), ORDER.amount);
    assert.equal(toSummary(await fixture.inquire(ending, authorized)), 'Declined InvalidData');
    fake.setStatus(authorized.operationRef, 'Failed', 'Referred');
    assert.equal(toSummary(await fixture.inquire(ending, authorized)), 'Declined Referred');
  });
});

describe('a refund at KOIN', () => {
  const rows: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-amount', 'unknown', 'done'],
    ['wrong-currency', 'unknown', 'done'],
    [{ reportedStatus: 'Done' }, 'unknown', 'done'],
    [{ status: 400 }, 'Declined InvalidData', 'not done'],
    [{ status: 404 }, 'Declined InvalidData', 'not done'],
    [{ status: 409 }, 'unknown', 'not done'],
    [{ status: 401 }, 'ProcessorError InvalidConfiguration', 'not done'],
  ];
  for (const [fault, expected, done] of rows) {
    it(`that meets ${name(fault)} is ${expected}`, async () => {
      const collected = await fixture.collected();
      const refund = subject('payment_refund', fixture.newKey(), money(500n));
      fake.inject({ on: 'refund', do: fault });
      assert.equal(
        toSummary(
          await fixture.refund(collected, refund.amount, { key: refund.operationId, signal: deadlineFor(fault) }),
        ),
        expected,
      );
      assert.equal(toSummary(await fixture.inquire(refund, collected)), done === 'done' ? 'approved' : 'not-found');
      assert.equal(
        toSummary(await fixture.abandon(refund, collected)),
        done === 'done' ? 'not-reversible' : 'not-found',
      );
    });
  }
});
