import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Currency } from '../kernel/currency.ts';
import { Failure } from '../kernel/failure.ts';
import { parseJson } from '../kernel/json.ts';
import { type Field, FieldMismatch, object } from './fields.ts';
import { amountDetails, card, partialAmount, party, toMoney, toParty, toRequestedAmount } from './payment-fields.ts';

const USD = 'USD' as Currency;
/** JSON text, as in a request. */
const read = <T>(field: Field<T>, text: string): T => field.parse(parseJson(text));

function fault(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof FieldMismatch) return `${error.path}: ${error.message}`;
    assert.ok(error instanceof Failure, String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

const AMOUNT =
  'expected an amount above 0 with at most 12 digits before the point and no more places than the currency has';

describe('an amount of a request', () => {
  const text = (total: string): string =>
    read(amountDetails, `{"total_amount":${total},"currency":"usd"}`).total_amount;

  it('is a number or a string, preserved as it was written', () => {
    for (const number of [
      '10',
      '10.5',
      '10.50',
      '10.0',
      '0',
      '0.01',
      '999999999999.9999',
      '900719925474.0993',
      '123456789012345678901',
    ])
      for (const written of [number, `"${number}"`]) assert.equal(text(written), number);
  });

  it('has no sign, exponent, leading zero or other format', () => {
    for (const bad of [
      '-1',
      '-0',
      '-0.0',
      '1e3',
      '1E3',
      '1.5e1',
      '"+1"',
      '"01"',
      '"1."',
      '".5"',
      '""',
      '" 1"',
      '"1 "',
      '"1,5"',
      '"NaN"',
      'true',
      '[]',
      '[1]',
      '{}',
      '{"rawJSON":"1"}',
    ])
      assert.equal(
        fault(() => text(bad)),
        `total_amount: ${AMOUNT}`,
        bad,
      );
    assert.equal(
      fault(() => text('null')),
      'total_amount: required',
    );
  });

  it('requires its currency', () => {
    const details = read(amountDetails, '{"total_amount":10.50,"currency":"usd","items_amount":"9"}');
    assert.deepEqual(details, { total_amount: '10.50', currency: 'USD', items_amount: '9' });
    assert.match(
      fault(() => read(amountDetails, '{"total_amount":1}')),
      /^currency: required/,
    );
    assert.match(
      fault(() => read(amountDetails, '{"total_amount":1,"currency":"XYZ"}')),
      /^currency: /,
    );
  });
});

describe('money of a request', () => {
  it('is exact and above 0, and an error contains its path', () => {
    assert.deepEqual(toMoney('10.5', USD, 'x.y'), { minor: 1050n, currency: USD });
    assert.deepEqual(toMoney('900719925474.0993', 'CLF' as Currency, 'x'), {
      minor: 9_007_199_254_740_993n,
      currency: 'CLF',
    });
    for (const bad of ['0', '0.00', '10.500', '1000000000000'])
      assert.equal(
        fault(() => toMoney(bad, USD, 'x.y')),
        `x.y: ${AMOUNT}`,
        bad,
      );
  });

  it('may be 0 where that is allowed', () => {
    assert.equal(toMoney('0.00', USD, 'x', { mayBeZero: true }).minor, 0n);
    assert.equal(
      fault(() => toMoney('1.005', USD, 'x', { mayBeZero: true })),
      `x: ${AMOUNT}`,
    );
  });
});

describe('a partial amount', () => {
  const part = (text: string) => toRequestedAmount(read(partialAmount('x'), text));

  it('is an amount, or absent for the entire amount', () => {
    assert.equal(toRequestedAmount(undefined), undefined);
    assert.equal(part('{}'), undefined);
    assert.equal(part('{"amount_details":null}'), undefined);
    assert.deepEqual(part('{"amount_details":{"total_amount":1.50}}'), { text: '1.50', currency: undefined });
    assert.deepEqual(part('{"amount_details":{"total_amount":"1","currency":"eur"}}'), { text: '1', currency: 'EUR' });
  });

  it('is no empty text, which does not mean the entire amount', () => {
    const body = object({ refund_info: partialAmount('x') });
    assert.deepEqual(read(body, '{"refund_info":null}'), {});
    assert.equal(
      fault(() => read(body, '{"refund_info":""}')),
      'refund_info: expected an object',
    );
    assert.equal(
      fault(() => read(body, '{"refund_info":{"amount_details":""}}')),
      'refund_info.amount_details: expected an object',
    );
  });

  it('without its amount is rejected', () => {
    assert.equal(
      fault(() => part('{"amount_details":{}}')),
      'amount_details.total_amount: required',
    );
    assert.equal(
      fault(() => part('{"amount_details":{"currency":"USD"}}')),
      'amount_details.total_amount: required',
    );
  });
});

describe('the card of a request', () => {
  const body = (changes: object): string =>
    JSON.stringify({ number: '4111 1111-1111 1111', expiration_date: '12/2029', ...changes });

  it('may be given as values', () => {
    const full = body({ security_code: 123, holder: 'Ana Lopez' });
    assert.deepEqual(read(card, full), {
      number: { literal: '4111111111111111' },
      expiration_date: { literal: { month: '12', year: '29' } },
      security_code: { literal: '123' },
      holder: { literal: 'Ana Lopez' },
    });
    assert.deepEqual(read(card, body({ expiration_date: '12/29' })).expiration_date, {
      literal: { month: '12', year: '29' },
    });
    assert.deepEqual(read(card, '{"number":6304000000000000007,"expiration_date":"01/30"}').number, {
      literal: '6304000000000000007',
    });
  });

  it('may be given as placeholders', () => {
    const placeholders = read(
      card,
      body({
        number: '{{tok-1:detokenize}}',
        expiration_date: ' {{ tok-1 : detokenize }} ',
        security_code: '{{cap1:transaction}}',
        holder: '{{tok-1:detokenize}}',
      }),
    );
    for (const field of Object.values(placeholders)) assert.ok(field !== undefined && 'placeholder' in field);
    const { security_code: code } = placeholders;
    assert.ok(code !== undefined && 'placeholder' in code && code.placeholder.source === 'transaction');
  });

  it('has no other members, and an error never contains its values', () => {
    const cases: readonly [object, string][] = [
      [{ number: '' }, 'number: expected a card number of 12 to 19 digits'],
      [{ number: '4111x' }, 'number: expected a card number of 12 to 19 digits'],
      [{ number: undefined }, 'number: required'],
      [{ expiration_date: '13/2029' }, 'expiration_date: expected MM/YYYY or MM/YY'],
      [{ expiration_date: '12/1929' }, 'expiration_date: expected MM/YYYY or MM/YY'],
      [{ expiration_date: 1229 }, 'expiration_date: expected MM/YYYY or MM/YY'],
      [{ expiration_date: undefined }, 'expiration_date: required'],
      [{ security_code: '12' }, 'security_code: expected 3 or 4 digits'],
      [{ number: '{{tok:detokenize}}1' }, 'card.number: expected exactly one placeholder and nothing beside it'],
      [
        { security_code: '{{tok:detokenize}}' },
        'card.security_code: a permanent token has no security code; expected a capture, {{…:transaction}}',
      ],
    ];
    for (const [changes, expected] of cases)
      assert.equal(
        fault(() => read(card, body(changes))),
        expected,
      );
  });

  it('may omit optional members', () => {
    assert.deepEqual(Object.keys(read(card, body({ security_code: '', holder: null }))), ['number', 'expiration_date']);
  });
});

describe('a person of a request', () => {
  it('is parsed field by field', () => {
    const body = {
      first_name: 'a',
      last_name: 'b',
      country: 'c',
      address_1: 'd',
      address_2: 'e',
      city: 'f',
      state: 'g',
      postal_code: 'h',
      email: 'i',
      phone_number: 'j',
      phone_type: 'k',
      phone_area_code: 'l',
      document: { type: 'm', number: 'n', nationality: 'o' },
    };
    assert.deepEqual(toParty(read(party('x'), JSON.stringify(body))), {
      firstName: 'a',
      lastName: 'b',
      country: 'c',
      address1: 'd',
      address2: 'e',
      city: 'f',
      state: 'g',
      postalCode: 'h',
      email: 'i',
      phoneNumber: 'j',
      phoneType: 'k',
      phoneAreaCode: 'l',
      documentType: 'm',
      documentNumber: 'n',
      documentNationality: 'o',
    });
    assert.equal(toParty(undefined), undefined);
    assert.match(
      fault(() => read(party('x'), '{"email":"a\\nb"}')),
      /^email: expected a string of 1 to 255/,
    );
  });
});
