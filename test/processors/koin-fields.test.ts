import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Json, parseJson } from '../../src/kernel/json.ts';
import { formatDecimal } from '../../src/kernel/money.ts';
import { buildAmount, idAt, parseAmountObject, timeAt } from '../../src/payments/processors/koin/fields.ts';
import { CURRENCIES } from '../fixtures/payment-fixtures.ts';
import { money, PAN } from './koin-fixture.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('amounts', () => {
  const amounts = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 16n }), fc.constantFrom(...CURRENCIES));

  it('are tested in every currency', () =>
    assert.ok(CURRENCIES.length > 150 && CURRENCIES.some((code) => code === 'CLF')));

  it('are exact in both directions, in every currency', () => {
    fc.assert(
      fc.property(amounts, ([minor, currency]) => {
        const text = JSON.stringify(buildAmount({ minor, currency }));
        assert.match(text, /"value":(0|[1-9][0-9]*)(\.[0-9]{0,3}[1-9])?\}$/);
        assert.deepEqual(parseAmountObject(parseJson(text)), { minor, currency });
      }),
      { numRuns: 500 },
    );
  });

  it('are parsed in every format', () => {
    fc.assert(
      fc.property(amounts, fc.nat(6), ([minor, currency], zeros) => {
        const decimal = formatDecimal({ minor, currency });
        const padded = decimal.includes('.') ? decimal + '0'.repeat(zeros) : `${decimal}.0${'0'.repeat(zeros)}`;
        for (const value of [padded, `${minor}E${-(decimal.split('.')[1]?.length ?? 0)}`, `${padded}e+0`]) {
          const read = parseAmountObject(parseJson(`{"currency_code":"${currency}","value":${value}}`));
          assert.deepEqual(read, { minor, currency }, value);
        }
      }),
    );
    const large = parseJson('{"currency_code":"COP","value":1.25E7}');
    assert.deepEqual(parseAmountObject(large), money(1_250_000_000n, 'COP'));
  });

  it('are undefined in any other format', () => {
    const values = ['10.505', '-1', '"10"', 'null', '{}', '1E-5', '1e999', '0.001', '1'.repeat(21)];
    for (const value of values)
      assert.equal(parseAmountObject(parseJson(`{"currency_code":"BRL","value":${value}}`)), undefined, value);
    for (const code of ['', 'ABC', 'BR']) assert.equal(parseAmountObject({ currency_code: code, value: 1 }), undefined);
    assert.equal(parseAmountObject(undefined), undefined);
  });
});

describe('ids and times', () => {
  it('an id is short, without special characters and not like a card number, unless it is a UUID', () => {
    for (const id of [ID, '11111111-1111-4111-8111-111111111111', 'a_b-1', 7])
      assert.equal(idAt({ id }, 'id'), String(id));
    for (const id of ['', 'a/b', '../x', 'a b', PAN, 'x'.repeat(65), null, {}, 1.5])
      assert.equal(idAt({ id } as Json, 'id'), undefined);
  });

  it('a time without an offset is UTC', () => {
    const time = (at: string) => timeAt({ at }, 'at');
    const noon = Date.UTC(2026, 10, 21, 12);
    for (const at of ['2026-11-21T12:00:00', '2026-11-21T12:00:00.000Z', '2026-11-21T09:00:00-03:00'])
      assert.equal(time(at), noon, at);
    for (const at of ['', '2026', 'tomorrow', '2026-13-41T12:00:00Z']) assert.equal(time(at), undefined, at);
  });
});
