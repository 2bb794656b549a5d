import type { Operation } from '../../../../wire/workbench.ts';

/** Example requests, as in the guides. The card number is a public test number. */

export const OPERATION_GROUPS = {
  tokens: ['tokenizeCards', 'inspectToken', 'deleteTokens'],
  captures: ['createCapture', 'inspectCapture', 'tokenizeCapture', 'deleteCapture'],
  payments: ['createPayment', 'capturePayment', 'refundPayment', 'voidPayment', 'showPayment'],
  proxy: ['proxyJose', 'proxyWssec', 'proxyHash'],
} as const satisfies Readonly<Record<string, readonly Operation[]>>;
export type Group = keyof typeof OPERATION_GROUPS;
export const GROUP_NAMES = Object.keys(OPERATION_GROUPS) as Group[];

/** Examples of the proxy; every other operation has one. */
export const EXAMPLES = ['purchase', 'capture', 'minimal'] as const;
export type ExampleName = (typeof EXAMPLES)[number];

type ProxyOperation = (typeof OPERATION_GROUPS)['proxy'][number];

export const isProxy = (operation: Operation): operation is ProxyOperation =>
  (OPERATION_GROUPS.proxy as readonly Operation[]).includes(operation);

/** Records that the examples use. */
export interface Records {
  readonly token: string;
  readonly capture: string;
  readonly payment: string;
}

type Example = (records: Records) => string;

const joseCard = (source: string, cvv: string): string => `{
  "uniqueCode": "A-1001",
  "terminalId": "00012345",
  "purchaseAmount": 12500,
  "ivaTax": 0.00,
  "currencyCode": "COP",
  "cardData": {
    "cardNumber": "{{${source} | extract:card}}",
    "cardExpireMonth": "{{${source} | extract:expiration | date:MM}}",
    "cardExpireYear": "{{${source} | extract:expiration | date:YY}}",
    "cvv": ${cvv},
    "brandId": "VISA"
  },
  "installmentsNumber": 1
}`;

const wssecCard = (source: string, cvv: string): string => `<compra xmlns="http://www.example.com/compra">
  <cabecera><terminal>00012345</terminal></cabecera>
  <medioPago>
    <franquicia>VISA</franquicia>
    <numeroTarjeta>{{${source} | extract:card}}</numeroTarjeta>
    <fechaExpiracion>{{${source} | extract:expiration | date:YYYY-MM}}</fechaExpiracion>${cvv}
  </medioPago>
  <total>12500.00</total>
</compra>`;

const tokenSource = (token: string): string => `${token}:detokenize`;
const captureSource = (capture: string): string => `${capture}:transaction`;

const PROXY_PAYLOADS: Readonly<Record<ProxyOperation, Readonly<Record<ExampleName, Example>>>> = {
  proxyJose: {
    purchase: ({ token }) => joseCard(tokenSource(token), 'null'),
    capture: ({ capture }) => joseCard(captureSource(capture), `"{{${captureSource(capture)} | extract:cvv}}"`),
    minimal: ({ token }) => `{ "number": "{{${tokenSource(token)}}}" }`,
  },
  proxyWssec: {
    purchase: ({ token }) => wssecCard(tokenSource(token), ''),
    capture: ({ capture }) =>
      wssecCard(captureSource(capture), `\n    <codigo>{{${captureSource(capture)} | extract:cvv}}</codigo>`),
    minimal: ({ token }) => `<card>{{${tokenSource(token)}}}</card>`,
  },
  proxyHash: {
    purchase: ({ token }) => `{"chd":{"holder":"{{${tokenSource(token)} | extract:name}}",
 "number":"{{${tokenSource(token)} | extract:card}}",
 "expiration":{"month":"{{${tokenSource(token)} | extract:expiration | date:MM}}",
  "year":"{{${tokenSource(token)} | extract:expiration | date:YYYY}}"}}}`,
    capture: ({ capture }) =>
      `{{${captureSource(capture)} | extract:card}};{{${captureSource(capture)} | extract:cvv}}`,
    minimal: ({ token }) => `{{${tokenSource(token)}}}`,
  },
};

const CARD = { card: '4111111111111111', name: 'Ana Lopez', exp: '12/30' };
const AMOUNT = { amount_details: { total_amount: 125.5, currency: 'USD' } };
const FORMAT = { tags: ['workbench'], scheme: 1 };

/** Bodies by operation; an operation without one sends no body. */
const BODIES: Partial<Record<Operation, (records: Records) => object>> = {
  tokenizeCards: () => ({ chd: [CARD], ...FORMAT }),
  deleteTokens: ({ token }) => ({ tokens: [token] }),
  createCapture: () => ({
    chd: { ...CARD, cvv: '123' },
    amount: 12_500,
    currency: 'USD',
    additional_info: {},
    ttl: 60,
  }),
  tokenizeCapture: () => FORMAT,
  createPayment: () => ({
    transaction_info: { type: 'authorization', reference_code: 'A-1001' },
    card: { number: CARD.card, expiration_date: '12/2030', security_code: '123', holder: CARD.name },
    order_info: AMOUNT,
    bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com' },
  }),
  capturePayment: () => ({ transaction_info: { type: 'capture', reference_code: 'A-1001' }, capture_info: AMOUNT }),
  refundPayment: () => ({
    transaction_info: { type: 'payment_refund', reference_code: 'A-1001' },
    refund_info: { amount_details: { total_amount: 10, currency: 'USD' } },
  }),
  voidPayment: () => ({ transaction_info: { type: 'authorization_void', reference_code: 'A-1001' } }),
};

/** Returns the body of an example; undefined for an operation without a body. */
export function buildExample(operation: Operation, example: ExampleName, records: Records): string | undefined {
  if (isProxy(operation)) return PROXY_PAYLOADS[operation][example](records);
  const body = BODIES[operation]?.(records);
  return body && JSON.stringify(body, undefined, 2);
}

const PARAMETERS = { tokens: 'token', captures: 'capture', payments: 'payment' } as const;

/** Returns the record that the path of an operation names; undefined for a path without a parameter. */
export function findPathRecord(path: string, group: Group): keyof Records | undefined {
  return path.includes('/:') && group !== 'proxy' ? PARAMETERS[group] : undefined;
}

interface ExampleChoice {
  readonly operation: Operation;
  readonly group: Group;
  readonly example: ExampleName;
}

/** Returns the record that an example names; undefined when it names none. */
export function findUsedRecord({ operation, group, example }: ExampleChoice, path: string): keyof Records | undefined {
  if (isProxy(operation)) return example === 'capture' ? 'capture' : 'token';
  return operation === 'deleteTokens' ? 'token' : findPathRecord(path, group);
}
