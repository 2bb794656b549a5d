import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Environment } from '../../src/kernel/environment.ts';
import { parseJson } from '../../src/kernel/json.ts';
import type { Order, Party, ProcessorCall, ProcessorSettings } from '../../src/payments/processor.ts';
import { buildUrl, KOIN_SETTINGS } from '../../src/payments/processors/koin/client.ts';
import {
  buildOrderBody,
  buildRefundBody,
  buildTokenizeBody,
  resolveCountry,
} from '../../src/payments/processors/koin/request-bodies.ts';
import { type ConfiguredSettings, mergeSettings } from '../../src/payments/settings.ts';
import { CARD, ITEM, money, ORDER, withoutCardData } from './koin-fixture.ts';

const KEY = 'abcdefghijklmnopqrstuvwxy';
const TOKEN = 'f0'.repeat(100);
const call = (settings: ProcessorSettings, environment: Environment = 'sandbox'): ProcessorCall => ({
  tenant: { account: 'acc_1', environment },
  settings: { account: 'ACC', antifraud: 'false', ...settings },
  operationId: KEY,
  operationRef: KEY,
  signal: new AbortController().signal,
});

const CARDHOLDER: Party = {
  firstName: 'Ana',
  lastName: 'Silva',
  country: 'br',
  address1: 'Rua 1',
  address2: 'apto 2',
  city: 'Sao Paulo',
  state: 'SP',
  postalCode: '01000-000',
  email: 'ana@example.com',
  phoneNumber: '999999999',
  phoneType: 'Mobile',
  phoneAreaCode: '11',
  documentType: 'CPF',
  documentNumber: '123.456.789-09',
  documentNationality: 'BR',
};

const FULL: Order = {
  ...ORDER,
  capture: true,
  amount: money(150056n),
  itemsAmount: money(150050n),
  referenceCode: 'shop#1.a_b-c',
  installments: 3,
  descriptor: 'Books',
  cardholder: CARDHOLDER,
  ipAddress: '192.0.2.1',
  fingerprintSessionId: 'session-1',
  lineItems: [parseJson(JSON.stringify({ ...ITEM, more: 1 }).replace('"value":10', '"value":10.50'))],
  notificationUrl: 'https://vault.example/notifications/koin/abc',
};
const SETTINGS = { 'store-code': 'SHOP', 'store-category': '5942' };

const COMMON = {
  transaction: {
    reference_id: KEY,
    business_id: 'shop#1.a_b-c',
    account: 'ACC',
    amount: {
      currency_code: 'BRL',
      value: 1500.56,
      breakdown: { items: { currency_code: 'BRL', value: 1500.5 } },
    },
  },
  payment_method: { code: 'CARD', secure_token: TOKEN, installments: 3 },
  notification_url: ['https://vault.example/notifications/koin/abc'],
  country_code: 'BR',
  descriptor: 'Books',
};
const PERSON = {
  first_name: 'Ana',
  last_name: 'Silva',
  email: 'ana@example.com',
  document: { type: 'cpf', number: '12345678909', nationality: 'BR' },
  address: {
    street: 'Rua 1',
    complement: 'apto 2',
    city: 'Sao Paulo',
    state: 'SP',
    zip_code: '01000-000',
    country_code: 'BR',
  },
};

