import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCurrency } from '../../../kernel/currency.ts';
import {
  capturedIn,
  isUndone,
  movementVerdict,
  NAMES,
  NUMERIC_REASONS,
  paymentVerdict,
  readEntry,
  readHits,
} from './ledger.ts';
import { REASONS } from './mapping.ts';

interface Told {
  readonly applications?: readonly (readonly [name: string, rCode: string, reasonCode: string])[];
  readonly reasonCode?: number;
  readonly approvalCode?: string;
}

function entry({ applications = [], ...told }: Told): Parameters<typeof paymentVerdict>[0] {
  const body = {
    id: '1',
    applicationInformation: {
      reasonCode: told.reasonCode,
      applications: applications.map(([name, rCode, reasonCode]) => ({ name, rCode, reasonCode })),
    },
    processorInformation: { approvalCode: told.approvalCode },
  };
  const read = readEntry(JSON.stringify(body));
  assert.ok(read);
  return read;
}

const brief = (verdict: ReturnType<typeof paymentVerdict>): string =>
  'reason' in verdict ? `${verdict.kind} ${verdict.reason}` : verdict.kind;
const payment = (told: Told, policy: 'accept' | 'reverse' = 'reverse'): string =>
  brief(paymentVerdict(entry(told), policy));

describe('an authorization in the books', () => {
  const auth = (rCode: string, reasonCode: string): Pick<Told, 'applications'> => ({
    applications: [['ics_auth', rCode, reasonCode]],
  });
  const EXPECTED: readonly (readonly [Told, string])[] = [
    [auth('1', '100'), 'held'],
    [{ ...auth('1', '100'), reasonCode: 100 }, 'held'],
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
      'held',
    ],
    [{ ...auth('1', '100'), reasonCode: 480 }, 'pending'],
    [{ ...auth('1', '100'), reasonCode: 481, approvalCode: '1' }, 'undo Antifraud'],
    [{ ...auth('0', '481'), reasonCode: 481 }, 'refused Antifraud'],
    [auth('1', '110'), 'undo InsufficientFunds'],
    [{ ...auth('0', '200'), approvalCode: '1' }, 'undo Rejected'],
    [{ ...auth('0', '230'), approvalCode: '1' }, 'undo InvalidCard'],
    [auth('0', '230'), 'refused InvalidCard'],
    [auth('0', '999'), 'refused Rejected'],
    [auth('-1', '999'), 'unknown'],
    [auth('', ''), 'unknown'],
    [auth('1', '203'), 'unknown'],
    [{ applications: [['ics_bill', '1', '100']] }, 'unknown'],
  ];
  for (const [told, expected] of EXPECTED)
    test(`${JSON.stringify(told)}: ${expected}`, () => assert.equal(payment(told), expected));

  test('with soft declines accepted is held', () => {
    for (const reason of ['200', '230'])
      assert.equal(payment({ ...auth('0', reason), approvalCode: '1' }, 'accept'), 'held');
  });

  for (const [number, reason] of Object.entries(NUMERIC_REASONS)) {
    test(`${number} means what ${reason} does`, () => {
      const meaning = REASONS[reason];
      assert.ok(meaning);
      for (const rCode of ['0', '-1']) {
        const expected: string = meaning === 'unknown' ? 'unknown' : `refused ${meaning}`;
        assert.equal(payment(auth(rCode, number)), expected);
        const refund = entry({ applications: [['ics_credit', rCode, number]], approvalCode: '1' });
        assert.equal(brief(movementVerdict(refund, NAMES.refund)), expected);
      }
    });
  }
});

test('a capture that was voided captured nothing', () => {
  const currency = parseCurrency('USD');
  assert.ok(currency);
  const capture = (status: string): Parameters<typeof paymentVerdict>[0] => {
    const applications = [{ name: 'ics_bill', rCode: '1', reasonCode: '100' }];
    const orderInformation = { amountDetails: { totalAmount: '7.25', currency } };
    const read = readEntry(
      JSON.stringify({ id: '1', applicationInformation: { status, applications }, orderInformation }),
    );
    assert.ok(read);
    return read;
  };
  const captured = (status: string): unknown => capturedIn([capture(status)], { minor: 1050n, currency })?.minor;
  for (const status of ['TRANSMITTED', 'PENDING', '']) assert.equal(captured(status), 725n);
  for (const status of ['VOIDED', 'Voided', 'CANCELLED', 'REVERSED']) {
    assert.equal(isUndone(capture(status)), true);
    assert.equal(captured(status), undefined);
  }
});

describe('what cannot be read', () => {
  test('is no entry', () => {
    for (const text of ['', '[]', '{}', '{"id":"1"}', '{"id":"1","applicationInformation":{"applications":[]}}'])
      assert.equal(readEntry(text), undefined);
  });

  test('is no list of hits, nor is a part of it', () => {
    const hit = { id: '1', applicationInformation: { applications: [{ name: 'ics_auth' }] } };
    const list = (totalCount: unknown, ...transactionSummaries: unknown[]): string =>
      JSON.stringify({ totalCount, _embedded: { transactionSummaries } });
    assert.equal(readHits(list(1, hit))?.length, 1);
    assert.equal(readHits('{"totalCount":0}')?.length, 0);
    for (const text of ['', '{}', list(undefined), list(2, hit), list(1, {}), list(-1), list('x', hit)])
      assert.equal(readHits(text), undefined, text);
  });

  test('is no way to lead requests elsewhere', () => {
    const relatedTransactions = [
      'https://evil.example/tss/v2/transactions/123',
      '/tss/v2/transactions/../../x',
      '/tss/v2/transactions/1?x=1',
      7,
    ].map((href) => ({ href }));
    const applications = [{ name: 'ics_auth' }];
    const read = readEntry(
      JSON.stringify({ id: '1', applicationInformation: { applications }, _links: { relatedTransactions } }),
    );
    assert.deepEqual(read?.related, ['123']);
  });
});
