import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { buildOrder, CURRENCIES, USD } from '../../../../test/fixtures/payment-fixtures.ts';
import { minorUnitDigits } from '../../../kernel/currency.ts';
import { parseExpiry } from '../../../kernel/expiry.ts';
import { parsePan } from '../../../kernel/pan.ts';
import type { CardData, Order } from '../../processor.ts';
import {
  buildAmountBody,
  buildPaymentBody,
  buildReversalBody,
  buildSearchBody,
  buildTimeoutVoidBody,
  findCardType,
} from './request-bodies.ts';

const KEY = 'abcdefghijklmnopqrstuvwxy';
const REF = `REF-1.${KEY}`;
const NAMES = { operationId: KEY, operationRef: REF };
const amount = { minor: 1050n, currency: USD };

const pan = parsePan('4111111111111111');
const expiry = parseExpiry('03/29');
assert.ok(pan && expiry);
const card: CardData = { pan, expiry, securityCode: undefined, holder: undefined };
const bare = buildOrder({ amount });

type Sent = {
  clientReferenceInformation: unknown;
  orderInformation: { amountDetails: unknown; billTo?: Record<string, string> };
};

describe('a payment', () => {
  test('with the required fields only has no empty members', () => {
    assert.deepEqual(buildPaymentBody(NAMES, bare, card), {
      clientReferenceInformation: { code: REF, transactionId: KEY },
      processingInformation: { capture: false, commerceIndicator: 'internet' },
      paymentInformation: {
        card: { number: '4111111111111111', expirationMonth: '03', expirationYear: '2029', type: '001' },
      },
      orderInformation: { amountDetails: { totalAmount: '10.50', currency: 'USD' } },
    });
  });

  test('with all fields has each in its member, and neither identity document nor line items', () => {
    const order: Order = {
      ...bare,
      capture: true,
      itemsAmount: amount,
      referenceCode: 'REF-1',
      installments: 3,
      descriptor: 'A shop with a name that is too long',
      cardholder: {
        firstName: 'Ana',
        documentType: 'CC',
        documentNumber: '123',
        phoneAreaCode: '57',
        phoneNumber: '601',
      },
      billTo: {
        firstName: 'Other',
        lastName: 'Lopez',
        country: 'CO',
        address1: 'Calle 1',
        address2: 'Apto 2',
        city: 'Bogota',
        state: 'DC',
        postalCode: '110111',
        email: 'ana@example.com',
      },
      ipAddress: '192.0.2.1',
      fingerprintSessionId: 'session',
      lineItems: [{ name: 'thing' }],
      notificationUrl: 'https://example.com/',
    };
    assert.deepEqual(buildPaymentBody(NAMES, order, { ...card, securityCode: '123', holder: 'Not Used' }), {
      clientReferenceInformation: { code: REF, transactionId: KEY, comments: 'REF-1' },
      processingInformation: { capture: true, commerceIndicator: 'internet' },
      paymentInformation: {
        card: {
          number: '4111111111111111',
          expirationMonth: '03',
          expirationYear: '2029',
          securityCode: '123',
          type: '001',
        },
      },
      orderInformation: {
        amountDetails: { totalAmount: '10.50', currency: 'USD' },
        billTo: {
          firstName: 'Ana',
          lastName: 'Lopez',
          address1: 'Calle 1',
          address2: 'Apto 2',
          locality: 'Bogota',
          administrativeArea: 'DC',
          postalCode: '110111',
          country: 'CO',
          email: 'ana@example.com',
          phoneNumber: '57601',
        },
      },
      deviceInformation: { ipAddress: '192.0.2.1', fingerprintSessionId: 'session' },
      installmentInformation: { totalCount: 3 },
      merchantInformation: { merchantDescriptor: { name: 'A shop with a name tha' } },
    });
  });

  test('sends no reference that reads as a card number', () => {
    const { clientReferenceInformation: names } = buildPaymentBody(
      NAMES,
      { ...bare, referenceCode: 'order 4111 1111 1111 1111' },
      card,
    ) as Sent;
    assert.deepEqual(names, { code: REF, transactionId: KEY });
  });

  test('uses the name on the card when there is no name of the payer', () => {
    const billTo = (order: Order, holder: string): unknown =>
      (buildPaymentBody(NAMES, order, { ...card, holder }) as Sent).orderInformation.billTo;
    assert.deepEqual(billTo(bare, ' Ana  Maria Lopez '), { firstName: 'Ana Maria', lastName: 'Lopez' });
    assert.deepEqual(billTo(bare, 'Ana'), { lastName: 'Ana' });
    assert.equal(billTo(bare, ' '), undefined);
    assert.deepEqual(billTo({ ...bare, billTo: { lastName: 'Ruiz' } }, 'Ana Lopez'), { lastName: 'Ruiz' });
  });

  test('splits no character of a descriptor', () => {
    const sent = buildPaymentBody(NAMES, { ...bare, descriptor: `${'x'.repeat(21)}😀yz` }, card);
    assert.deepEqual(sent['merchantInformation'], { merchantDescriptor: { name: `${'x'.repeat(21)}😀` } });
  });

  test('in one installment has no installment member', () => {
    assert.equal('installmentInformation' in buildPaymentBody(NAMES, { ...bare, installments: 1 }, card), false);
  });
});

