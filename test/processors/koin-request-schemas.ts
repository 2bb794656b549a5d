/** KOIN's contract (Payments API 1.0) for the bodies of requests, written independently of the tested code. */

/** A JSON number as it was written. */
export interface Literal {
  readonly literal: string;
}

/** Returns the fault of a value at a path. */
type Rule = (value: unknown, path: string) => string[];

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('literal' in value);

const isLiteral = (value: unknown): value is Literal =>
  typeof value === 'object' && value !== null && 'literal' in value;

const text =
  (pattern: RegExp): Rule =>
  (value, path) =>
    typeof value === 'string' && pattern.test(value) ? [] : [`${path}: ${pattern.source}`];

const number =
  (pattern: RegExp): Rule =>
  (value, path) =>
    isLiteral(value) && pattern.test(value.literal) ? [] : [`${path}: number ${pattern.source}`];

const list =
  (each: Rule, min: number): Rule =>
  (value, path) => {
    if (!Array.isArray(value) || value.length < min) return [`${path}: list of at least ${min}`];
    return value.flatMap((item, index) => each(item, `${path}[${index}]`));
  };

/** Names with a star are required; other names than these are faults. */
const object =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (value, path) => {
    if (!isObject(value)) return [`${path}: object`];
    const names = new Map(Object.entries(rules).map(([name, rule]) => [name.replace('*', ''), rule]));
    const missing = Object.keys(rules).filter((name) => name.endsWith('*') && !(name.slice(0, -1) in value));
    const wrong = Object.entries(value).flatMap(
      ([name, member]) => names.get(name)?.(member, `${path}.${name}`) ?? [`${path}.${name}: unknown`],
    );
    return [...missing.map((name) => `${path}.${name.slice(0, -1)}: missing`), ...wrong];
  };

const ANY = text(/^[^\u0000-\u001f]+$/);
const REFERENCE = text(/^[a-zA-Z0-9_#.-]{1,50}$/);
const COUNTRY = text(/^[A-Z]{2}$/);
const money = { 'currency_code*': text(/^[A-Z]{3}$/), 'value*': number(/^(0|[1-9][0-9]{0,9})(\.[0-9]{1,2})?$/) };
const MONEY = object(money);

export const TOKENIZE = object({
  'transaction*': object({ 'reference_id*': REFERENCE }),
  'card*': object({
    'number*': text(/^[0-9]{12,19}$/),
    'expiration_month*': text(/^(0[1-9]|1[0-2])$/),
    'expiration_year*': text(/^20[0-9]{2}$/),
    'security_code*': text(/^[0-9]{3,4}$/),
    'holder_name*': ANY,
  }),
});

export const REFUND = object({ 'transaction*': object({ 'reference_id*': REFERENCE }), 'amount*': MONEY });

const order = {
  'transaction*': object({
    'reference_id*': REFERENCE,
    business_id: REFERENCE,
    'account*': ANY,
    'amount*': object({ ...money, breakdown: object({ items: MONEY, shipping: MONEY, fee: MONEY }) }),
  }),
  'country_code*': COUNTRY,
  'payment_method*': object({
    'code*': text(/^CARD$/),
    'secure_token*': text(/^[0-9a-f]{200}$/),
    'installments*': number(/^[1-9][0-9]{0,2}$/),
  }),
  'notification_url*': list(text(/^https?:\/\/[^ ]+$/), 0),
  descriptor: text(/^.{1,140}$/s),
};

const address = object({
  'city*': ANY,
  'country_code*': COUNTRY,
  'state*': ANY,
  street: ANY,
  number: ANY,
  complement: ANY,
  neighborhood: ANY,
  zip_code: ANY,
  full_address: ANY,
});
const person = {
  first_name: ANY,
  last_name: ANY,
  full_name: ANY,
  gender: ANY,
  address,
  email: text(/^[^@ ]+@[^@ ]+$/),
  document: object({ 'type*': ANY, 'number*': ANY, nationality: ANY }),
};
const item = object({
  'type*': ANY,
  'id*': ANY,
  'name*': ANY,
  'price*': MONEY,
  'quantity*': number(/^[1-9][0-9]*$/),
  'category*': object({ 'id*': ANY, 'name*': ANY }),
  discount_amount: MONEY,
  seller_id: ANY,
  service_date: ANY,
});

const PLAIN_ORDER = object({
  ...order,
  store: object({ 'code*': ANY }),
  'payer*': object({
    document: object({ 'type*': ANY, 'number*': ANY }),
    phone: object({ 'area*': ANY, 'number*': ANY }),
  }),
});

const ANTIFRAUD_ORDER = object({
  ...order,
  'session_id*': ANY,
  ip_address: ANY,
  store: object({ code: ANY, category: text(/^[0-9]{4}$/) }),
  'payer*': object({
    ...person,
    'email*': person.email,
    phone: object({ 'area*': ANY, 'number*': ANY, country_code: ANY, type: ANY }),
  }),
  'buyer*': object({ ...person, phone: object({ area_code: ANY, 'number*': ANY, type: ANY }) }),
  'items*': list(item, 1),
});

/** The session determines the variant; documents of Brazil are checked by their numbers, and Argentina requires one. */
export function orderFaults(body: unknown): string[] {
  const isAntifraud = isObject(body) && 'session_id' in body;
  const faults = (isAntifraud ? ANTIFRAUD_ORDER : PLAIN_ORDER)(body, 'order');
  if (faults.length > 0 || !isObject(body) || !isObject(body['payer'])) return faults;
  const document = body['payer']['document'];
  if (!isObject(document)) return body['country_code'] === 'AR' ? ['order.payer.document: missing'] : [];
  const { type, number } = document as { type: string; number: string };
  const pattern = type === 'cpf' ? /^[0-9]{11}$/ : type === 'cnpj' ? /^[0-9A-Z]{12}[0-9]{2}$/ : /./;
  const isTypeGood = isAntifraud || body['country_code'] === 'AR' || /^(cpf|cnpj)$/.test(type);
  return isTypeGood && pattern.test(number) ? [] : ['order.payer.document'];
}

/** Preserves every number as it was written. */
export function readBody(text: string): unknown {
  const keep = (_: string, value: unknown, context?: { source: string }): unknown =>
    typeof value === 'number' ? { literal: context?.source ?? '' } : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}
