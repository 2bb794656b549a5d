import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { FakeKoin } from './fake-koin.ts';

const fake = new FakeKoin({ now: () => 0 });
let url = '';

const HEADERS = { authorization: 'Bearer sk_test', accept: 'application/json', 'content-type': 'application/json' };

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = HEADERS) {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${url}/v1/payment${path}`, {
    method,
    headers,
    ...(text === undefined ? {} : { body: text }),
  });
  const answer = await response.text();
  return { status: response.status, body: answer.startsWith('{') ? JSON.parse(answer) : answer };
}

const CARD = {
  number: '4111111111111111',
  expiration_month: '04',
  expiration_year: '2031',
  security_code: '123',
  holder_name: 'A',
};
const ORDER = {
  transaction: { reference_id: 'r', account: 'ACC', amount: { currency_code: 'BRL', value: 10.5 } },
  payment_method: { code: 'CARD', installments: 1 },
  country_code: 'BR',
  payer: {},
  notification_url: [],
};
let count = 0;

async function create(change: (order: typeof ORDER & { [key: string]: unknown }) => unknown = (order) => order) {
  const reference_id = `r${++count}`;
  const { body } = await send('POST', '/tokenize', { transaction: { reference_id }, card: CARD });
  const order = {
    ...ORDER,
    transaction: { ...ORDER.transaction, reference_id },
    payment_method: { ...ORDER.payment_method, secure_token: body.secure_token },
  };
  return { reference_id, order, ...(await send('POST', '/orders', change(order))) };
}

describe('the fake KOIN', () => {
  before(async () => {
    url = (await fake.start()).url;
  });
  after(() => fake.stop());
  beforeEach(() => {
    fake.violations.length = 0;
  });

  it('accepts what the contract allows', async () => {
    const { status, body, reference_id } = await create();
    assert.deepEqual([status, body.status.type, body.transaction.authorization_code], [200, 'Authorized', '123456']);
    const found = await send('GET', `/orders?reference_id=${reference_id}`);
    assert.deepEqual([found.body.order_id, found.body.transaction.authorization_code], [body.order_id, undefined]);
    assert.deepEqual(fake.violations, []);
  });

  it('has its paths, methods and headers', async () => {
    assert.equal((await send('GET', '/tokenize')).status, 404);
    assert.equal((await send('PUT', '/orders/x/capture')).status, 404);
    assert.equal(fake.violations.length, 2);
    assert.equal((await send('GET', '/orders/x', undefined, { ...HEADERS, authorization: 'Bearer sk' })).status, 401);
    await send('GET', '/orders/x', undefined, { authorization: 'Bearer sk_test' });
    assert.deepEqual(fake.violations.slice(2), ['get: header accept', 'get: header content-type']);
  });

  it('checks cards field by field', async () => {
    const wrong = [
      { ...CARD, number: '4111' },
      { ...CARD, expiration_month: '4' },
      { ...CARD, expiration_year: '31' },
      { ...CARD, security_code: '12' },
      { ...CARD, holder_name: '' },
      { ...CARD, brand: 'VI' },
      ...Object.keys(CARD).map((name) => ({ ...CARD, [name]: undefined })),
    ];
    for (const card of wrong) {
      fake.violations.length = 0;
      const { status } = await send('POST', '/tokenize', { transaction: { reference_id: `w${++count}` }, card });
      assert.deepEqual([status, fake.violations.length], [400, 1], JSON.stringify(card));
    }
  });

  it('checks orders field by field', async () => {
    const changes: ((order: typeof ORDER & { [key: string]: unknown }) => unknown)[] = [
      ...Object.keys(ORDER).map((name) => (order: object) => ({ ...order, [name]: undefined })),
      (order) => ({ ...order, capture: true }),
      (order) => ({ ...order, country_code: 'BRA' }),
      (order) => ({ ...order, notification_url: 'https://x' }),
      (order) => ({ ...order, descriptor: 'x'.repeat(141) }),
      (order) => ({ ...order, country_code: 'AR' }),
      (order) => ({ ...order, payer: { document: { type: 'dni', number: '1' } } }),
      (order) => ({ ...order, payer: { document: { type: 'cpf', number: '1' } } }),
      (order) => ({ ...order, payer: { first_name: 'A' } }),
      (order) => ({ ...order, session_id: 's' }),
      (order) => ({ ...order, payment_method: { ...order.payment_method, installments: '1' } }),
      (order) => ({ ...order, transaction: { ...order.transaction, account: 'OTHER' } }),
      (order) => ({ ...order, transaction: { ...order.transaction, business_id: 'a b' } }),
      (order) => JSON.stringify(order).replace('10.5', '10.505'),
      (order) => JSON.stringify(order).replace('10.5', '12345678901'),
      (order) => JSON.stringify(order).replace('10.5', '"10.5"'),
      (order) => JSON.stringify(order).slice(1),
    ];
    for (const change of changes) {
      fake.violations.length = 0;
      const { status, reference_id } = await create(change);
      assert.equal(status, 400, String(change));
      assert.ok(fake.violations.length > 0, String(change));
      assert.equal(fake.ledger.orders.has(reference_id), false);
    }
  });

  it('accepts a token once, and only for its own reference', async () => {
    const { order } = await create();
    assert.equal((await send('POST', '/orders', order)).status, 400);
    const other = await create((order) => ({ ...order, transaction: { ...order.transaction, reference_id: 'other' } }));
    assert.equal(other.status, 400);
    assert.equal((await send('POST', '/tokenize', { transaction: { reference_id: 'r1' }, card: CARD })).status, 400);
    assert.equal(fake.violations.length, 3);
  });

  it('captures, cancels and refunds by its rules', async () => {
    const { body } = await create();
    const path = `/orders/${body.order_id}`;
    const refund = (reference: string, value: number) =>
      send('PUT', `${path}/refund`, {
        transaction: { reference_id: reference },
        amount: { currency_code: 'BRL', value },
      });
    assert.equal((await refund('a', 1)).status, 400, 'not collected');
    assert.equal((await send('POST', `${path}/capture`)).body.status.type, 'Collected');
    assert.equal((await send('POST', `${path}/capture`)).status, 400);
    assert.equal((await send('PUT', `${path}/cancel`)).status, 400);
    const one = await refund('a', 10);
    assert.deepEqual(one.body.refund_id, (await refund('a', 10)).body.refund_id, 'a reference is executed once');
    assert.equal((await refund('a', 9)).status, 400);
    assert.equal((await refund('b', 0.51)).status, 400);
    assert.equal((await refund('b', 0.5)).status, 200);
    const { refunds } = (await send('GET', path)).body;
    assert.deepEqual(
      refunds.map((each: { amount: { value: number } }) => each.amount.value),
      [10, 0.5],
    );
    assert.equal((await send('GET', `${path}/refunds/${refunds[1].id}`)).body.status.type, 'Refunded');
    assert.equal((await send('GET', `${path}/refunds/none`)).status, 404);
    assert.deepEqual(fake.violations, []);
    assert.equal((await send('PUT', `${path}/cancel`, {})).status, 400);
    assert.deepEqual(fake.violations, ['cancel: a body']);
  });

  it('repeats the card number in its messages', async () => {
    const { body } = await send('POST', '/tokenize', { transaction: {}, card: CARD });
    assert.ok(body.message.includes(CARD.number));
  });
});
