import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../src/kernel/failure.ts';
import { type Json, parseJson } from '../../src/kernel/json.ts';
import type { CardData, Order } from '../../src/payments/processor.ts';
import { checkOrder } from '../../src/payments/processors/koin/request-bodies.ts';
import { CARD, ITEM, money, ORDER, ORDER_WITH_ANTIFRAUD, withoutCardData } from './koin-fixture.ts';

const PLAIN = { antifraud: 'false' };
const WITH = { antifraud: 'true' };

/** Returns the rejected field; undefined without a rejection. */
function refusedField(
  order: Order,
  settings: Readonly<Record<string, string>>,
  card: CardData = CARD,
): string | undefined {
  try {
    checkOrder(order, card, settings);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Failure);
    withoutCardData({ message: error.message });
    assert.equal(error.code, 'invalid_field');
    return error.field;
  }
}

const payer = (order: Order, changes: Order['cardholder']): Order => ({
  ...order,
  cardholder: { ...order.cardholder, ...changes },
});
const amount = (minor: bigint, code: string): Order => ({ ...ORDER, amount: money(minor, code) });

describe('a rejection of what KOIN would certainly reject', () => {
  it('does not apply to a valid order', () => {
    assert.equal(refusedField(ORDER, PLAIN), undefined);
    assert.equal(refusedField(ORDER_WITH_ANTIFRAUD, WITH), undefined);
  });

  it('applies to a card without security code or holder', () => {
    for (const securityCode of [undefined, '', '12', '12345', '12a']) {
      assert.equal(refusedField(ORDER, PLAIN, { ...CARD, securityCode }), 'card.security_code');
    }
    assert.equal(refusedField(ORDER, PLAIN, { ...CARD, securityCode: '1234' }), undefined);
    for (const holder of [undefined, '', ' '])
      assert.equal(refusedField(ORDER, PLAIN, { ...CARD, holder }), 'card.holder');
  });

  it('applies to an amount of more than 10 digits and 2 decimals', () => {
    const field = 'order_info.amount_details.total_amount';
    assert.equal(refusedField(amount(9_999_999_999_99n, 'BRL'), PLAIN), undefined);
    assert.equal(refusedField(amount(10_000_000_000_00n, 'BRL'), PLAIN), field);
    assert.equal(refusedField(amount(9_999_999_999n, 'CLP'), PLAIN), undefined);
    assert.equal(refusedField(amount(10_000_000_000n, 'CLP'), PLAIN), field);
    assert.equal(refusedField(amount(1_230n, 'BHD'), PLAIN), undefined);
    assert.equal(refusedField(amount(1_234n, 'BHD'), PLAIN), field);
  });

  it('applies to a country of other than two letters, when the setting names none', () => {
    for (const country of ['BRA', 'Brazil', '076', undefined]) {
      const order = { ...ORDER, cardholder: { country } };
      assert.equal(refusedField(order, PLAIN), 'cardholder_info.country');
      assert.equal(refusedField(order, { ...PLAIN, 'country-code': 'BR' }), undefined);
    }
    assert.equal(refusedField({ ...ORDER, cardholder: undefined, billTo: { country: 'br' } }, PLAIN), undefined);
  });

  it('applies to a payer without document in Argentina', () => {
    const order = payer(ORDER, { country: 'AR' });
    assert.equal(refusedField(order, PLAIN), 'cardholder_info.document.type');
    assert.equal(refusedField(payer(order, { documentType: 'DNI' }), PLAIN), 'cardholder_info.document.number');
    assert.equal(refusedField(payer(order, { documentType: 'DNI', documentNumber: '30123456' }), PLAIN), undefined);
    assert.equal(refusedField(ORDER, { ...PLAIN, 'country-code': 'AR' }), 'cardholder_info.document.type');
  });

  it('applies to a document of Brazil of another length', () => {
    const field = (documentType: string, documentNumber: string) =>
      refusedField(payer(ORDER, { documentType, documentNumber }), PLAIN);
    assert.equal(field('CPF', '123.456.789-09'), undefined);
    assert.equal(field('cnpj', '12.345.678/0001-95'), undefined);
    assert.equal(field('cnpj', '12ABC34501DE35'), undefined);
    assert.equal(field('cpf', '1234567890'), 'cardholder_info.document.number');
    assert.equal(field('cnpj', '12345678909'), 'cardholder_info.document.number');
    assert.equal(field('passport', 'x'), undefined);
  });

  it('applies with antifraud to an order without session, email, names and items', () => {
    assert.equal(
      refusedField({ ...ORDER_WITH_ANTIFRAUD, fingerprintSessionId: undefined }, WITH),
      'device_info.fingerprint_session_id',
    );
    assert.equal(refusedField(payer(ORDER_WITH_ANTIFRAUD, { email: undefined }), WITH), 'cardholder_info.email');
    assert.equal(
      refusedField(payer(ORDER_WITH_ANTIFRAUD, { firstName: undefined }), WITH),
      'cardholder_info.first_name',
    );
    assert.equal(refusedField(payer(ORDER_WITH_ANTIFRAUD, { lastName: undefined }), WITH), 'cardholder_info.last_name');
    assert.equal(refusedField({ ...ORDER_WITH_ANTIFRAUD, lineItems: [] }, WITH), 'line_items');
  });

  it('applies with antifraud to an item that lacks a member', () => {
    const field = (item: Json) => refusedField({ ...ORDER_WITH_ANTIFRAUD, lineItems: [ITEM, item] }, WITH);
    for (const name of Object.keys(ITEM)) assert.equal(field({ ...ITEM, [name]: null }), `line_items[1].${name}`);
    for (const item of [null, 'x', []]) assert.equal(field(item), 'line_items[1].type');
    for (const quantity of [0, '1', -1]) assert.equal(field({ ...ITEM, quantity }), 'line_items[1].quantity');
    assert.equal(field({ ...ITEM, price: { value: 1 } }), 'line_items[1].price.currency_code');
    assert.equal(field({ ...ITEM, price: { currency_code: 'BRL', value: '1' } }), 'line_items[1].price.value');
    assert.equal(field({ ...ITEM, price: parseJson('{"currency_code":"BRL","value":1.50}') }), undefined);
    assert.equal(field({ ...ITEM, category: { id: '1' } }), 'line_items[1].category.name');
  });
});