describe('amounts', () => {
  test('are decimal texts with all decimals of the currency, whatever it is', () => {
    assert.ok(CURRENCIES.length > 170);
    const anyAmount = fc.record({ minor: fc.bigInt(1n, 10n ** 16n - 1n), currency: fc.constantFrom(...CURRENCIES) });
    fc.assert(
      fc.property(anyAmount, (money) => {
        const digits = minorUnitDigits(money.currency);
        const bodies = [
          (buildPaymentBody(NAMES, { ...bare, amount: money }, card) as Sent).orderInformation.amountDetails,
          (buildAmountBody(NAMES, money) as Sent).orderInformation.amountDetails,
          (buildReversalBody(REF, money, 'void') as { reversalInformation: { amountDetails: unknown } })
            .reversalInformation.amountDetails,
        ];
        for (const body of bodies) {
          const { totalAmount, currency: code } = body as { totalAmount: string; currency: string };
          assert.equal(code, money.currency);
          const [integer = '', fraction = ''] = totalAmount.split('.');
          assert.equal(fraction.length, digits);
          assert.equal(totalAmount.includes('.'), digits > 0);
          assert.match(integer, /^(0|[1-9][0-9]*)$/);
          assert.equal(BigInt(integer) * 10n ** BigInt(digits) + BigInt(fraction || '0'), money.minor);
        }
      }),
    );
  });
});

describe('the other bodies', () => {
  test('have their required members and nothing else', () => {
    const amountDetails = { totalAmount: '10.50', currency: 'USD' };
    assert.deepEqual(buildAmountBody(NAMES, amount), {
      clientReferenceInformation: { code: REF, transactionId: KEY },
      orderInformation: { amountDetails },
    });
    assert.deepEqual(buildReversalBody(REF, amount, 'void'), {
      clientReferenceInformation: { code: REF },
      reversalInformation: { amountDetails, reason: 'void' },
    });
    assert.deepEqual(buildReversalBody(REF, amount, 'timeout', 'other'), {
      clientReferenceInformation: { code: REF, transactionId: 'other' },
      reversalInformation: { amountDetails, reason: 'timeout' },
    });
    assert.deepEqual(buildTimeoutVoidBody(REF, 'other'), {
      clientReferenceInformation: { code: REF, transactionId: 'other' },
    });
    assert.deepEqual(buildSearchBody(REF), {
      query: `clientReferenceInformation.code:${REF}`,
      sort: 'submitTimeUtc:desc',
      offset: 0,
      limit: 20,
      save: false,
    });
  });
});

test('the card type is sent where the first digits are unambiguous', () => {
  const TYPES: Readonly<Record<string, string | undefined>> = {
    4111111111111111: '001',
    5555555555554444: '002',
    2222420000001113: '002',
    2720990000000007: '002',
    2721000000000004: undefined,
    378282246310005: '003',
    6011111111111117: '004',
    36555500001111: '005',
    3566111111111113: '007',
    6200000000000005: '062',
    4389350000000007: '054',
    6500310000000003: undefined,
    6759411100000008: undefined,
  };
  for (const [number, type] of Object.entries(TYPES)) {
    const read = parsePan(number);
    assert.ok(read);
    assert.equal(findCardType(read), type, number);
  }
});
