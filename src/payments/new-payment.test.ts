import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildOrder, buildPayment, FIRST, NOW, USD } from '../../test/fixtures/payment-fixtures.ts';
import { DAY, HOUR } from '../kernel/clock.ts';
import { parsePan } from '../kernel/pan.ts';
import type { ResolvedCard } from './card-source.ts';
import { newPayment } from './new-payment.ts';
import type { ConfiguredProcessor } from './payment-activations.ts';
import type { Order, Processor } from './processor.ts';
import { COMMON_SETTINGS, effectiveSettings } from './settings.ts';

const pan = parsePan('4111111111111111') ?? assert.fail('a card number');
const card = { pan, expiry: { month: '12', year: '29' }, securityCode: '987', holder: 'Ana Lopez' };
const read: ResolvedCard = { card, isInClear: true, captureIds: ['capture-1'] };
const order = buildOrder({ amount: { minor: 9_007_199_254_740_993n, currency: USD }, referenceCode: 'A-1' });
const configured = (given: Readonly<Record<string, string>> = {}): ConfiguredProcessor => ({
  name: 'simulator',
  processor: {} as Processor,
  settings: effectiveSettings(COMMON_SETTINGS, given),
});
const made = (changes: Partial<Order> = {}, given = {}) =>
  newPayment(FIRST, NOW, configured(given), { ...order, ...changes }, read);

describe('a new payment', () => {
  it('is Opened, its first operation under way, and nothing is moved yet', () => {
    const { payment, operation } = made();
    const { reversalStarted: isGivenUp, ...rest } = buildPayment({
      amount: order.amount.minor,
      captureIds: ['capture-1'],
    });
    assert.deepEqual(payment, { ...rest, operationInProgress: FIRST, createdAt: NOW, expiresAt: NOW + DAY });
    assert.equal(isGivenUp, undefined);
    assert.equal(operation.id, payment.id);
    assert.equal(operation.state, 'in_progress');
    assert.equal(operation.type, 'authorization');
    assert.equal(operation.amount, order.amount.minor);
    assert.equal(operation.referenceCode, 'A-1');
  });

  it('captures in one when that is asked', () => {
    const { payment, operation } = made({ capture: true });
    assert.deepEqual([payment.type, operation.type], ['payment', 'payment']);
  });

  it('may stay Opened as long as the settings say', () => {
    assert.equal(made({}, { 'opened-expiry': '2h' }).payment.expiresAt, NOW + 2 * HOUR);
  });

  it('holds nothing of the card but its first six and last four digits', () => {
    const { payment } = made();
    assert.deepEqual(payment.card, { truncated: '411111******1111' });
    const text = JSON.stringify(made(), (_, value) => (typeof value === 'bigint' ? String(value) : value));
    assert.doesNotMatch(text, /4111111111111111|987|Ana|12\/29/);
  });
});
