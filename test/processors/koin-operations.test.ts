import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { parseJson } from '../../src/kernel/json.ts';
import {
  CARD,
  historyOf,
  ITEM,
  KoinFixture,
  money,
  ORDER,
  ORDER_WITH_ANTIFRAUD,
  refOf,
  subject,
  toSummary,
} from './koin-fixture.ts';

const fixture = new KoinFixture();
const { fake } = fixture;
const { ledger } = fake;
const bookOf = (key: string) => {
  const order = ledger.orders.get(key);
  assert.ok(order);
  return order;
};

describe('KOIN', () => {
  before(() => fixture.start());
  after(() => fixture.stop());
  afterEach(() => assert.deepEqual(fake.violations, []));

  it('can neither sell in one call nor capture in part', () =>
    assert.deepEqual(fixture.koin.capabilities, { sale: false, partialCapture: false, notFoundThreshold: 3 }));

  it('authorizes, with our operation reference', async () => {
    const key = fixture.newKey();
    const outcome = await fixture.authorize(key);
    const { id, businessId, country, status, notificationUrls } = bookOf(refOf(key));
    assert.deepEqual([businessId, country, status, notificationUrls], ['shop-1', 'BR', 'Authorized', []]);
    assert.equal(outcome.kind, 'approved');
    const { expiresAt, ...particulars } = outcome.kind === 'approved' ? outcome.details : {};
    assert.deepEqual(particulars, {
      processorId: id,
      responseCode: '00',
      reconciliationId: id.slice(-6),
      approvalCode: '123456',
      networkId: `acq-${id.slice(-4)}`,
    });
    assert.ok(expiresAt !== undefined && expiresAt > 0);
    assert.equal(toSummary(outcome), 'approved');
  });

  it('sends the members of its contract: document, phone, store, descriptor, installments, items amount, notifications', async () => {
    const key = fixture.newKey();
    const cardholder = {
      ...ORDER.cardholder,
      documentType: 'CPF',
      documentNumber: '123.456.789-09',
      phoneAreaCode: '11',
      phoneNumber: '999999999',
    };
    const order = {
      ...ORDER,
      cardholder,
      descriptor: 'Books',
      installments: 12,
      itemsAmount: money(100n),
      notificationUrl: 'https://vault.example/notifications/koin/abc',
    };
    assert.equal(
      (await fixture.authorize(key, order, { 'store-code': 'SHOP', 'country-code': 'BR' })).kind,
      'approved',
    );
    assert.deepEqual(bookOf(refOf(key)).notificationUrls, ['https://vault.example/notifications/koin/abc']);
  });

  it('omits a reference code that KOIN does not accept', async () => {
    for (const referenceCode of ['with blank', 'x'.repeat(51), undefined]) {
      const key = fixture.newKey();
      assert.equal((await fixture.authorize(key, { ...ORDER, referenceCode })).kind, 'approved');
      assert.equal(bookOf(refOf(key)).businessId, undefined);
    }
  });

  it('sends buyer, items and session with antifraud, and only the item members that KOIN defines', async () => {
    const price = parseJson('{"currency_code":"BRL","value":1.05,"note":"x"}');
    const lineItems = [
      ITEM,
      { ...ITEM, price, colour: 'red', seller_id: 'me', category: { id: '1', name: 'n', more: 1 } },
    ];
    const address = { address1: 'Rua 1', city: 'Sao Paulo', state: 'SP', postalCode: '01000-000' };
    const people = [
      {},
      address,
      { ...address, state: undefined },
      { phoneNumber: '999' },
      { phoneNumber: '999', phoneAreaCode: '11', phoneType: 'Mobile' },
      { documentType: 'DNI', documentNumber: '30.123.456', documentNationality: 'AR' },
    ];
    for (const person of people) {
      const order = {
        ...ORDER_WITH_ANTIFRAUD,
        lineItems,
        ipAddress: '192.0.2.1',
        cardholder: { ...ORDER_WITH_ANTIFRAUD.cardholder, ...person },
      };
      const settings = { antifraud: 'true', 'store-category': '5942' };
      assert.equal((await fixture.authorize(fixture.newKey(), order, settings)).kind, 'approved');
    }
  });

  it('without antifraud accepts documents of other countries in Argentina only', async () => {
    for (const country of ['AR', 'CO']) {
      const cardholder = { country, documentType: 'DNI', documentNumber: '30123456' };
      assert.equal((await fixture.authorize(fixture.newKey(), { ...ORDER, cardholder })).kind, 'approved');
    }
  });

  it('captures the full amount, and returns no id of its own', async () => {
    const first = await fixture.authorized();
    const outcome = await fixture.capture(first);
    assert.equal(toSummary(outcome), 'approved');
    assert.equal(outcome.kind === 'approved' && outcome.details.processorId, undefined);
    assert.equal(bookOf(first.operationRef).captures, 1);
    assert.equal(toSummary(await fixture.inquire(first)), 'approved, captured');
  });

  it('never captures another amount', async () => {
    const first = await fixture.authorized();
    const call = fixture.call(fixture.newKey());
    const outcome = await fixture.koin.capture(call, historyOf(first), money(1n));
    assert.equal(toSummary(outcome), 'Declined InvalidData');
    assert.equal(bookOf(first.operationRef).captures, 0);
  });

  it('finds the order by our reference when KOIN’s id is unknown', async () => {
    const first = await fixture.authorized();
    const nameless = { ...first, processorId: undefined };
    assert.equal(toSummary(await fixture.capture(nameless)), 'approved');
    assert.equal(toSummary(await fixture.refund(nameless, money(1n))), 'approved');
    const other = { ...(await fixture.authorized()), processorId: undefined };
    assert.equal(toSummary(await fixture.void(other)), 'approved');
    const unknown = subject('authorization', fixture.newKey(), ORDER.amount);
    assert.equal(toSummary(await fixture.capture(unknown)), 'Declined InvalidData');
    assert.equal(toSummary(await fixture.void(unknown)), 'Declined InvalidData');
  });

  it('accepts an automatic capture of KOIN as the capture', async () => {
    const first = await fixture.collected();
    assert.equal(toSummary(await fixture.capture(first)), 'approved');
    assert.equal(bookOf(first.operationRef).captures, 0);
  });

  it('refuses a capture after a void, and a void after a capture', async () => {
    const first = await fixture.authorized();
    assert.equal(toSummary(await fixture.void(first)), 'approved');
    assert.equal(toSummary(await fixture.capture(first)), 'Declined InvalidData');
    const second = await fixture.collected();
    assert.equal(toSummary(await fixture.void(second)), 'Declined InvalidData');
    assert.equal(bookOf(second.operationRef).status, 'Collected');
  });

  it('voids once and confirms a second void', async () => {
    for (const status of ['Authorized', 'Opened'] as const) {
      const first = await fixture.authorized();
      fake.setStatus(first.operationRef, status);
      assert.equal(toSummary(await fixture.void(first)), 'approved');
      assert.equal(toSummary(await fixture.void(first)), 'approved');
      assert.equal(bookOf(first.operationRef).cancels, 1);
    }
  });

  it('refunds in parts up to the amount, each with its reference', async () => {
    const first = await fixture.collected(money(1000n));
    const key = fixture.newKey();
    const outcome = await fixture.refund(first, money(400n), { key });
    const [booked] = bookOf(first.operationRef).refunds;
    assert.deepEqual(outcome, { kind: 'approved', details: { processorId: booked?.id, responseCode: '00' } });
    assert.equal(booked?.reference, refOf(key));
    assert.equal(toSummary(await fixture.refund(first, money(601n))), 'Declined InvalidData');
    assert.equal(toSummary(await fixture.refund(first, money(600n))), 'approved');
    assert.equal(toSummary(await fixture.refund(first, money(1n))), 'Declined InvalidData');
    const uncollected = await fixture.authorized();
    assert.equal(toSummary(await fixture.refund(uncollected, money(1n))), 'Declined InvalidData');
  });

  it('reports refunds in progress and failed ones', async () => {
    const first = await fixture.collected();
    fake.inject({ on: 'refund', do: { becomes: 'InProgress' } });
    fake.inject({ on: 'refund', do: { becomes: 'Failed' } });
    assert.equal(toSummary(await fixture.refund(first, money(1n))), 'pending');
    assert.equal(toSummary(await fixture.refund(first, money(1n))), 'ProcessorError Undefined');
  });

  it('reports an order that changes later', async () => {
    const key = fixture.newKey();
    fake.inject({ on: 'create', do: { becomes: 'Opened' } });
    assert.equal(toSummary(await fixture.authorize(key)), 'pending');
    const first = subject('authorization', key, ORDER.amount, bookOf(refOf(key)).id);
    const changes = [
      ['Opened', 'pending'],
      ['Authorized', 'approved'],
      ['Collected', 'approved, captured'],
      ['Cancelled', 'reversed'],
      ['Voided', 'reversed'],
    ] as const;
    for (const [status, expected] of changes) {
      fake.setStatus(refOf(key), status);
      assert.equal(toSummary(await fixture.inquire(first)), expected);
      assert.equal(toSummary(await fixture.inquire({ ...first, processorId: undefined })), expected);
    }
    fake.setStatus(refOf(key), 'Failed', 'Antifrad');
    assert.equal(toSummary(await fixture.inquire(first)), 'Declined Antifraud');
  });

  it('uses the hosts of the settings', async () => {
    const key = fixture.newKey();
    const elsewhere = new KoinFixture();
    await elsewhere.start();
    // The card is sent to one host, the order to the other, which has never seen its token.
    const call = elsewhere.call(key, { 'tokenize-url': fixture.call(key).settings['base-url'] ?? '' });
    assert.equal(toSummary(await elsewhere.koin.authorize(call, ORDER, CARD)), 'Declined InvalidData');
    assert.deepEqual([elsewhere.fake.requests, fake.requests.at(-1)], [['create'], 'tokenize']);
    await elsewhere.stop();
  });

  it('accepts single, duplicate and late notifications of the fake', async () => {
    const heard: string[] = [];
    const other = new KoinFixture({
      deliver: async (url, body) => heard.push(`${url} ${JSON.parse(body).status.type}`),
    });
    await other.start();
    const key = other.newKey();
    await other.authorize(key, { ...ORDER, notificationUrl: 'https://vault.example/n' });
    await other.fake.notify(refOf(key));
    other.fake.setStatus(refOf(key), 'Collected');
    await other.fake.notify(refOf(key), { times: 2, late: 5 });
    await other.stop();
    assert.deepEqual(
      heard,
      ['Authorized', 'Collected', 'Collected'].map((name) => `https://vault.example/n ${name}`),
    );
  });
});
