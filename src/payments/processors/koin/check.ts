import { invalid } from '../../../kernel/failure.ts';
import { isExactNumber, type Json } from '../../../kernel/json.ts';
import { numberOf } from '../../../kernel/money.ts';
import { type CardData, type Order, type ProcessorSettings, payerOf } from '../../processor.ts';
import { countryOf, documentOf, ITEM_FIELDS } from './bodies.ts';
import { at, textAt } from './fields.ts';
import { hasAntifraud } from './settings.ts';

/** Refuses what KOIN surely would: a payment that it might take is never refused here. Throws `invalid_field`. */
export function checkOrder(order: Order, card: CardData, settings: ProcessorSettings): void {
  checkCard(card);
  if (!/^[0-9]{1,10}(\.[0-9]{1,2})?$/.test(numberOf(order.amount)))
    throw invalid('order_info.amount_details.total_amount', 'KOIN takes up to 10 digits and 2 decimal places');
  const country = countryOf(order, settings);
  if (country === undefined) throw invalid('cardholder_info.country', 'expected the two letters of ISO 3166 for KOIN');
  checkDocument(order, country);
  if (hasAntifraud(settings)) checkAntifraud(order);
}

function checkCard({ securityCode, holder }: CardData): void {
  if (securityCode === undefined || !/^[0-9]{3,4}$/.test(securityCode))
    throw invalid('card.security_code', 'expected 3 or 4 digits; KOIN needs it');
  if (holder === undefined || holder.trim() === '') throw invalid('card.holder', 'expected a name; KOIN needs it');
}

function checkDocument(order: Order, country: string): void {
  const { type, number, pattern } = documentOf(payerOf(order));
  if (country === 'AR' && type === undefined)
    throw invalid('cardholder_info.document.type', 'expected a type; KOIN needs the document in AR');
  if (country === 'AR' && number === undefined)
    throw invalid('cardholder_info.document.number', 'expected a number; KOIN needs the document in AR');
  if (pattern !== undefined && number !== undefined && !pattern.test(number))
    throw invalid('cardholder_info.document.number', 'expected the 11 digits of a CPF or the 14 characters of a CNPJ');
}

function checkAntifraud(order: Order): void {
  const { email, firstName, lastName } = payerOf(order);
  if (order.fingerprintSessionId === undefined)
    throw invalid('device_info.fingerprint_session_id', "expected the session; KOIN's antifraud needs it");
  if (email === undefined) throw invalid('cardholder_info.email', "expected an e-mail; KOIN's antifraud needs it");
  if (firstName === undefined)
    throw invalid('cardholder_info.first_name', "expected a name; KOIN's antifraud needs it");
  if (lastName === undefined) throw invalid('cardholder_info.last_name', "expected a name; KOIN's antifraud needs it");
  if (order.lineItems.length === 0) throw invalid('line_items', "expected at least one; KOIN's antifraud needs them");
  for (const [index, item] of order.lineItems.entries()) checkItem(item, `line_items[${index}]`);
}

function checkItem(item: Json, place: string): void {
  for (const field of ITEM_FIELDS) {
    if ((at(item, field) ?? null) === null)
      throw invalid(`${place}.${field}`, "expected a value; KOIN's antifraud needs it");
  }
  const quantity = at(item, 'quantity');
  if (typeof quantity !== 'number' || quantity < 1) throw invalid(`${place}.quantity`, 'expected an integer from 1');
  if (!/^[A-Z]{3}$/.test(textAt(item, 'price', 'currency_code') ?? ''))
    throw invalid(`${place}.price.currency_code`, 'expected three capital letters');
  const value = at(item, 'price', 'value');
  if (typeof value !== 'number' && !isExactNumber(value)) throw invalid(`${place}.price.value`, 'expected a number');
  for (const field of ['id', 'name']) {
    if ((at(item, 'category', field) ?? null) === null) throw invalid(`${place}.category.${field}`, 'expected a value');
  }
}
