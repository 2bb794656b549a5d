import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseCurrency } from '../../../kernel/currency.ts';
import { toFailureStatus } from '../../transitions.ts';
import {
  type ApiOperation,
  DECLINE_REASONS,
  mapResponse,
  type SoftDecline,
  UNPROCESSED_HTTP_STATUSES,
} from './mapping.ts';
import { parseResponse } from './response.ts';
import { NUMERIC_REASONS } from './transaction-details.ts';

const currency = parseCurrency('USD');
assert.ok(currency);
const ID = 'abcdefghijklmnopqrstuvwxy';
const EXPECTED_TRANSACTION = { operationId: ID, operationRef: `REF-1.${ID}`, amount: { minor: 1050n, currency } };

interface ReportedFields {
  readonly call?: ApiOperation;
  readonly http?: number;
  readonly status?: string;
  readonly reason?: string | undefined;
  readonly field?: string;
  readonly approvalCode?: string;
  readonly softDecline?: SoftDecline;
}

/** Formats a result as text: `undo Declined Rejected`, `approved`, `unknown http-502`. */
function resultOf(reported: ReportedFields): string {
  const { call = 'payment', http = 201, status = 'INVALID_REQUEST', reason, softDecline = 'reverse' } = reported;
  const details = reported.field === undefined ? [] : [{ field: reported.field, reason: 'INVALID_DATA' }];
  const why = http === 400 ? { reason, details } : { errorInformation: { reason, details } };
  const processorInformation = { approvalCode: reported.approvalCode };
  const body = JSON.stringify({ id: '1', status, ...why, processorInformation });
  const found = mapResponse(call, http, parseResponse(body), EXPECTED_TRANSACTION, softDecline);
  const more =
    'reason' in found ? Object.values(toFailureStatus(found.reason)) : 'problem' in found ? [found.problem] : [];
  return [found.kind, ...more].join(' ');
}

describe('statuses', () => {
  const EXPECTED: readonly (readonly [ReportedFields, string])[] = [
    [{ status: 'AUTHORIZED' }, 'approved'],
    [{ status: 'PARTIAL_AUTHORIZED' }, 'reverse Declined InsufficientFunds'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'AVS_FAILED' }, 'reverse Declined Rejected'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CV_FAILED' }, 'reverse Declined InvalidCard'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'AVS_FAILED', softDecline: 'accept' }, 'authorized'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CV_FAILED', softDecline: 'accept' }, 'authorized'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CONTACT_PROCESSOR' }, 'refused Declined Referred'],
    [
      { status: 'AUTHORIZED_PENDING_REVIEW', reason: 'CONTACT_PROCESSOR', approvalCode: '1' },
      'reverse Declined Referred',
    ],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'DECISION_PROFILE_REVIEW' }, 'pending'],
    [{ status: 'AUTHORIZED_PENDING_REVIEW', reason: 'SOMETHING_NEW' }, 'pending'],
    [{ status: 'PENDING_REVIEW' }, 'pending'],
    [{ status: 'AUTHORIZED_RISK_DECLINED' }, 'refused Declined Antifraud'],
    [{ status: 'AUTHORIZED_RISK_DECLINED', approvalCode: '831000' }, 'reverse Declined Antifraud'],
    [{ status: 'PENDING_AUTHENTICATION' }, 'refused Declined Rejected'],
    [{ status: 'DECLINED' }, 'refused Declined Rejected'],
    [{ status: 'DECLINED', reason: 'SOMETHING_NEW' }, 'refused Declined Rejected'],
    [{ status: 'DECLINED', reason: 'toString' }, 'refused Declined Rejected'],
    [{ status: 'DECLINED', reason: 'CV_FAILED', approvalCode: '831000' }, 'reverse Declined InvalidCard'],
    [{ status: 'INVALID_REQUEST' }, 'refused Declined InvalidData'],
    [{ status: 'INVALID_REQUEST', reason: 'INVALID_CARD' }, 'refused Declined InvalidCard'],
    [{ status: 'SERVER_ERROR' }, 'unknown unknown-status'],
    [{ status: 'SOMETHING_NEW' }, 'unknown unknown-status'],
    [{ status: 'PENDING' }, 'unknown unknown-status'],
    [{ call: 'capture', status: 'PENDING' }, 'approved'],
    [{ call: 'capture', status: 'TRANSMITTED' }, 'approved'],
    [{ call: 'capture', status: 'AUTHORIZED' }, 'unknown unknown-status'],
    [{ call: 'capture', status: 'PENDING_REVIEW' }, 'unknown unknown-status'],
    [{ call: 'capture', status: 'DECLINED', approvalCode: '1' }, 'refused Declined Rejected'],
    [{ call: 'refund', status: 'PENDING' }, 'approved'],
    [{ call: 'refund', status: 'TRANSMITTED' }, 'approved'],
    [{ call: 'refund', status: 'DECLINED' }, 'refused Declined Rejected'],
    [{ call: 'refund', status: 'INVALID_REQUEST' }, 'refused Declined InvalidData'],
    [{ call: 'reversal', status: 'REVERSED' }, 'approved'],
    [{ call: 'reversal', status: 'AUTHORIZED' }, 'unknown unknown-status'],
    [{ call: 'void', status: 'VOIDED' }, 'approved'],
    [{ call: 'void', status: 'CANCELLED' }, 'approved'],
    [{ call: 'void', status: 'FAILED' }, 'refused Declined Rejected'],
  ];
  for (const [reported, expected] of EXPECTED)
    test(`${JSON.stringify(reported)}: ${expected}`, () => assert.equal(resultOf(reported), expected));
});