describe('a request to KOIN', () => {
  it('for the card', () => {
    assert.deepEqual(buildTokenizeBody(KEY, CARD), {
      transaction: { reference_id: KEY },
      card: {
        number: CARD.pan,
        expiration_month: '04',
        expiration_year: '2031',
        security_code: CARD.securityCode,
        holder_name: 'ANA SILVA',
      },
    });
  });

  it('has no reference that reads as a card number', () => {
    const order = { ...FULL, referenceCode: CARD.pan };
    const { transaction } = JSON.parse(JSON.stringify(withoutCardData(buildOrderBody(call(SETTINGS), order, TOKEN))));
    const { business_id: _, ...rest } = COMMON.transaction;
    assert.deepEqual(transaction, rest);
  });

  it('for an order without antifraud has no name, address, email, session or item', () => {
    const body = withoutCardData(buildOrderBody(call(SETTINGS), FULL, TOKEN));
    assert.deepEqual(JSON.parse(JSON.stringify(body)), {
      ...COMMON,
      store: { code: 'SHOP' },
      payer: { document: { type: 'cpf', number: '12345678909' }, phone: { area: '11', number: '999999999' } },
    });
  });

  it('for an order with antifraud', () => {
    const text = JSON.stringify(withoutCardData(buildOrderBody(call({ ...SETTINGS, antifraud: 'true' }), FULL, TOKEN)));
    assert.deepEqual(JSON.parse(text), {
      ...COMMON,
      store: { code: 'SHOP', category: '5942' },
      session_id: 'session-1',
      ip_address: '192.0.2.1',
      payer: { ...PERSON, phone: { area: '11', number: '999999999', type: 'Mobile' } },
      buyer: { ...PERSON, phone: { area_code: '11', number: '999999999', type: 'Mobile' } },
      items: [{ ...ITEM, price: { currency_code: 'BRL', value: 10.5 } }],
    });
    assert.ok(text.includes('"value":10.50'), 'amounts of items stay as they were written');
  });

  it('for an order with the required fields only', () => {
    const order = { ...ORDER, referenceCode: undefined, cardholder: undefined, billTo: { country: 'CO' } };
    assert.deepEqual(JSON.parse(JSON.stringify(buildOrderBody(call({}), order, TOKEN))), {
      transaction: { reference_id: KEY, account: 'ACC', amount: { currency_code: 'BRL', value: 1500.56 } },
      payment_method: { code: 'CARD', secure_token: TOKEN, installments: 1 },
      notification_url: [],
      country_code: 'CO',
      payer: {},
    });
  });

  it('for a refund', () => {
    assert.equal(
      JSON.stringify(buildRefundBody(KEY, money(1050n))),
      `{"transaction":{"reference_id":"${KEY}"},"amount":{"currency_code":"BRL","value":10.5}}`,
    );
  });

  it('has the country of the setting rather than that of the payer', () => {
    assert.equal(resolveCountry(FULL, { 'country-code': 'AR' }), 'AR');
    assert.equal(resolveCountry({ ...FULL, cardholder: {}, billTo: { country: 'uy' } }, {}), 'UY');
  });
});

describe('the settings of KOIN', () => {
  const addresses = (settings: ProcessorSettings, environment: Environment) =>
    (['payments', 'tokenize'] as const).map((api) => buildUrl(call(settings, environment), api, '/v1/x').href);

  it('have the addresses of the environment by default', () => {
    assert.deepEqual(addresses({}, 'sandbox'), [
      'https://api-sandbox.koin.com.br/v1/x',
      'https://api-sandbox.koin.com.br/v1/x',
    ]);
    assert.deepEqual(addresses({}, 'production'), [
      'https://api-payments.koin.com.br/v1/x',
      'https://api-secure.koin.com.br/v1/x',
    ]);
  });

  it('use the address of orders for the card exchange unless another one is set', () => {
    const base = { 'base-url': 'https://koin.example/api/' };
    assert.deepEqual(addresses(base, 'production'), ['https://koin.example/api/v1/x', 'https://koin.example/api/v1/x']);
    const both = { ...base, 'tokenize-url': 'https://cards.example' };
    assert.deepEqual(addresses(both, 'sandbox'), ['https://koin.example/api/v1/x', 'https://cards.example/v1/x']);
    assert.equal(
      addresses({ 'tokenize-url': 'https://cards.example' }, 'production')[0],
      'https://api-payments.koin.com.br/v1/x',
    );
  });

  const NEEDED: ConfiguredSettings = { account: 'SBX000', 'private-key': 'sk_0123456789' };

  it('require the account and the private key, which is secret', () => {
    assert.deepEqual(mergeSettings(KOIN_SETTINGS, {}, NEEDED), NEEDED);
    for (const name of Object.keys(NEEDED))
      assert.throws(() => mergeSettings(KOIN_SETTINGS, NEEDED, { [name]: '' }), { code: 'usage' });
    assert.deepEqual(
      Object.entries(KOIN_SETTINGS).flatMap(([name, each]) => ('secret' in each ? [name] : [])),
      ['private-key'],
    );
  });

  it('reject invalid values', () => {
    const wrong = {
      'base-url': ['koin.example', 'http://koin.example', 'https://koin.example/?a=1'],
      'tokenize-url': ['ftp://x'],
      'notification-url': ['http://vault.example'],
      'private-key': ['has blank', 'line\nbreak', 'ключ'],
      account: ['a b', 'x'.repeat(65)],
      'store-code': ['a b'],
      'store-category': ['59', '59421', 'abcd'],
      'country-code': ['br', 'BRA', 'B1'],
      antifraud: ['yes', 'TRUE'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values)
        assert.throws(
          () => mergeSettings(KOIN_SETTINGS, NEEDED, { [name]: value }),
          { code: 'usage' },
          `${name} ${value}`,
        );
    }
    assert.deepEqual(Object.keys(wrong).sort(), Object.keys(KOIN_SETTINGS).sort());
  });
});
