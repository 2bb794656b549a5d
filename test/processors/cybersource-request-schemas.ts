/** The bodies that the fake accepts, field by field; any other field is a fault. Names ending in `?` may be absent. */

type Shape = { readonly [name: string]: RegExp | 'boolean' | 'count' | Shape };

const KEY = /^[a-z]{25}$/;
/** At most 59 characters: `REFERENCE.ID`, or the id alone. */
const CODE = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,32}\.)?[a-z]{25}$/;
const AMOUNT = { totalAmount: /^(0|[1-9][0-9]{0,11})(\.[0-9]{1,4})?$/, currency: /^[A-Z]{3}$/ } as const;
const TEXT = /^[^\p{Cc}]{1,255}$/u;
const REVERSAL = { amountDetails: AMOUNT, reason: /^[a-z]{1,20}$/ } as const;

export const REQUEST_SCHEMAS = {
  payment: {
    clientReferenceInformation: { code: CODE, transactionId: KEY, 'comments?': TEXT },
    processingInformation: { capture: 'boolean', commerceIndicator: /^internet$/ },
    paymentInformation: {
      card: {
        number: /^[0-9]{12,19}$/,
        expirationMonth: /^(0[1-9]|1[0-2])$/,
        expirationYear: /^20[0-9]{2}$/,
        'securityCode?': /^[0-9]{3,4}$/,
        'type?': /^0[0-9]{2}$/,
      },
    },
    orderInformation: {
      amountDetails: AMOUNT,
      'billTo?': {
        'firstName?': TEXT,
        'lastName?': TEXT,
        'address1?': TEXT,
        'address2?': TEXT,
        'locality?': TEXT,
        'administrativeArea?': TEXT,
        'postalCode?': TEXT,
        'country?': /^[A-Za-z]{2}$/,
        'email?': TEXT,
        'phoneNumber?': TEXT,
      },
    },
    'deviceInformation?': { 'ipAddress?': TEXT, 'fingerprintSessionId?': TEXT },
    'installmentInformation?': { totalCount: 'count' },
    'merchantInformation?': { merchantDescriptor: { name: /^.{1,22}$/ } },
  },
  capture: {
    clientReferenceInformation: { code: CODE, transactionId: KEY },
    orderInformation: { amountDetails: AMOUNT },
  },
  refund: {
    clientReferenceInformation: { code: CODE, transactionId: KEY },
    orderInformation: { amountDetails: AMOUNT },
  },
  reversal: { clientReferenceInformation: { code: CODE }, reversalInformation: REVERSAL },
  'timeout-reversal': {
    clientReferenceInformation: { code: CODE, transactionId: KEY },
    reversalInformation: REVERSAL,
  },
  'timeout-void': { clientReferenceInformation: { code: CODE, transactionId: KEY } },
  search: {
    query: /^clientReferenceInformation\.code:([A-Za-z0-9][A-Za-z0-9_.-]{0,32}\.)?[a-z]{25}$/,
    sort: /^submitTimeUtc:desc$/,
    offset: 'count',
    limit: 'count',
    save: 'boolean',
  },
} as const satisfies Record<string, Shape>;

/** Returns the paths of all faults. */
export function schemaErrors(value: unknown, shape: Shape, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: no object`];
  const members = value as Record<string, unknown>;
  const named = Object.entries(shape).map(([name, form]) => ({
    name: name.replace('?', ''),
    form,
    optional: name.endsWith('?'),
  }));
  const strangers = Object.keys(members).filter((name) => !named.some((each) => each.name === name));
  return [
    ...strangers.map((name) => `${path}${name}: not known`),
    ...named.flatMap(({ name, form, optional }) => {
      const member = members[name];
      if (member === undefined) return optional ? [] : [`${path}${name}: missing`];
      if (typeof form === 'object' && !(form instanceof RegExp)) return schemaErrors(member, form, `${path}${name}.`);
      return fits(member, form) ? [] : [`${path}${name}: malformed`];
    }),
  ];
}

function fits(value: unknown, form: RegExp | 'boolean' | 'count'): boolean {
  if (form === 'boolean') return typeof value === 'boolean';
  if (form === 'count') return Number.isSafeInteger(value) && Number(value) >= 0;
  return typeof value === 'string' && form.test(value);
}

export interface Sent {
  readonly code: string;
  readonly transactionId: string;
  readonly amount: string;
  readonly currency: string;
  readonly capture: boolean;
}

/** Checks the values of a body whose fields are correct. */
export function sentIn(body: Record<string, Record<string, never>>): Sent {
  const { code = '', transactionId = '' } = (body['clientReferenceInformation'] ?? {}) as Record<string, string>;
  const details = (body['orderInformation'] ?? body['reversalInformation'])?.['amountDetails'] as unknown;
  const { totalAmount: amount = '', currency = '' } = (details ?? {}) as Record<string, string>;
  return {
    code,
    transactionId,
    amount,
    currency,
    capture: (body['processingInformation']?.['capture'] as unknown) === true,
  };
}
