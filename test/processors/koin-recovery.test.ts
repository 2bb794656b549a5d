import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { OperationRef } from '../../src/payments/processor.ts';
import type { KoinFault } from './fake-koin.ts';
import type { KoinRequestKind } from './fake-koin-api.ts';
import { KoinFixture, money, ORDER, subject, toSummary } from './koin-fixture.ts';

const fixture = new KoinFixture();
const { fake } = fixture;
const { ledger } = fake;
const refundsOf = ({ operationRef }: OperationRef) => ledger.orders.get(operationRef)?.refunds ?? [];

before(() => fixture.start());
after(() => fixture.stop());
afterEach(() => assert.deepEqual(fake.violations, []));

describe('an inquiry at KOIN', () => {
  const BLIND: readonly KoinFault[] = [
    'drop-before',
    'error-before',
    'garbage',
    'wrong-amount',
    'wrong-currency',
    'wrong-reference',
    { reportedStatus: 'Whatever' },
    { status: 401 },
    { status: 404, body: '<html>no route</html>' },
    { status: 404, body: '{"message":"no route"}' },
    { status: 200, body: '[]' },
    { status: 200, body: '' },
  ];
  for (const fault of BLIND) {
    it(`that meets ${JSON.stringify(fault)} is unknown`, async () => {
      const first = await fixture.authorized();
      for (const [on, processorId] of [
        ['get', first.processorId],
        ['find', undefined],
      ] as const) {
        fake.inject({ on, do: fault });
        assert.equal(toSummary(await fixture.inquire({ ...first, processorId })), 'unknown', on);
      }
    });
  }

  it('is not found after a 404 of KOIN, in its error format or empty', async () => {
    const unknown = subject('authorization', fixture.newKey(), ORDER.amount);
    assert.equal(toSummary(await fixture.inquire(unknown)), 'not-found');
    fake.inject({ on: 'find', do: { status: 404, body: '' } });
    assert.equal(toSummary(await fixture.inquire(unknown)), 'not-found');
  });

  it('does not conclude from a missing order that a capture, refund or void is missing', async () => {
    const first = await fixture.authorized();
    for (const type of ['capture', 'payment_refund', 'authorization_void', 'expiry'] as const) {
      fake.inject({ on: 'get', do: { status: 404 } });
      assert.equal(
        toSummary(await fixture.inquire(subject(type, fixture.newKey(), ORDER.amount), first)),
        'unknown',
        type,
      );
    }
    fake.inject({ on: 'get', do: { status: 404 } });
    assert.equal(
      toSummary(await fixture.abandon(subject('capture', fixture.newKey(), ORDER.amount), first)),
      'unknown',
    );
  });

  it('sends nothing that changes an order', async () => {
    const first = await fixture.collected();
    const before = fake.requests.length;
    for (const type of [
      'authorization',
      'payment',
      'capture',
      'payment_refund',
      'authorization_void',
      'expiry',
    ] as const) {
      await fixture.inquire({ ...first, type }, first);
    }
    const since = new Set<KoinRequestKind>(fake.requests.slice(before));
    assert.deepEqual([...since].sort(), ['get', 'get-refund']);
  });
});

describe('a capture whose outcome is unknown', () => {
  const lost = () => subject('capture', fixture.newKey(), ORDER.amount);

  it('is the one that collected the order', async () => {
    const first = await fixture.collected();
    assert.equal(toSummary(await fixture.inquire(lost(), first)), 'approved');
    assert.equal(toSummary(await fixture.abandon(lost(), first)), 'not-reversible');
  });

  it('has had no effect when another capture collected the order', async () => {
    const first = await fixture.collected();
    assert.equal(toSummary(await fixture.inquire(lost(), first, lost())), 'not-found');
    assert.equal(toSummary(await fixture.abandon(lost(), first, lost())), 'not-found');
    fake.inject({ on: 'get', do: 'wrong-amount' });
    assert.equal(toSummary(await fixture.inquire(lost(), first, lost())), 'unknown');
    const refund = subject('payment_refund', fixture.newKey(), money(1n));
    assert.equal(toSummary(await fixture.inquire(lost(), first, refund)), 'approved', 'a refund collects nothing');
  });
});