describe('reasons', () => {
  const LINES: Readonly<Record<string, string>> = {
    'Declined InsufficientFunds': 'INSUFFICIENT_FUND EXCEEDS_CREDIT_LIMIT',
    'Declined ExpiredCard': 'EXPIRED_CARD',
    'Declined StolenCard': 'STOLEN_LOST_CARD',
    'Declined InvalidCard':
      'INVALID_ACCOUNT CVN_NOT_MATCH INVALID_CVN CV_FAILED UNAUTHORIZED_CARD INVALID_CARD INVALID_CARD_TYPE CARD_TYPE_NOT_ACCEPTED',
    'Declined Referred': 'CONTACT_PROCESSOR',
    'Declined Rejected':
      'AVS_FAILED PROCESSOR_DECLINED GENERAL_DECLINE PAYMENT_REFUSED SUSPENDED_ACCOUNT BLOCKED_BY_CARDHOLDER DECLINED_CHECK ALLOWABLE_PIN_RETRIES_EXCEEDED DAGGREJECTED DAGGDENIED DSYSREJECTED PENDING_AUTHENTICATION CONSUMER_AUTHENTICATION_REQUIRED CONSUMER_AUTHENTICATION_FAILED AUTH_ALREADY_REVERSED TRANSACTION_ALREADY_SETTLED TRANSACTION_ALREADY_REVERSED_OR_SETTLED MISSING_AUTH CAPTURE_ALREADY_VOIDED NOT_VOIDABLE',
    'Declined Antifraud':
      'SCORE_EXCEEDS_THRESHOLD DECISION_PROFILE_REJECT CUSTOMER_WATCHLIST_MATCH ADDRESS_COUNTRY_WATCHLIST_MATCH EMAIL_COUNTRY_WATCHLIST_MATCH IP_COUNTRY_WATCHLIST_MATCH BLACKLISTED_CUSTOMER',
    'Declined InvalidData': 'MISSING_FIELD INVALID_DATA INVALID_AMOUNT INVALID_PAYMENT_ID EXCEEDS_AUTH_AMOUNT',
    'ProcessorError ConnectionRejected': 'ISSUER_UNAVAILABLE PROCESSOR_ERROR PROCESSOR_UNAVAILABLE',
    'ProcessorError InvalidConfiguration': 'INVALID_MERCHANT_CONFIGURATION NOT_SUPPORTED ACCOUNT_NOT_ALLOWED_CREDIT',
    unknown: 'DUPLICATE_REQUEST PROCESSOR_TIMEOUT SYSTEM_ERROR SERVER_TIMEOUT SERVICE_TIMEOUT',
  };
  const lines = Object.entries(LINES).flatMap(([meaning, reasons]) =>
    reasons.split(' ').map((reason) => [reason, meaning] as const),
  );

  for (const [reason, meaning] of lines) {
    test(`${reason}: ${meaning}`, () => {
      const expected = meaning === 'unknown' ? `unknown ${reason.toLowerCase()}` : `refused ${meaning}`;
      for (const call of ['payment', 'capture', 'refund', 'reversal', 'void'] as const) {
        assert.equal(resultOf({ call, status: 'DECLINED', reason }), expected);
        assert.equal(resultOf({ call, http: 400, reason }), expected);
      }
    });
  }

  test('are complete', () => {
    assert.deepEqual(Object.keys(DECLINE_REASONS).sort(), lines.map(([reason]) => reason).sort());
  });

  test('of transaction details are all in the table', () => {
    for (const reason of Object.values(NUMERIC_REASONS)) assert.ok(Object.hasOwn(DECLINE_REASONS, reason), reason);
  });

  test('INVALID_DATA about our reference is a duplicate, about another field a rejection', () => {
    for (const field of ['clientReferenceInformation.transactionId', 'transactionId'])
      assert.equal(resultOf({ http: 400, reason: 'INVALID_DATA', field }), 'unknown duplicate');
    const field = 'paymentInformation.card.number';
    assert.equal(resultOf({ http: 400, reason: 'INVALID_DATA', field }), 'refused Declined InvalidData');
  });
});

