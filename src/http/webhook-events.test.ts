import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PaymentChange } from '../payments/payment-repository.ts';
import type { Status } from '../payments/transitions.ts';
import { listEventTypes } from './webhook-events.ts';

interface State {
  readonly status: Status;
  readonly refunded?: bigint;
  readonly inDoubt?: boolean;
}

const snapshot = ({ status, refunded = 0n, inDoubt = false }: State): unknown => ({
  payment: { status, refunded },
  reconciliation: { inDoubtSince: inDoubt ? 1 : undefined },
});
const change = (before: State, after: State): PaymentChange =>
  ({ before: snapshot(before), after: snapshot(after) }) as PaymentChange;

/** Changes with their events in the order of sending (webhooks.md 2). */
const CHANGES: Readonly<Record<string, readonly [State, State, readonly string[]]>> = {
  'an authorization': [{ status: 'Opened' }, { status: 'Authorized' }, ['payment.authorized']],
  'a complete payment, which was never authorized': [
    { status: 'Opened' },
    { status: 'Collected' },
    ['payment.collected'],
  ],
  'a capture': [{ status: 'Authorized' }, { status: 'Collected' }, ['payment.collected']],
  'a refusal': [{ status: 'Opened' }, { status: 'Declined' }, ['payment.declined']],
  'an error of the processor': [{ status: 'Opened' }, { status: 'ProcessorError' }, ['payment.failed']],
  'the void of an authorization': [{ status: 'Authorized' }, { status: 'Cancelled' }, ['payment.cancelled']],
  'the void of a payment': [{ status: 'Collected' }, { status: 'Voided' }, ['payment.voided']],
  'a refund of a part': [{ status: 'Collected' }, { status: 'Collected', refunded: 1n }, ['payment.refunded']],
  'a second refund': [
    { status: 'Collected', refunded: 1n },
    { status: 'Collected', refunded: 2n },
    ['payment.refunded'],
  ],
  'a payment that waits for the buyer': [{ status: 'Opened' }, { status: 'Opened' }, []],
  'a change that tells nothing new': [{ status: 'Collected' }, { status: 'Collected' }, []],
  'an outcome that becomes unknown': [{ status: 'Opened' }, { status: 'Opened', inDoubt: true }, ['payment.in_doubt']],
  'doubt that does not end': [{ status: 'Opened', inDoubt: true }, { status: 'Opened', inDoubt: true }, []],
  'doubt that ends with a status': [
    { status: 'Opened', inDoubt: true },
    { status: 'Collected' },
    ['payment.collected', 'payment.resolved'],
  ],
  'doubt that ends without a change': [
    { status: 'Authorized', inDoubt: true },
    { status: 'Authorized' },
    ['payment.resolved'],
  ],
  'a refund that was in doubt': [
    { status: 'Collected', inDoubt: true },
    { status: 'Collected', refunded: 1n },
    ['payment.refunded', 'payment.resolved'],
  ],
};

describe('the events of a payment', () => {
  for (const [what, [before, after, expected]] of Object.entries(CHANGES))
    test(`${what}: ${expected.join(', ') || 'none'}`, () =>
      assert.deepEqual(listEventTypes(change(before, after)), expected));
});
