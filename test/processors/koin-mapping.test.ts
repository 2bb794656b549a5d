import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Json, parseJson } from '../../src/kernel/json.ts';
import { refused } from '../../src/payments/processor.ts';
import {
  FAILURE_REASONS,
  ORDER_STATUSES,
  parseOrder,
  parseOrderState,
  parseRefund,
} from '../../src/payments/processors/koin/mapping.ts';
import { money, PAN, toSummary } from './koin-fixture.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const status = (type: string, reason?: string, antifraud?: string): Json => ({
  status: { type, ...(reason === undefined ? {} : { reason }) },
  ...(antifraud === undefined ? {} : { antifraud: { type: antifraud } }),
});
const failureOf = (body: Json): string => {
  const standing = parseOrderState(body);
  assert.ok(standing?.kind === 'failed');
  return toSummary(refused(standing.reason));
};

/** Any case, blanks anywhere. */
const respelt = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.boolean(), fc.constantFrom('', '', ' ')), { minLength: name.length, maxLength: name.length })
    .map((changes) =>
      [...name]
        .map((letter, index) => {
          const [isUpper, blank] = changes[index] ?? [false, ''];
          return (isUpper ? letter.toUpperCase() : letter.toLowerCase()) + blank;
        })
        .join(''),
    );

describe('statuses of KOIN', () => {
  const expected = {
    Opened: 'opened',
    Unknown: 'opened',
    Pending: 'opened',
    Waiting: 'opened',
    Published: 'opened',
    Authorized: 'authorized',
    Collected: 'collected',
    Refunded: 'refunded',
    Cancelled: 'reversed',
    Voided: 'reversed',
    Failed: 'failed',
  };

  it('are these', () => assert.deepEqual(ORDER_STATUSES, expected));

  for (const [name, kind] of Object.entries(expected)) {
    it(`${name} is ${kind}, in every spelling`, () => {
      fc.assert(
        fc.property(respelt(name), (spelt) => parseOrderState(status(spelt))?.kind === kind),
        { numRuns: 20 },
      );
    });
  }

  it('any other status is undefined', () => {
    for (const name of ['', 'Approved', 'constructor', '__proto__', 'Authorised'])
      assert.equal(parseOrderState(status(name)), undefined);
    for (const body of [null, 1, [], {}, { status: null }, { status: { type: 1 } }])
      assert.equal(parseOrderState(body), undefined);
  });

  it('ConnectionRefused in place of a status is a failure', () =>
    assert.equal(failureOf(status('ConnectionRefused')), 'ProcessorError ConnectionRejected'));
});

describe('reasons of KOIN', () => {
  const expected = {
    Rejected: 'Declined Rejected',
    ChannelRejected: 'Declined Rejected',
    InsufficientFunds: 'Declined InsufficientFunds',
    InvalidCard: 'Declined InvalidCard',
    Referred: 'Declined Referred',
    ExpiredCard: 'Declined ExpiredCard',
    StolenCard: 'Declined StolenCard',
    InvalidData: 'Declined InvalidData',
    Antifrad: 'Declined Antifraud',
    Antifraud: 'Declined Antifraud',
    InvalidConfiguration: 'ProcessorError InvalidConfiguration',
    Undefined: 'ProcessorError Undefined',
    'Connection Rejected': 'ProcessorError ConnectionRejected',
    ConnectionRejected: 'ProcessorError ConnectionRejected',
    ConnectionRefused: 'ProcessorError ConnectionRejected',
  };

  it('are these', () => assert.deepEqual(Object.keys(FAILURE_REASONS).sort(), Object.keys(expected).sort()));

  for (const [name, failed] of Object.entries(expected)) {
    it(`${name} is ${failed}, in every spelling`, () => {
      fc.assert(
        fc.property(respelt(name), (spelt) => failureOf(status('Failed', spelt)) === failed),
        { numRuns: 20 },
      );
    });
  }

  it('a missing or unknown one is Undefined', () => {
    for (const reason of [undefined, '', 'Other', 'toString'])
      assert.equal(failureOf(status('Failed', reason)), 'ProcessorError Undefined');
  });

  it('a denial by antifraud is Antifraud, whatever the reason', () =>
    assert.equal(failureOf(status('Failed', 'Rejected', 'Denied')), 'Declined Antifraud'));

  it('two of them may hide an approval', () => {
    const hiding = Object.keys(expected).filter((name) => {
      const standing = parseOrderState(status('Failed', name));
      return standing?.kind === 'failed' && standing.mayHideApproval;
    });
    assert.deepEqual(hiding, ['Undefined', 'Connection Rejected', 'ConnectionRejected', 'ConnectionRefused']);
  });
});

