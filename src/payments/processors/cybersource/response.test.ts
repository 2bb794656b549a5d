import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCurrency } from '../../../kernel/currency.ts';
import { contradicts, parseDetails, parseResponse } from './response.ts';

const PAN = '4111111111111111';
const ID = '6461731521426399003473';

describe('ids and codes of responses', () => {
  test('are stored', () => {
    const processorInformation = {
      responseCode: '100',
      approvalCode: '888888',
      networkTransactionId: '016153570198200',
      avs: { code: 'Y', codeRaw: 'YYY' },
    };
    assert.deepEqual(parseDetails({ id: ID, reconciliationId: '34557351U5IVCGQM', processorInformation }), {
      processorId: ID,
      responseCode: '100',
      reconciliationId: '34557351U5IVCGQM',
      approvalCode: '888888',
      networkId: '016153570198200',
      avs: { code: 'Y', codeRaw: 'YYY' },
    });
  });

  test('are not stored when they look like a card number', () => {
    const short = '411111111117';
    const processorInformation = {
      responseCode: short,
      approvalCode: short,
      transactionId: PAN,
      networkTransactionId: `VISA${PAN}`,
      avs: { code: short, codeRaw: short },
    };
    const details = parseDetails({ id: PAN, reconciliationId: '4111-1111-1111-1111', processorInformation });
    assert.deepEqual(
      Object.values(details).filter((value) => value !== undefined),
      [],
    );
  });

  test('are stored when they are UUIDs, some of which look like one', () => {
    const uuid = 'a4111111-1111-4111-8111-b08c94330f61';
    assert.equal(parseDetails({ id: uuid }).processorId, uuid);
  });
});

describe('amounts of responses', () => {
  const currency = parseCurrency('USD') ?? assert.fail();
  const expected = { operationId: 'k', operationRef: 'r.k', amount: { minor: 10000n, currency } };
  const withTotal = (totalAmount: string) =>
    parseResponse(JSON.stringify({ orderInformation: { amountDetails: { totalAmount } } }))?.body ?? assert.fail();

  test('may have zeros at the end', () => {
    for (const text of ['100', '100.0', '100.00', '100.00000'])
      assert.ok(!contradicts(withTotal(text), expected), text);
    for (const text of ['100.01', '10', '100.001']) assert.ok(contradicts(withTotal(text), expected), text);
  });

  test('of any length are parsed in linear time', () => {
    const began = process.cpuUsage();
    assert.ok(contradicts(withTotal(`1.${'0'.repeat(500_000)}1`), expected));
    assert.ok(process.cpuUsage(began).user < 1_000_000);
  });
});
