import { formatDecimal, type Money } from '../../../kernel/money.ts';
import { type Pan, truncateReference } from '../../../kernel/pan.ts';
import { type CardData, type OperationNames, type Order, resolvePayer } from '../../processor.ts';

/**
 * The bodies of requests. `code`, which is searchable, is our operation reference and never the merchant's reference alone:
 * only then does a search find transactions that are certainly ours, and no two operations look like duplicates.
 * `transactionId` is our id. The merchant's whole reference is sent in `comments`, unless it reads as a card number.
 */

type Body = Readonly<Record<string, unknown>>;

/** Maximum length of the descriptor on statements; the networks cut off the rest. */
const DESCRIPTOR_CHARACTERS = 22;

/**
 * The card type where the first digits are unambiguous. Elo has ranges inside those of others; where it shares them, no
 * type is sent.
 */
const CARD_TYPES: readonly (readonly [RegExp, string])[] = [
  [/^(40117[89]|431274|438935|45141[67]|457393|45763[12]|504175|5067|509|627780|636297|636368)/, '054'],
  [/^4/, '001'],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, '002'],
  [/^3[47]/, '003'],
  [/^(6011|64[4-9])/, '004'],
  [/^(30[0-5]|36|3[89])/, '005'],
  [/^35(2[89]|[3-8])/, '007'],
  [/^62/, '062'],
];

export const findCardType = (pan: Pan): string | undefined => CARD_TYPES.find(([prefix]) => prefix.test(pan))?.[1];

const omitPan = (text: string | undefined): string | undefined =>
  text !== undefined && truncateReference(text) !== text ? undefined : text;

export const buildPaymentBody = (names: OperationNames, order: Order, card: CardData): Body =>
  withoutEmpty({
    clientReferenceInformation: { ...buildNames(names), comments: omitPan(order.referenceCode) },
    processingInformation: { capture: order.capture, commerceIndicator: 'internet' },
    paymentInformation: { card: buildCard(card) },
    orderInformation: { amountDetails: buildAmount(order.amount), billTo: buildBillTo(order, card) },
    deviceInformation: { ipAddress: order.ipAddress, fingerprintSessionId: order.fingerprintSessionId },
    installmentInformation: {
      totalCount: order.installments !== undefined && order.installments > 1 ? order.installments : undefined,
    },
    merchantInformation: { merchantDescriptor: { name: truncateText(order.descriptor, DESCRIPTOR_CHARACTERS) } },
  });

/** The body of a capture or refund. */
export const buildAmountBody = (names: OperationNames, amount: Money): Body => ({
  clientReferenceInformation: buildNames(names),
  orderInformation: { amountDetails: buildAmount(amount) },
});

/**
 * The body of a reversal. `reversedId` is our id of the operation of a time-out reversal; other
 * reversals name it in the path.
 */
export const buildReversalBody = (operationRef: string, amount: Money, reason: string, reversedId?: string): Body =>
  withoutEmpty({
    clientReferenceInformation: { code: operationRef, transactionId: reversedId },
    reversalInformation: { amountDetails: buildAmount(amount), reason },
  });

export const buildTimeoutVoidBody = (operationRef: string, reversedId: string): Body => ({
  clientReferenceInformation: { code: operationRef, transactionId: reversedId },
});

/** References are letters, digits and `_.-` after one of them, which have no special meaning in the query language. */
export const buildSearchBody = (operationRef: string): Body => ({
  query: `clientReferenceInformation.code:${operationRef}`,
  sort: 'submitTimeUtc:desc',
  offset: 0,
  limit: 20,
  save: false,
});

const buildNames = ({ operationId, operationRef }: OperationNames): Body => ({
  code: operationRef,
  transactionId: operationId,
});

/** Cuts no character in two. */
const truncateText = (text: string | undefined, characters: number): string | undefined =>
  text === undefined ? undefined : [...text].slice(0, characters).join('');

const buildAmount = (money: Money): Body => ({ totalAmount: formatDecimal(money), currency: money.currency });

const buildCard = ({ pan, expiry, securityCode }: CardData): Body => ({
  number: pan,
  expirationMonth: expiry.month,
  expirationYear: `20${expiry.year}`,
  securityCode,
  type: findCardType(pan),
});

function buildBillTo(order: Order, card: CardData): Body {
  const payer = resolvePayer(order);
  const hasName = payer.firstName !== undefined || payer.lastName !== undefined;
  const { firstName, lastName } = hasName ? payer : splitHolderName(card.holder);
  const { address1, address2, postalCode, country, email } = payer;
  const phone = `${payer.phoneAreaCode ?? ''}${payer.phoneNumber ?? ''}`;
  return {
    firstName,
    lastName,
    address1,
    address2,
    locality: payer.city,
    administrativeArea: payer.state,
    postalCode,
    country,
    email,
    phoneNumber: payer.phoneNumber === undefined ? undefined : phone,
  };
}

/** Splits the cardholder's name into its last word and the words before it. */
function splitHolderName(holder: string | undefined): { firstName: string | undefined; lastName: string | undefined } {
  const words = holder?.trim().split(/\s+/) ?? [];
  const lastName = words.pop();
  return {
    firstName: words.length === 0 ? undefined : words.join(' '),
    lastName: lastName === '' ? undefined : lastName,
  };
}

/** Removes undefined members, and objects that contain nothing else. */
function withoutEmpty(body: Body): Body {
  const members = Object.entries(body).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null) return value === undefined ? [] : [[name, value] as const];
    const inner = withoutEmpty(value as Body);
    return Object.keys(inner).length === 0 ? [] : [[name, inner] as const];
  });
  return Object.fromEntries(members);
}