describe('an order', () => {
  const body = {
    order_id: ID,
    transaction: {
      reference_id: 'ours',
      amount: { currency_code: 'BRL', value: 10 },
      authorization_code: '00A123',
      provider_reference: { order_id: 'acq-1', payment_id: 'pay-1', tid: 'tid-1', nsu: 991122 },
    },
    status: { type: 'Authorized', date: '2026-11-21T10:00:00Z', expiration: '2026-11-26T10:00:00Z' },
    code: 'X',
    message: `card ${PAN}`,
    causes: [PAN],
  };

  it('is parsed completely', () => {
    assert.deepEqual(parseOrder(body), {
      id: ID,
      operationRef: 'ours',
      amount: money(1000n),
      state: { kind: 'authorized' },
      details: {
        processorId: ID,
        responseCode: '00',
        reconciliationId: '991122',
        approvalCode: '00A123',
        networkId: 'acq-1',
        expiresAt: Date.UTC(2026, 10, 26, 10),
      },
      refunds: [],
    });
  });

  it('has the first available id', () => {
    const detailsOf = (reference: Json) =>
      parseOrder({ ...body, transaction: { provider_reference: reference } })?.details;
    assert.equal(detailsOf({ tid: 't', payment_id: 'p' })?.reconciliationId, 't');
    assert.equal(detailsOf({ tid: 't', payment_id: 'p' })?.networkId, 't');
    assert.equal(detailsOf({ payment_id: 'p' })?.reconciliationId, 'p');
    assert.equal(detailsOf({ payment_id: 'p' })?.networkId, undefined);
    assert.equal(detailsOf({ nsu: PAN, tid: 't' })?.reconciliationId, 't', 'a card number is no id');
  });

  it('expires only while it is open or authorized', () => {
    const end = (type: string) => parseOrder({ ...body, status: { ...body.status, type } })?.details.expiresAt;
    assert.ok(end('Opened'));
    for (const type of ['Collected', 'Failed', 'Voided']) assert.equal(end(type), undefined);
  });

  it('with refunds that cannot be understood is undefined', () => {
    assert.equal(parseOrder({ ...body, refunds: [{ id: 'r', status: { type: 'Odd' } }] }), undefined);
    assert.equal(parseOrder({ ...body, refunds: 'none' }), undefined);
  });

  it('of any other format is undefined', () => {
    const mutated = fc.tuple(fc.constantFrom('order_id', 'transaction', 'status', 'refunds'), fc.jsonValue());
    fc.assert(
      fc.property(fc.array(mutated), (changes) => {
        const spoilt = parseJson(JSON.stringify({ ...body, ...Object.fromEntries(changes) }));
        const order = parseOrder(spoilt);
        assert.ok(order === undefined || !JSON.stringify(order.details).includes(PAN));
        parseRefund(spoilt);
      }),
    );
  });
});

describe('refunds', () => {
  it('are in progress, completed or failed', () => {
    const state = (type: string) => parseRefund({ status: { type } })?.state;
    assert.deepEqual(['InProgress', 'in progress', 'Refunded', 'Failed', 'Other'].map(state), [
      'pending',
      'pending',
      'done',
      'failed',
      undefined,
    ]);
  });

  it('have one of two members for their id', () => {
    assert.equal(parseRefund({ refund_id: 'a', status: { type: 'Refunded' } })?.id, 'a');
    assert.equal(parseRefund({ id: 'b', status: { type: 'Refunded' } })?.id, 'b');
  });
});
