import { invalidField } from '../../../kernel/failure.ts';
import { isExactNumber, isJsonObject, type Json } from '../../../kernel/json.ts';
import { formatNumber, type Money } from '../../../kernel/money.ts';
import { truncateReference } from '../../../kernel/pan.ts';
import type { OperationRefFormat } from '../../operation-ref.ts';
import {
  type CardData,
  type Order,
  type Party,
  type ProcessorCall,
  type ProcessorSettings,
  resolvePayer,
} from '../../processor.ts';
import { valueAt } from '../response-fields.ts';
import { buildAmount, textAt } from './fields.ts';

/**
 * The bodies of requests to KOIN (Payments API 1.0: TokenizeCard, PaymentCard, PaymentCardWithAntiFraud), and the
 * checks of what it would reject. Pure.
 */

type Body = { [key: string]: Json };

const REFERENCE = /^[a-zA-Z0-9_#.-]{1,50}$/;

/** The format of our operation reference; `REFERENCE` accepts it. */
export const REFERENCE_FORMAT: OperationRefFormat = { maxCharacters: 50, disallowed: /[^a-zA-Z0-9_#.-]/g };

/** The only body that contains card data. */
export const buildTokenizeBody = (operationRef: string, { pan, expiry, securityCode, holder }: CardData): Body => ({
  transaction: { reference_id: operationRef },
  card: omitUndefined({
    number: pan,
    expiration_month: expiry.month,
    expiration_year: `20${expiry.year}`,
    security_code: securityCode,
    holder_name: holder,
  }),
});

export const buildOrderBody = ({ operationRef, settings }: ProcessorCall, order: Order, secureToken: string): Body => ({
  transaction: buildTransaction(operationRef, settings, order),
  payment_method: { code: 'CARD', secure_token: secureToken, installments: order.installments ?? 1 },
  notification_url: order.notificationUrl === undefined ? [] : [order.notificationUrl],
  ...omitUndefined({
    country_code: resolveCountry(order, settings),
    descriptor: order.descriptor,
    store: buildStore(settings),
    ...(hasAntifraud(settings) ? buildAntifraud(order) : { payer: buildPayer(order, settings) }),
  }),
});

export const buildRefundBody = (operationRef: string, amount: Money): Body => ({
  transaction: { reference_id: operationRef },
  amount: buildAmount(amount),
});

const hasAntifraud = (settings: ProcessorSettings): boolean => settings['antifraud'] === 'true';

/** ISO 3166 alpha-2. */
export function resolveCountry(order: Order, settings: ProcessorSettings): string | undefined {
  return settings['country-code'] ?? toAlpha2(resolvePayer(order).country);
}

const NATIONAL_DOCUMENTS: Readonly<Record<string, RegExp>> = { cpf: /^[0-9]{11}$/, cnpj: /^[0-9A-Z]{12}[0-9]{2}$/ };

/** The payer's document as KOIN writes it; the pattern of its number is known for documents of Brazil only. */
interface PayerDocument {
  readonly type: string | undefined;
  readonly number: string | undefined;
  readonly pattern?: RegExp | undefined;
}

/** Documents of Brazil are often typed with punctuation between the digits, and their types in either case. */
function resolveDocument({ documentType: type, documentNumber: number }: Party): PayerDocument {
  const national = type?.toLowerCase() ?? '';
  if (!Object.hasOwn(NATIONAL_DOCUMENTS, national)) return { type, number };
  const pattern = NATIONAL_DOCUMENTS[national];
  return { type: national, number: number?.replace(/[ ./-]/g, '').toUpperCase(), pattern };
}

const ITEM_FIELDS = ['type', 'id', 'name', 'price', 'quantity', 'category'] as const;
const OPTIONAL_ITEM_FIELDS = ['discount_amount', 'seller_id', 'service_date'] as const;

function buildTransaction(operationRef: string, settings: ProcessorSettings, order: Order): Body {
  const { amount, itemsAmount, referenceCode = '' } = order;
  const breakdown = itemsAmount === undefined ? {} : { breakdown: { items: buildAmount(itemsAmount) } };
  return omitUndefined({
    reference_id: operationRef,
    business_id:
      REFERENCE.test(referenceCode) && truncateReference(referenceCode) === referenceCode ? referenceCode : undefined,
    account: settings['account'],
    amount: { ...buildAmount(amount), ...breakdown },
  });
}

function buildStore(settings: ProcessorSettings): Body | undefined {
  const category = hasAntifraud(settings) ? settings['store-category'] : undefined;
  return omitIfEmpty({ code: settings['store-code'], category });
}

/** The contract accepts document and phone only. */
function buildPayer(order: Order, settings: ProcessorSettings): Body {
  const person = resolvePayer(order);
  const { type, number, pattern } = resolveDocument(person);
  const isAccepted = pattern !== undefined || resolveCountry(order, settings) === 'AR';
  return omitUndefined({
    document: isAccepted ? omitIfIncomplete({ type, number }) : undefined,
    phone: omitIfIncomplete({ area: person.phoneAreaCode, number: person.phoneNumber }),
  });
}

function buildAntifraud(order: Order): Body {
  const person = resolvePayer(order);
  const { phoneAreaCode: area, phoneNumber: number, phoneType: type } = person;
  const common = buildPerson(person);
  // The two name the area differently, and only the buyer's may lack it.
  const payerPhone = omitIfIncomplete({ area, number });
  const buyerPhone = omitIfIncomplete({ number });
  return omitUndefined({
    session_id: order.fingerprintSessionId,
    ip_address: order.ipAddress,
    payer: { ...common, ...omitUndefined({ phone: payerPhone && omitUndefined({ ...payerPhone, type }) }) },
    buyer: {
      ...common,
      ...omitUndefined({ phone: buyerPhone && omitUndefined({ ...buyerPhone, area_code: area, type }) }),
    },
    items: order.lineItems.map(buildItem),
  });
}

function buildPerson(person: Party): Body {
  const { type, number } = resolveDocument(person);
  const document = omitIfIncomplete({ type, number });
  return omitUndefined({
    first_name: person.firstName,
    last_name: person.lastName,
    email: person.email,
    document: document && omitUndefined({ ...document, nationality: person.documentNationality }),
    address: buildAddress(person),
  });
}

/** KOIN rejects an address without city, state and country. */
function buildAddress({ address1, address2, city, state, postalCode, country }: Party): Body | undefined {
  const required = omitIfIncomplete({ city, state, country_code: toAlpha2(country) });
  return (
    required && { ...required, ...omitUndefined({ street: address1, complement: address2, zip_code: postalCode }) }
  );
}

/** Members of an item that KOIN's contract does not define are not sent. */
function buildItem(item: Json): Body {
  const fields = [...ITEM_FIELDS, ...OPTIONAL_ITEM_FIELDS].map((name) => [name, valueAt(item, name)] as const);
  const { price, category, ...rest } = Object.fromEntries(fields);
  return omitUndefined({
    ...rest,
    price: pick(price, 'currency_code', 'value'),
    category: pick(category, 'id', 'name'),
  });
}

const pick = (body: Json | undefined, ...names: readonly string[]): Body | undefined =>
  isJsonObject(body) ? omitUndefined(Object.fromEntries(names.map((name) => [name, valueAt(body, name)]))) : undefined;

const toAlpha2 = (country: string | undefined): string | undefined =>
  country !== undefined && /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : undefined;

/** Removes undefined members. */
const omitUndefined = (body: { readonly [key: string]: Json | undefined }): Body =>
  Object.fromEntries(Object.entries(body).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));

/** Undefined when no member is left. */
function omitIfEmpty(body: { readonly [key: string]: Json | undefined }): Body | undefined {
  const members = omitUndefined(body);
  return Object.keys(members).length === 0 ? undefined : members;
}

/** Undefined when any member is undefined. */
const omitIfIncomplete = (body: { readonly [key: string]: Json | undefined }): Body | undefined =>
  Object.values(body).includes(undefined) ? undefined : omitUndefined(body);

/**
 * Rejects what KOIN would certainly reject: a payment that it might accept is never rejected here. Throws
 * `invalid_field`.
 */
export function checkOrder(order: Order, card: CardData, settings: ProcessorSettings): void {
  checkCard(card);
  if (!/^[0-9]{1,10}(\.[0-9]{1,2})?$/.test(formatNumber(order.amount)))
    throw invalidField('order_info.amount_details.total_amount', 'koinAmount');
  const country = resolveCountry(order, settings);
  if (country === undefined) throw invalidField('cardholder_info.country', 'koinCountry');
  checkDocument(order, country);
  if (hasAntifraud(settings)) checkAntifraud(order);
}

function checkCard({ securityCode, holder }: CardData): void {
  if (securityCode === undefined || !/^[0-9]{3,4}$/.test(securityCode))
    throw invalidField('card.security_code', 'koinSecurityCode');
  if (holder === undefined || holder.trim() === '') throw invalidField('card.holder', 'koinHolder');
}

function checkDocument(order: Order, country: string): void {
  const { type, number, pattern } = resolveDocument(resolvePayer(order));
  if (country === 'AR' && type === undefined) throw invalidField('cardholder_info.document.type', 'koinDocumentType');
  if (country === 'AR' && number === undefined)
    throw invalidField('cardholder_info.document.number', 'koinDocumentNumber');
  if (pattern !== undefined && number !== undefined && !pattern.test(number))
    throw invalidField('cardholder_info.document.number', 'koinBrazilianDocument');
}

function checkAntifraud(order: Order): void {
  const { email, firstName, lastName } = resolvePayer(order);
  if (order.fingerprintSessionId === undefined) throw invalidField('device_info.fingerprint_session_id', 'koinSession');
  if (email === undefined) throw invalidField('cardholder_info.email', 'koinEmail');
  if (firstName === undefined) throw invalidField('cardholder_info.first_name', 'koinName');
  if (lastName === undefined) throw invalidField('cardholder_info.last_name', 'koinName');
  if (order.lineItems.length === 0) throw invalidField('line_items', 'koinLineItems');
  for (const [index, item] of order.lineItems.entries()) checkItem(item, `line_items[${index}]`);
}

function checkItem(item: Json, path: string): void {
  for (const field of ITEM_FIELDS) {
    if ((valueAt(item, field) ?? null) === null) throw invalidField(`${path}.${field}`, 'koinValue');
  }
  const quantity = valueAt(item, 'quantity');
  if (typeof quantity !== 'number' || quantity < 1) throw invalidField(`${path}.quantity`, 'integerFrom', { min: 1 });
  if (!/^[A-Z]{3}$/.test(textAt(item, 'price.currency_code') ?? ''))
    throw invalidField(`${path}.price.currency_code`, 'capitals');
  const value = valueAt(item, 'price.value');
  if (typeof value !== 'number' && !isExactNumber(value)) throw invalidField(`${path}.price.value`, 'expectedNumber');
  for (const field of ['id', 'name']) {
    if ((valueAt(item, `category.${field}`) ?? null) === null)
      throw invalidField(`${path}.category.${field}`, 'expectedValue');
  }
}
