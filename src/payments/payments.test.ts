import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildOrder, FIRST, NOW, RULES, USD } from '../../test/fixtures/payment-fixtures.ts';
import { parsePan } from '../kernel/pan.ts';
import { applyEvent } from './apply-event.ts';
import type { ResolvedCard } from './card-source.ts';
import { toRequestedPayment } from './payments.ts';

const pan = parsePan('4111111111111111') ?? assert.fail('a card number');
const card = { pan, expiry: { month: '12', year: '29' }, securityCode: '987', holder: 'Ana Lopez' };
const resolved: ResolvedCard = { card, isInClear: true, captureIds: ['capture-1'] };
const amount = { minor: 9_007_199_254_740_993n, currency: USD };
const requested = (capture: boolean) =>
  toRequestedPayment(FIRST, 'simulator', buildOrder({ amount, capture, referenceCode: 'A-1' }), resolved);

describe('a requested payment', () => {
  it('has the requested details, and the captures whose sensitive data is erased later', () => {
    assert.deepEqual(requested(false), {
      id: FIRST,
      type: 'authorization',
      processor: 'simulator',
      currency: USD,
      amount: amount.minor,
      referenceCode: 'A-1',
      card: { truncated: '411111******1111' },
      captureIds: ['capture-1'],
    });
    assert.equal(requested(true).type, 'payment');
  });

  it('contains only the first six and last four digits of the card', () => {
    const opened = applyEvent(
      undefined,
      { type: 'requested', order: requested(true), operationRef: 'A-1.first', requestedBy: undefined },
      NOW,
      RULES,
    );
    const text = JSON.stringify(opened, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    assert.match(text, /411111\*{6}1111/);
    assert.doesNotMatch(text, /4111111111111111|987"|Ana|12\/29/);
  });
});
