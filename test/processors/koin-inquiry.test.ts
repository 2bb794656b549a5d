import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Json } from '../../src/kernel/json.ts';
import { KoinFixture, money, ORDER, subject, toSummary } from './koin-fixture.ts';

const fixture = new KoinFixture();
const { fake } = fixture;
const AMOUNT = { currency_code: 'BRL', value: 1500.56 };

before(() => fixture.start());
after(() => fixture.stop());
afterEach(() => assert.deepEqual(fake.violations, []));

/** Replaces KOIN's next response about an order, whatever its records contain. */
function changeOrder(reference: string, changes: { readonly [key: string]: Json }): void {
  const transaction = { reference_id: reference, amount: AMOUNT };
  const order = {
    transaction,
    order_id: fake.ledger.orders.get(reference)?.id ?? 'none',
    status: { type: 'Collected' },
  };
  fake.inject({ on: 'get', do: { status: 200, body: JSON.stringify({ ...order, ...changes }) } });
}

const entry = (amount: Json, type = 'Refunded'): Json => ({ id: `r-${type}`, amount, status: { type } });

describe('an incomplete response of KOIN', () => {
  it('about the amount is not accepted', async () => {
    const first = await fixture.authorized();
    for (const type of ['Authorized', 'Collected', 'Refunded']) {
      changeOrder(first.operationRef, { transaction: { reference_id: first.operationRef }, status: { type } });
      assert.equal(toSummary(await fixture.inquire(first)), 'unknown', type);
    }
    changeOrder(first.operationRef, { transaction: { reference_id: first.operationRef } });
    assert.equal(
      toSummary(await fixture.inquire(subject('capture', fixture.newKey(), ORDER.amount), first)),
      'unknown',
    );
    // Where no money moved, the amount is not needed.
    changeOrder(first.operationRef, { transaction: { reference_id: first.operationRef }, status: { type: 'Opened' } });
    assert.equal(toSummary(await fixture.inquire(first)), 'pending');
  });

  it('about the order is not accepted', async () => {
    const first = await fixture.authorized();
    changeOrder(first.operationRef, { order_id: null });
    assert.equal(toSummary(await fixture.inquire(first)), 'unknown');
    changeOrder(first.operationRef, { order_id: '0f8fad5b-d9cb-469f-a165-70867728950e' });
    assert.equal(toSummary(await fixture.inquire(first)), 'unknown', 'another order of our reference');
    changeOrder(first.operationRef, { transaction: { amount: AMOUNT } });
    assert.equal(toSummary(await fixture.inquire(first)), 'unknown', 'no reference');
  });

  it('about a refund is not accepted', async () => {
    const first = await fixture.collected();
    const refundBody = { refund_id: 'r-1', status: { type: 'Refunded' } };
    fake.inject({ on: 'refund', do: { status: 200, body: JSON.stringify(refundBody) } });
    assert.equal(toSummary(await fixture.refund(first, money(100n))), 'unknown');
    const refund = subject('payment_refund', fixture.newKey(), money(100n));
    for (const amount of [null, { currency_code: 'BRL', value: '1' }, { currency_code: '?', value: 1 }]) {
      for (const type of ['Refunded', 'InProgress']) {
        changeOrder(first.operationRef, { refunds: [entry(amount, type)] });
        assert.equal(toSummary(await fixture.inquire(refund, first)), 'unknown', `${type} ${JSON.stringify(amount)}`);
      }
      changeOrder(first.operationRef, { refunds: [entry(amount)] });
      assert.equal(toSummary(await fixture.abandon(first)), 'unknown', JSON.stringify(amount));
    }
    changeOrder(first.operationRef, { refunds: [entry({ currency_code: 'USD', value: 1 })] });
    assert.equal(toSummary(await fixture.inquire(refund, first)), 'not-found', 'the same number in another currency');
    assert.equal(fake.requests.filter((kind) => kind === 'refund').length, 1, 'nothing is given back blindly');
  });
});

describe('a collected order with a time-out reversal', () => {
  it('counts as reversed when KOIN calls it Refunded and lists no refund', async () => {
    const first = await fixture.collected();
    const before = fake.requests.length;
    changeOrder(first.operationRef, { status: { type: 'Refunded' } });
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
    assert.deepEqual(fake.requests.slice(before), ['get']);
    changeOrder(first.operationRef, { status: { type: 'Refunded' } });
    assert.equal(toSummary(await fixture.inquire(first)), 'approved, captured', 'it was collected all the same');
  });

  it('is in doubt while another refund is in progress', async () => {
    const first = await fixture.collected(money(1000n));
    fake.inject({ on: 'refund', do: { becomes: 'InProgress' } });
    await fixture.refund(first, money(300n));
    assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
    const [theirs, ours] = fake.ledger.orders.get(first.operationRef)?.refunds ?? [];
    assert.deepEqual([theirs?.units, ours?.units], [30_000n, 70_000n]);
    assert.equal(toSummary(await fixture.abandon(first)), 'unknown');
    if (theirs !== undefined) theirs.status = 'Refunded';
    assert.equal(toSummary(await fixture.abandon(first)), 'reversed');
  });
});
