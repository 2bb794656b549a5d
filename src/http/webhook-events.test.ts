import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NOW, withCompleted } from '../../test/fixtures/payment-fixtures.ts';
import { formatSession } from '../capture-sessions/capture-sessions.ts';
import type { Session, SessionResult } from '../capture-sessions/session.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { BRANDS, type Brand } from '../kernel/card-brand.ts';
import { type Currency, MAX_MINOR_UNIT_DIGITS } from '../kernel/currency.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { truncatePan } from '../kernel/pan.ts';
import type { PaymentSnapshot } from '../payments/payment.ts';
import type { PaymentChange } from '../payments/payment-repository.ts';
import { parseDetails } from '../payments/processors/cybersource/response.ts';
import { idAt } from '../payments/processors/koin/fields.ts';
import { REASONS, type Reason, STATUSES, type Status } from '../payments/transitions.ts';
import { expiringCertificate, expiringKey } from '../webhooks/expiry-marks.ts';
import { formatBody, type Outbox, type WebhookEvent } from '../webhooks/outbox.ts';
import { DISABLED_REASONS, EVENT_TYPES, type EventType, TEST_TYPE } from '../webhooks/webhook.ts';
import { listEventTypes, paymentEvents } from './webhook-events.ts';

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

const TENANT: Tenant = { account: 'acc_1', environment: 'production' };
/** JSON writes a lone surrogate as six bytes. No other character that a text may have takes more. */
const WIDEST = '\ud800';
const UUID = '00000000-0000-4000-8000-000000000000';

const longestOf = (words: readonly string[]): string =>
  words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');

/** Returns whether an adapter takes the text as an id or a code from a response of its processor. */
function isAccepted(text: string): boolean {
  const processorInformation = { responseCode: text, approvalCode: text, transactionId: text, avs: { code: text } };
  const details = parseDetails({ id: text, reconciliationId: text, processorInformation });
  return [idAt({ id: text }, 'id'), ...Object.values(details)].some((value) => value !== undefined);
}

/** A payment whose fields are as long as they can be, after an operation with the longest name. */
function largestPayment(status: Status, isInDoubt: boolean): PaymentSnapshot {
  let accepted = 'a';
  while (accepted.length < LIMITS.webhookBodyBytes / 4 && isAccepted(`${accepted}a`)) accepted += 'a';
  assert.ok(accepted.length >= 60, `the adapters take ${accepted.length} characters, which proves nothing`);
  const id = 'a'.repeat(25);
  const most = 10n ** BigInt(LIMITS.amountIntegerDigits + MAX_MINOR_UNIT_DIGITS) - 1n;
  const referenceCode = WIDEST.repeat(LIMITS.referenceCodeCharacters);
  return withCompleted(
    {
      id,
      status,
      reason: longestOf([...REASONS.Declined, ...REASONS.ProcessorError]) as Reason,
      // Its minor unit has the most digits.
      currency: 'CLF' as Currency,
      authorized: most,
      collected: most,
      refunded: most,
      referenceCode,
    },
    {
      id: 'b'.repeat(25),
      paymentId: id,
      type: 'authorization_void',
      referenceCode,
      details: {
        processorId: accepted,
        responseCode: accepted,
        reconciliationId: accepted,
        approvalCode: accepted,
        networkId: accepted,
        avs: { code: accepted, codeRaw: accepted },
      },
    },
    { inDoubtSince: isInDoubt ? 1 : undefined },
  );
}

function largestSession(status: 'completed' | 'failed'): object {
  const result: SessionResult = {
    result: { token: { token: UUID, scheme: 7 } },
    card: {
      brand: longestOf(BRANDS) as Brand,
      card: truncatePan('4'.repeat(LIMITS.panDigits.max)),
      exp: '12/2040',
    },
  };
  const session: Pick<Session, 'id' | 'tenant' | 'attempts' | 'createdAt' | 'expiresAt' | 'result'> = {
    id: `cs_${'a'.repeat(24)}`,
    tenant: TENANT,
    attempts: LIMITS.sessionAttempts,
    createdAt: NOW,
    expiresAt: NOW,
    result,
  };
  return formatSession({ session: session as Session, status, endedAt: NOW });
}

/** The largest data of all types but those of payments. */
const LARGEST_DATA: Readonly<Record<Exclude<EventType, `payment.${string}`> | typeof TEST_TYPE, object>> = {
  'capture_session.completed': largestSession('completed'),
  'capture_session.failed': largestSession('failed'),
  'token.deleted': { token: UUID },
  'key.expiring': expiringKey(TENANT, {
    id: `key_${'a'.repeat(14)}`,
    name: WIDEST.repeat(LIMITS.apiKeyNameCharacters),
    expiresAt: NOW,
  }).event.data,
  'certificate.expiring': expiringCertificate(TENANT, 'processor', NOW).event.data,
  'webhook.disabled': { id: `wh_${'a'.repeat(24)}`, reason: longestOf(DISABLED_REASONS) },
  [TEST_TYPE]: {},
};

describe('the body of an event', () => {
  test('of every type has at most 20 kB, however long its fields are', async () => {
    const sizes = new Map<string, number>();
    const measure = (type: string, data: object): void => {
      const { byteLength } = formatBody(type, NOW, TENANT, data);
      sizes.set(type, Math.max(byteLength, sizes.get(type) ?? 0));
    };
    for (const [type, data] of Object.entries(LARGEST_DATA)) measure(type, data);
    const outbox = {
      isWanted: async () => true,
      emit: async (_transaction: Transaction, _tenant: Tenant, event: WebhookEvent) => measure(event.type, event.data),
    };
    const write = paymentEvents(outbox as unknown as Outbox);
    for (const status of STATUSES)
      for (const inDoubt of [true, false]) {
        // Doubt begins or ends, and with it comes a refund.
        const before = snapshot({ status: 'Opened', inDoubt: !inDoubt }) as PaymentSnapshot;
        await write({} as Transaction, TENANT, { before, after: largestPayment(status, inDoubt) });
      }
    assert.deepEqual([...sizes.keys()].sort(), [...EVENT_TYPES, TEST_TYPE].sort());
    for (const [type, size] of sizes) assert.ok(size <= LIMITS.webhookBodyBytes, `${type} has ${size} bytes`);
  });
});
