import type { Currency } from '../kernel/currency.ts';
import { type Expiry, parseAnyExpiry } from '../kernel/expiry.ts';
import { isExactNumber, type Json } from '../kernel/json.ts';
import { LIMITS } from '../kernel/limits.ts';
import { isDecimal, type Money, parseAmount } from '../kernel/money.ts';
import { explain } from '../kernel/reasons.ts';
import { type CardField, type CardSource, parseCardPlaceholder } from '../payments/card-source.ts';
import type { RequestedAmount } from '../payments/commands.ts';
import type { Party } from '../payments/processor.ts';
import { cardNumber, currency, verificationCode } from './card-fields.ts';
import { type Field, FieldMismatch, object, optional, optionalNotEmpty, plainText, type ValueOf } from './fields.ts';

/** The fields of payment requests (interface: Payment transaction request groups). */

const PLACEHOLDER = 'or a placeholder: {{TOKEN:detokenize}}, {{CAPTURE:transaction}}';

/** A card field: the value itself, or a placeholder for it. */
const cardField = <T>(name: keyof CardSource, literal: Field<T>): Field<CardField<T>> => ({
  schema: {
    anyOf: [literal.schema, { type: 'string', pattern: '\\{\\{.*\\}\\}' }],
    description: `${String(literal.schema['description'])}, ${PLACEHOLDER}`,
  },
  parse(value) {
    const placeholder = typeof value === 'string' ? parseCardPlaceholder(value, name) : undefined;
    return placeholder === undefined ? { literal: literal.parse(value) } : { placeholder };
  },
});

const expiry: Field<Expiry> = {
  schema: { type: 'string', pattern: '^(0[1-9]|1[0-2])/(20)?[0-9]{2}$', description: 'Expiry, MM/YYYY or MM/YY' },
  parse(value) {
    const read = typeof value === 'string' ? parseAnyExpiry(value) : undefined;
    if (read === undefined) throw new FieldMismatch(explain('expiry'));
    return read;
  },
};

export const card = object(
  {
    number: cardField('number', cardNumber),
    expiration_date: cardField('expiry', expiry),
    security_code: optional(cardField('securityCode', verificationCode)),
    holder: optional(cardField('holder', plainText(LIMITS.nameCharacters, 'Cardholder name'))),
  },
  'The card; each field is a value or exactly one placeholder',
);

/** An amount as it was written; its minor units depend on the currency. */
const amountText: Field<string> = {
  schema: {
    oneOf: [{ type: 'number' }, { type: 'string', pattern: '^(0|[1-9][0-9]*)(\\.[0-9]+)?$' }],
    description: `In units of the currency, up to ${LIMITS.amountIntegerDigits} digits before the point and no more places after it than the currency has`,
  },
  parse(value) {
    const text = toAmountText(value);
    if (text === undefined || !isDecimal(text))
      throw new FieldMismatch(explain('amount', { digits: LIMITS.amountIntegerDigits }));
    return text;
  },
};

const toAmountText = (value: Json): string | undefined => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
};

export const amountDetails = object({
  total_amount: amountText,
  currency,
  items_amount: optional(amountText),
});

/** The amount of a partial operation. */
const partDetails = object({ total_amount: amountText, currency: optional(currency) });

/** Its minor units depend on the currency of the payment. An empty text in place of an object does not mean all of it. */
export const partialAmount = (what: string) =>
  optionalNotEmpty(object({ amount_details: optionalNotEmpty(partDetails) }, `${what}; absent: all of it`));

type PartBody = ValueOf<ReturnType<typeof partialAmount>> | undefined;

export const toRequestedAmount = (body: PartBody): RequestedAmount | undefined =>
  body?.amount_details && { text: body.amount_details.total_amount, currency: body.amount_details.currency };

/** Throws `FieldMismatch`, which names `path`. */
export function toMoney(text: string, of: Currency, path: string, { mayBeZero = false } = {}): Money {
  const minor = parseAmount(text, of);
  if (minor === undefined || (minor === 0n && !mayBeZero))
    throw new FieldMismatch(explain('amount', { digits: LIMITS.amountIntegerDigits }), path);
  return { minor, currency: of };
}

const partyText = (what: string) => optional(plainText(LIMITS.partyCharacters, what));

const partyMembers = {
  first_name: partyText('First name'),
  last_name: partyText('Last name'),
  country: partyText('Country, ISO 3166 alpha-2'),
  address_1: partyText('Street and number'),
  address_2: partyText('More of the address'),
  city: partyText('City'),
  state: partyText('State or province'),
  postal_code: partyText('Postal code'),
  email: partyText('Email address'),
  phone_number: partyText('Phone number'),
  phone_type: partyText('Type of the phone'),
  phone_area_code: partyText('Area code of the phone'),
  document: optional(
    object({
      type: partyText('Type of the identity document'),
      number: partyText('Its number'),
      nationality: partyText('Where it was issued'),
    }),
  ),
};

export const party = (description: string) => optional(object(partyMembers, description));

type PartyBody = NonNullable<ValueOf<ReturnType<typeof party>>>;

export const toParty = (body: PartyBody | undefined): Party | undefined =>
  body && {
    firstName: body.first_name,
    lastName: body.last_name,
    country: body.country,
    address1: body.address_1,
    address2: body.address_2,
    city: body.city,
    state: body.state,
    postalCode: body.postal_code,
    email: body.email,
    phoneNumber: body.phone_number,
    phoneType: body.phone_type,
    phoneAreaCode: body.phone_area_code,
    documentType: body.document?.type,
    documentNumber: body.document?.number,
    documentNationality: body.document?.nationality,
  };