describe('a refund whose outcome is unknown', () => {
  const unknownRefund = (minor = 500n) => subject('payment_refund', fixture.newKey(), money(minor));

  it('is found by its id where that is known', async () => {
    const first = await fixture.collected();
    const refund = unknownRefund();
    fake.inject({ on: 'refund', do: { becomes: 'InProgress' } });
    const outcome = await fixture.refund(first, refund.amount, { key: refund.operationId });
    assert.ok(outcome.kind === 'pending');
    const named = { ...refund, processorId: outcome.details.processorId };
    const [booked] = refundsOf(first);
    assert.ok(booked);
    for (const [status, expected] of [
      ['InProgress', 'pending'],
      ['Refunded', 'approved'],
      ['Failed', 'ProcessorError Undefined'],
    ] as const) {
      booked.status = status;
      assert.equal(toSummary(await fixture.inquire(named, first)), expected);
      assert.equal(toSummary(await fixture.inquire(named, { ...first, processorId: undefined })), expected);
    }
    assert.equal(toSummary(await fixture.abandon(named, first)), 'reversed', 'a failed one leaves nothing');
    booked.status = 'Refunded';
    fake.inject({ on: 'get-refund', do: 'wrong-amount' });
    assert.equal(toSummary(await fixture.inquire(named, first)), 'unknown');
    fake.inject({ on: 'get-refund', do: { status: 404 } });
    assert.equal(toSummary(await fixture.inquire(named, first)), 'unknown');
  });

  it('is the one with its amount that belongs to no other refund', async () => {
    const first = await fixture.collected();
    const earlier = unknownRefund();
    await fixture.refund(first, earlier.amount, { key: earlier.operationId });
    const named = { ...earlier, processorId: refundsOf(first)[0]?.id };
    const refund = unknownRefund();
    assert.equal(toSummary(await fixture.inquire(refund, first, named)), 'not-found');
    assert.equal(
      toSummary(await fixture.inquire(refund, first, earlier)),
      'not-found',
      'an earlier one without id counts, too',
    );
    await fixture.refund(first, money(499n));
    assert.equal(toSummary(await fixture.inquire(refund, first, named)), 'not-found', 'another amount');
    fake.inject({ on: 'refund', do: 'drop-after' });
    assert.equal(toSummary(await fixture.refund(first, refund.amount, { key: refund.operationId })), 'unknown');
    const found = await fixture.inquire(refund, first, named);
    assert.ok(found.kind === 'approved');
    assert.equal(
      found.details.processorId,
      refundsOf(first).find(({ reference }) => reference === refund.operationRef)?.id,
    );
    assert.equal(toSummary(await fixture.inquire(refund, first)), 'unknown', 'two refunds without an operation');
  });

  it('is never an earlier one that failed', async () => {
    const first = await fixture.collected();
    fake.inject({ on: 'refund', do: { becomes: 'Failed' } });
    await fixture.refund(first, money(500n));
    assert.equal(toSummary(await fixture.inquire(unknownRefund(), first)), 'not-found');
  });
});

describe('a time-out reversal of an authorization', () => {
  for (const status of ['Opened', 'Authorized'] as const) {
    it(`cancels it once when it is ${status}`, async () => {
      const first = await fixture.authorized();
      fake.setStatus(first.operationRef, status);
      assert.equal(toSummary(await fixture.abandon({ ...first, processorId: undefined })), 'reversed');
      assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
      assert.equal(ledger.orders.get(first.operationRef)?.cancels, 1);
    });
  }

  it('confirms that it failed or was reversed before', async () => {
    for (const status of ['Failed', 'Cancelled', 'Voided'] as const) {
      const first = await fixture.authorized();
      fake.setStatus(first.operationRef, status, 'Rejected');
      assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
      assert.equal(ledger.orders.get(first.operationRef)?.cancels, 0);
    }
    assert.equal(toSummary(await fixture.abandon(subject('payment', fixture.newKey(), ORDER.amount))), 'not-found');
  });

  it('refunds it when it was collected, in full and once', async () => {
    const first = await fixture.collected(money(1000n));
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
    assert.deepEqual(
      refundsOf(first).map(({ units, reference }) => [units, reference]),
      [[100_000n, `${first.operationId}-undo0`]],
    );
  });

  it('refunds the remaining amount, and under another reference after a failed refund', async () => {
    const first = await fixture.collected(money(1000n));
    await fixture.refund(first, money(300n));
    fake.inject({ on: 'refund', do: { becomes: 'Failed' } });
    assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
    const moved = refundsOf(first).filter(({ status }) => status === 'Refunded');
    assert.deepEqual(
      moved.map(({ units }) => units),
      [30_000n, 70_000n],
    );
  });

  it('remains unknown while its refund is in progress, and refunds once', async () => {
    const first = await fixture.collected();
    fake.inject({ on: 'refund', do: { becomes: 'InProgress' } });
    assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
    assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
    const [refund] = refundsOf(first);
    assert.ok(refund);
    refund.status = 'Refunded';
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
    assert.equal(refundsOf(first).length, 1);
  });

  it('is executed whatever the current amount is', async () => {
    const first = await fixture.authorized();
    assert.equal(toSummary(await fixture.abandon({ ...first, amount: money(1n) })), 'reversed');
    assert.equal(ledger.orders.get(first.operationRef)?.status, 'Voided');
  });

  for (const fault of [
    'drop-before',
    'drop-after',
    'error-after',
    'garbage',
    { status: 400 },
    { reportedStatus: 'Authorized' },
  ] as const) {
    it(`remains unknown when its cancel or refund meets ${JSON.stringify(fault)}, and completes at the next attempt`, async () => {
      for (const [on, first] of [
        ['cancel', await fixture.authorized()],
        ['refund', await fixture.collected()],
      ] as const) {
        fake.inject({ on, do: fault });
        assert.equal(toSummary(await fixture.abandon(first)), 'unknown', on);
        assert.equal(toSummary(await fixture.abandon(first)), 'reversed', on);
        const { cancels = 0, refunds = [] } = ledger.orders.get(first.operationRef) ?? {};
        assert.equal(cancels + refunds.length, 1);
      }
    });
  }

  it('changes nothing when the order cannot be read', async () => {
    for (const fault of ['error-before', 'garbage', 'wrong-reference', { status: 404, body: '<html>' }] as const) {
      const first = await fixture.authorized();
      fake.inject({ on: 'get', do: fault });
      assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
      assert.equal(ledger.orders.get(first.operationRef)?.status, 'Authorized');
    }
  });
});