describe('HTTP statuses', () => {
  test('have their meaning whatever the body; those other than 200, 201, 202 and 400 are unknown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.constantFrom('AUTHORIZED', 'DECLINED', ''), (http, status) => {
        if ([200, 201, 202, 400].includes(http)) return;
        const reason = UNPROCESSED_HTTP_STATUSES[http];
        const expected =
          reason === undefined ? `unknown http-${http}` : `refused ${toFailureStatus(reason).status} ${reason}`;
        assert.equal(resultOf({ http, status }), expected);
      }),
    );
    assert.equal(resultOf({ http: 401 }), 'refused ProcessorError InvalidConfiguration');
    assert.equal(resultOf({ http: 502 }), 'unknown http-502');
  });
});

describe('mismatches between response and request', () => {
  const read = (more: object, call: ApiOperation = 'payment'): string => {
    const status = {
      payment: 'AUTHORIZED',
      capture: 'PENDING',
      refund: 'PENDING',
      reversal: 'REVERSED',
      void: 'VOIDED',
    };
    const response = parseResponse(JSON.stringify({ id: '1', status: status[call], ...more }));
    return mapResponse(call, 201, response, EXPECTED_TRANSACTION, 'reverse').kind;
  };
  const amounts = (totalAmount: unknown, name = 'totalAmount'): object => ({
    orderInformation: { amountDetails: { [name]: totalAmount, currency: 'USD' } },
  });

  test('do not include amounts in an equivalent format', () => {
    for (const amount of ['10.50', '10.5', '10.5000', 10.5]) {
      assert.equal(read(amounts(amount)), 'approved');
      assert.equal(read(amounts(amount, 'authorizedAmount')), 'approved');
    }
    for (const amount of ['10.51', '10.505', '1050', '', 'x', '-10.50', '1.05e1', 10, '010.50']) {
      assert.equal(read(amounts(amount)), 'unknown', String(amount));
      assert.equal(read(amounts(amount, 'authorizedAmount')), 'unknown', String(amount));
    }
  });

  test('include every amount, currency and reference of the request', () => {
    const wrong: readonly (readonly [ApiOperation, object])[] = [
      ['refund', { refundAmountDetails: { refundAmount: '10.49', currency: 'USD' } }],
      ['refund', { refundAmountDetails: { refundAmount: '10.50', currency: 'EUR' } }],
      ['reversal', { reversalAmountDetails: { reversedAmount: '10.49', currency: 'USD' } }],
      ['reversal', { reversalAmountDetails: { reversedAmount: '10.50', currency: 'EUR' } }],
      ['void', { voidAmountDetails: { voidAmount: '10.49', currency: 'USD' } }],
      ['void', { voidAmountDetails: { voidAmount: '10.50', currency: 'EUR' } }],
      ['capture', { orderInformation: { amountDetails: { currency: 'EUR' } } }],
      ['capture', { clientReferenceInformation: { code: 'other' } }],
      ['capture', { clientReferenceInformation: { transactionId: 'other' } }],
    ];
    for (const [call, more] of wrong) assert.equal(read(more, call), 'unknown', JSON.stringify(more));
    assert.equal(
      read({
        clientReferenceInformation: {
          code: EXPECTED_TRANSACTION.operationRef,
          transactionId: EXPECTED_TRANSACTION.operationId,
        },
      }),
      'approved',
    );
  });
});
