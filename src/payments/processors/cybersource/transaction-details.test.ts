import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCurrency } from '../../../kernel/currency.ts';
import { DECLINE_REASONS } from './mapping.ts';
import {
  APPLICATIONS,
  findCapturedAmount,
  isReversed,
  mapModification,
  mapPayment,
  NUMERIC_REASONS,
  parseSearchResult,
  parseTransactionDetails,
} from './transaction-details.ts';

interface ReportedFields {
  readonly applications?: readonly (readonly [name: string, rCode: string, reasonCode: string])[];
  readonly reasonCode?: number;
  readonly approvalCode?: string;
}

function entry({ applications = [], ...reported }: ReportedFields): Parameters<typeof mapPayment>[0] {
  const body = {
    id: '1',
    applicationInformation: {
      reasonCode: reported.reasonCode,
      applications: applications.map(([name, rCode, reasonCode]) => ({ name, rCode, reasonCode })),
    },
    processorInformation: { approvalCode: reported.approvalCode },
  };
  const read = parseTransactionDetails(JSON.stringify(body));
  assert.ok(read);
  return read;
}

const brief = (verdict: ReturnType<typeof mapPayment>): string =>
  'reason' in verdict ? `${verdict.kind} ${verdict.reason}` : verdict.kind;
const payment = (reported: ReportedFields, policy: 'accept' | 'reverse' = 'reverse'): string =>
  brief(mapPayment(entry(reported), policy));

describe('the details of an authorization', () => {
  const auth = (rCode: string, reasonCode: string): Pick<ReportedFields, 'applications'> => ({
    applications: [['ics_auth', rCode, reasonCode]],
  });
  const EXPECTED: readonly (readonly [ReportedFields, string])[] = [
    [auth('1', '100'), 'authorized'],
    [{ ...auth('1', '100'), reasonCode: 100 }, 'authorized'],
    [
      {
        applications: [
          ['ics_auth', '1', '100'],
          ['ics_bill', '1', '100'],
        ],
      },
      'approved',
    ],
    [
      {
        applications: [
          ['ics_auth', '1', '100'],
          ['ics_bill', '0', '236'],
        ],
        reasonCode: 236,
      },
      'authorized',
    ],
    [{ ...auth('1', '100'), reasonCode: 480 }, 'pending'],
    [{ ...auth('1', '100'), reasonCode: 481, approvalCode: '1' }, 'reverse Antifraud'],
    [{ ...auth('0', '481'), reasonCode: 481 }, 'refused Antifraud'],
    [auth('1', '110'), 'reverse InsufficientFunds'],
    [{ ...auth('0', '200'), approvalCode: '1' }, 'reverse Rejected'],
    [{ ...auth('0', '230'), approvalCode: '1' }, 'reverse InvalidCard'],
    [auth('0', '230'), 'refused InvalidCard'],
    [auth('0', '999'), 'refused Rejected'],
    [auth('-1', '999'), 'unknown'],
    [auth('', ''), 'unknown'],
    [auth('1', '203'), 'unknown'],
    [{ applications: [['ics_bill', '1', '100']] }, 'unknown'],
  ];
  for (const [reported, expected] of EXPECTED)
    test(`${JSON.stringify(reported)}: ${expected}`, () => assert.equal(payment(reported), expected));

  test('with soft declines accepted are on hold', () => {
    for (const reason of ['200', '230'])
      assert.equal(payment({ ...auth('0', reason), approvalCode: '1' }, 'accept'), 'authorized');
  });

  for (const [number, reason] of Object.entries(NUMERIC_REASONS)) {
    test(`${number} means the same as ${reason}`, () => {
      const meaning = DECLINE_REASONS[reason];
      assert.ok(meaning);
      for (const rCode of ['0', '-1']) {
        const expected: string = meaning === 'unknown' ? 'unknown' : `refused ${meaning}`;
        assert.equal(payment(auth(rCode, number)), expected);
        const refund = entry({ applications: [['ics_credit', rCode, number]], approvalCode: '1' });
        assert.equal(brief(mapModification(refund, APPLICATIONS.refund)), expected);
      }
    });
  }
});

test('of a capture that was voided are those of no capture', () => {
  const currency = parseCurrency('USD');
  assert.ok(currency);
  const capture = (status: string): Parameters<typeof mapPayment>[0] => {
    const applications = [{ name: 'ics_bill', rCode: '1', reasonCode: '100' }];
    const orderInformation = { amountDetails: { totalAmount: '7.25', currency } };
    const read = parseTransactionDetails(
      JSON.stringify({ id: '1', applicationInformation: { status, applications }, orderInformation }),
    );
    assert.ok(read);
    return read;
  };
  const captured = (status: string): unknown =>
    findCapturedAmount([capture(status)], { minor: 1050n, currency })?.minor;
  for (const status of ['TRANSMITTED', 'PENDING', '']) assert.equal(captured(status), 725n);
  for (const status of ['VOIDED', 'Voided', 'CANCELLED', 'REVERSED']) {
    assert.equal(isReversed(capture(status)), true);
    assert.equal(captured(status), undefined);
  }
});

describe('unreadable details', () => {
  test('are not a transaction', () => {
    for (const text of ['', '[]', '{}', '{"id":"1"}', '{"id":"1","applicationInformation":{"applications":[]}}'])
      assert.equal(parseTransactionDetails(text), undefined);
  });

  test('are not a list of hits, nor a part of one', () => {
    const hit = { id: '1', applicationInformation: { applications: [{ name: 'ics_auth' }] } };
    const list = (totalCount: unknown, ...transactionSummaries: unknown[]): string =>
      JSON.stringify({ totalCount, _embedded: { transactionSummaries } });
    assert.equal(parseSearchResult(list(1, hit))?.length, 1);
    assert.equal(parseSearchResult('{"totalCount":0}')?.length, 0);
    for (const text of ['', '{}', list(undefined), list(2, hit), list(1, {}), list(-1), list('x', hit)])
      assert.equal(parseSearchResult(text), undefined, text);
  });

  test('cannot redirect requests', () => {
    const relatedTransactions = [
      'https://evil.example/tss/v2/transactions/123',
      '/tss/v2/transactions/../../x',
      '/tss/v2/transactions/1?x=1',
      7,
    ].map((href) => ({ href }));
    const applications = [{ name: 'ics_auth' }];
    const read = parseTransactionDetails(
      JSON.stringify({ id: '1', applicationInformation: { applications }, _links: { relatedTransactions } }),
    );
    assert.deepEqual(read?.related, ['123']);
  });
});
