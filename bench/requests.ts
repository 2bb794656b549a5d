import { LIMITS } from '../src/kernel/limits.ts';
import { hashed, purchaseInJson, purchaseInXml } from './payloads.ts';

/** The requests that are measured, as they go over the wire. */

/** Records that responses leave behind: requests read them, or use each of them once. */
export type Pool =
  | 'tokens'
  | 'deletable'
  | 'captures'
  | 'removable'
  | 'sessions'
  | 'cancellable'
  | 'payments'
  | 'authorizations'
  | 'collected'
  | 'webhooks';

/** The account that sends a request: the proxy settings of the second one are not the defaults. */
export type AccountName = 'usual' | 'plain';

/** A maximum, or a minimum, that the project means to reach. */
export interface Aims {
  /** CPU microseconds beside those of the bare echo, at most. */
  readonly cpu?: number;
  /** Requests, or cards, a second beside those of the bare echo, at least. */
  readonly rate?: number;
  /** The 99th percentile of the latency beside the median, at most. */
  readonly spread?: number;
}

export interface Request {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `{id}` stands for a record of the pool. */
  readonly path: string;
  readonly body?: (id: string) => string;
  /** The header of the API key; another service than ours has another header. */
  readonly keyHeader?: string;
  readonly media?: string;
  /** Requests that are sent in turns instead of this one. */
  readonly mix?: readonly Request[];
  readonly account?: AccountName;
  /** Records that it reads, one after the other. */
  readonly reads?: Pool;
  /** Records that it uses up: each is sent once. */
  readonly uses?: Pool;
  /** The number of records that an account can have; absent: any. */
  readonly most?: number;
  /** Cards in one request. */
  readonly cards?: number;
  /** RSA signatures that one request needs. */
  readonly signatures?: number;
  readonly aims?: Aims;
  /** Returns the ids of the records that the response, parsed, tells of. */
  readonly ids?: (response: never) => readonly string[];
}

/** Card numbers are written over this one in the moment of sending, so that all are different. */
export const PAN = '0000000000000000';

const MANY = 100;
const card = { card: PAN, name: 'Ana Lopez', exp: '12/30' };
const AMOUNT = { total_amount: 125.5, currency: 'USD' };

const tokenization = (scheme: number, cards: number) => (): string =>
  JSON.stringify({ chd: Array(cards).fill(card), tags: ['web'], scheme });

const payment = (type: 'authorization' | 'payment') => (): string =>
  JSON.stringify({
    transaction_info: { type, reference_code: 'A-100001' },
    card: { number: PAN, expiration_date: '12/30', security_code: '123', holder: 'Ana Lopez' },
    order_info: { amount_details: AMOUNT },
    bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: 'ana@example.com', postal_code: '94105' },
  });

const capture = (ttl: number) => (): string =>
  JSON.stringify({
    chd: { ...card, cvv: '123' },
    amount: 12_500,
    currency: 'USD',
    additional_info: { order: 'A-100001' },
    ttl,
  });

const WEBHOOK = { url: 'https://shop.example.com/hooks', events: ['capture_session.failed'] } as const;

const session = (): string =>
  JSON.stringify({ allowed_origins: ['https://shop.example.com'], amount: 12_500, currency: 'USD', ttl: 15 });

const operation = (type: string) => (): string =>
  JSON.stringify({ transaction_info: { type, reference_code: 'A-100001' } });

const tokenIds = (response: { data: { tokens: { token: string }[] } }) =>
  response.data.tokens.map(({ token }) => token);
const recordIds = (response: { data: { id: string } }) => [response.data.id];
const paymentIds = (response: { status: string; data: { transaction_info: { transaction_id: string } } }) =>
  response.status === 'success' ? [response.data.transaction_info.transaction_id] : [];

const TOKENIZE = { method: 'POST', path: '/v1/tokenization/simple', ids: tokenIds } as const;
const CAPTURE = '/transactions/requests';
const SESSION = '/v1/capture-sessions';
/** Webhooks belong to the account that no other request gives events. */
const WEBHOOKS = { path: '/v1/webhooks', account: 'plain' } as const;
const OF_WEBHOOK = { ...WEBHOOKS, path: '/v1/webhooks/{id}', reads: 'webhooks' } as const;
const PAY = { method: 'POST', path: '/v1/payments', ids: paymentIds } as const;
const HASH = { method: 'POST', path: '/proxy/hash?type=SHA256', keyHeader: 'ft-access-key', reads: 'tokens' } as const;
const JOSE = {
  method: 'POST',
  path: '/proxy/jose',
  keyHeader: 'ft-access-key',
  reads: 'tokens',
  body: purchaseInJson,
} as const;
const WSSEC = {
  method: 'POST',
  path: '/proxy/wssec',
  keyHeader: 'ft-access-key',
  reads: 'tokens',
  body: purchaseInXml,
  media: 'text/xml',
  signatures: 1,
} as const;

/** The request that the bare echo gets, and the echo of the service. */
export const ECHO: Request = { ...TOKENIZE, name: 'echo of a tokenization', body: tokenization(1, 1) };

const ONE_CARD = { cpu: 3.8, rate: 0.28, spread: 3 };
const MANY_CARDS = { rate: 1 };

export const REQUESTS: readonly Request[] = [
  { ...HASH, name: 'hash without placeholders', body: () => hashed(undefined), aims: { cpu: 2.5 } },
  { ...HASH, name: 'hash with 3 placeholders', body: hashed },
  { ...TOKENIZE, name: 'tokenize 1 card, scheme 1', body: tokenization(1, 1), aims: ONE_CARD },
  { ...TOKENIZE, name: 'tokenize 1 card, scheme 7', body: tokenization(7, 1), aims: ONE_CARD },
  { ...TOKENIZE, name: 'tokenize 1 card, scheme 8', body: tokenization(8, 1) },
  {
    ...TOKENIZE,
    ...{ name: 'tokenize 100 cards, scheme 1', body: tokenization(1, MANY), cards: MANY, aims: MANY_CARDS },
  },
  {
    ...TOKENIZE,
    ...{ name: 'tokenize 100 cards, scheme 7', body: tokenization(7, MANY), cards: MANY, aims: MANY_CARDS },
  },
  {
    name: 'inspect a token',
    method: 'GET',
    path: '/v1/tokens/{id}/inspect',
    reads: 'tokens',
    aims: { cpu: 3, spread: 3 },
  },
  {
    name: 'delete a token',
    ...{ method: 'DELETE', path: '/v1/tokens', uses: 'deletable' },
    body: (id) => JSON.stringify({ tokens: [id] }),
    aims: { spread: 3 },
  },
  {
    name: 'create a capture',
    ...{ method: 'POST', path: CAPTURE, body: capture(1440), ids: recordIds },
    aims: { cpu: 4.5, spread: 3 },
  },
  {
    name: 'retrieve a capture',
    method: 'GET',
    path: `${CAPTURE}/{id}`,
    reads: 'captures',
    aims: { cpu: 3.8, spread: 3 },
  },
  {
    name: 'inspect a capture',
    method: 'GET',
    path: `${CAPTURE}/{id}/inspect`,
    reads: 'captures',
    aims: { cpu: 3, spread: 3 },
  },
  {
    name: 'delete a capture',
    ...{ method: 'DELETE', path: `${CAPTURE}/{id}`, uses: 'removable' },
    aims: { spread: 3 },
  },
  {
    name: 'tokenize a capture',
    ...{ method: 'POST', path: `${CAPTURE}/{id}/tokenize`, reads: 'captures' },
    body: () => JSON.stringify({ tags: ['web'], scheme: 7 }),
    aims: { spread: 3 },
  },
  { ...PAY, name: 'authorize a payment', body: payment('authorization'), aims: { cpu: 6.5, spread: 3 } },
  {
    ...PAY,
    name: 'capture a payment',
    path: '/v1/payments/{id}/capture',
    uses: 'authorizations',
    body: operation('capture'),
  },
  {
    ...PAY,
    name: 'refund a payment',
    path: '/v1/payments/{id}/refund',
    uses: 'collected',
    body: operation('payment_refund'),
  },
  {
    ...PAY,
    name: 'void a payment',
    path: '/v1/payments/{id}/void',
    uses: 'authorizations',
    body: operation('authorization_void'),
  },
  {
    name: 'look up a payment',
    ...{ method: 'GET', path: '/v1/payments/transactions/{id}', reads: 'payments' },
    aims: { cpu: 3 },
  },
  { name: 'create a session of the card form', method: 'POST', path: SESSION, body: session },
  { name: 'show a session of the card form', method: 'GET', path: `${SESSION}/{id}`, reads: 'sessions' },
  { name: 'cancel a session of the card form', method: 'DELETE', path: `${SESSION}/{id}`, uses: 'cancellable' },
  { ...WEBHOOKS, name: 'list webhooks', method: 'GET' },
  { ...OF_WEBHOOK, name: 'show a webhook', method: 'GET' },
  {
    ...OF_WEBHOOK,
    ...{ name: 'change a webhook', method: 'POST', body: () => JSON.stringify({ description: 'orders' }) },
  },
  {
    ...OF_WEBHOOK,
    name: 'rotate the secret of a webhook',
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate',
    body: () => '{}',
  },
  {
    ...OF_WEBHOOK,
    ...{ name: 'replay the deliveries of a webhook without any', method: 'POST', path: '/v1/webhooks/{id}/replay' },
    body: () => JSON.stringify({ since: '2026-01-15T00:00:00Z' }),
  },
  {
    ...OF_WEBHOOK,
    ...{ name: 'list the deliveries of a webhook without any', method: 'GET', path: '/v1/webhooks/{id}/deliveries' },
  },
  { name: 'show the account', method: 'GET', path: '/v1/account' },
  { ...JOSE, name: 'JOSE, nested', signatures: 2 },
  { ...JOSE, name: 'JOSE, plain', account: 'plain', signatures: 1 },
  { ...WSSEC, name: 'WS-Security, encrypt-sign' },
  { ...WSSEC, name: 'WS-Security, sign-encrypt', account: 'plain' },
];

/** Tokens of two schemes, so that those of either one lie among others. */
const MANY_TOKENS: Omit<Request, 'name'> = {
  ...TOKENIZE,
  cards: MANY,
  mix: [1, 7].map((scheme) => ({ ...TOKENIZE, name: `scheme ${scheme}`, body: tokenization(scheme, MANY) })),
};

/** How the records of a pool are created. */
export const FILLED_BY: Readonly<Record<Pool, Request>> = {
  tokens: { ...MANY_TOKENS, name: 'tokens' },
  deletable: { ...MANY_TOKENS, name: 'deletable' },
  captures: { name: 'captures', method: 'POST', path: CAPTURE, body: capture(1440), ids: recordIds },
  removable: { name: 'removable', method: 'POST', path: CAPTURE, body: capture(1440), ids: recordIds },
  sessions: { name: 'sessions', method: 'POST', path: SESSION, body: session, ids: recordIds },
  cancellable: { name: 'cancellable', method: 'POST', path: SESSION, body: session, ids: recordIds },
  webhooks: {
    ...WEBHOOKS,
    ...{ name: 'webhooks', method: 'POST', body: () => JSON.stringify(WEBHOOK), ids: recordIds },
    most: LIMITS.webhookEndpoints,
  },
  payments: { ...PAY, name: 'payments', body: payment('authorization') },
  authorizations: { ...PAY, name: 'authorizations', body: payment('authorization') },
  collected: { ...PAY, name: 'collected', body: payment('payment') },
};

/** The load of a merchant: of ten requests six are tokenizations, two captures that soon expire, two authorizations. */
export const MIX: Request = {
  name: 'mix',
  method: 'POST',
  path: '',
  mix: [
    ...Array<Request>(6).fill({ ...TOKENIZE, name: 'token', body: tokenization(7, 1) }),
    ...Array<Request>(2).fill({ name: 'capture', method: 'POST', path: CAPTURE, body: capture(1) }),
    ...Array<Request>(2).fill({ ...PAY, name: 'payment', body: payment('authorization') }),
  ],
};

/** The largest tokenization that the service takes, and a small one with more than one card. */
export const LARGEST: Request = {
  ...TOKENIZE,
  ...{ name: 'the largest tokenization', cards: LIMITS.cardsPerTokenization },
  body: tokenization(7, LIMITS.cardsPerTokenization),
};
export const FEW_CARDS: Request = { ...TOKENIZE, name: 'tokenize 10 cards', cards: 10, body: tokenization(7, 10) };

/** The request of the peer that stores a card; each has a customer of its own. */
export const PEER_ADD: Request = {
  name: 'add a card',
  method: 'POST',
  path: '/data/add',
  keyHeader: 'x-tenant-id',
  body: () =>
    JSON.stringify({
      merchant_id: 'm1',
      merchant_customer_id: `c${PAN}`,
      card: { card_number: PAN, name_on_card: 'Ana Lopez', card_exp_month: '12', card_exp_year: '2030' },
    }),
};

/** Throws for a name that no request has. */
export function requestNamed(name: string): Request {
  const all = [...REQUESTS, ...Object.values(FILLED_BY), ECHO, MIX, LARGEST, FEW_CARDS, PEER_ADD];
  const found = all.find((request) => request.name === name);
  if (found === undefined) throw new Error(`there is no request ${name}`);
  return found;
}

/** A request in bytes, and the places of its card numbers. */
export interface Message {
  readonly bytes: Buffer;
  readonly pans: readonly number[];
}

interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: string | undefined;
  readonly media?: string;
}

/** Returns a request as it goes over the wire. */
export function toBytes({ method, path, headers, body, media = 'application/json' }: RequestParts): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: localhost', ...headers];
  if (body !== undefined) lines.push(`content-type: ${media}`, `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

export function toMessage(request: Request, secret: string, id: string): Message {
  const { method, path, keyHeader = 'x-api-key', media = 'application/json' } = request;
  const body = request.body?.(id);
  const headers = [`${keyHeader}: ${secret}`, 'accept: */*'];
  const bytes = toBytes({ method, path: path.replace('{id}', id), headers, body, media });
  const pans: number[] = [];
  for (let at = bytes.indexOf(PAN); at >= 0; at = bytes.indexOf(PAN, at + PAN.length)) pans.push(at);
  return { bytes, pans };
}

/** BINs of large issuers of several networks, all with 16 digits. */
const BINS = [
  '411111',
  '401288',
  '424242',
  '455667',
  '471604',
  '492901',
  '510510',
  '522134',
  '541333',
  '555555',
  '601100',
];
const DIGIT_ZERO = 48;

/** Returns a function that writes random card numbers that pass the Luhn check. The generator is a xorshift of 32 bits. */
export function panWriter(seed: number): (bytes: Buffer, at: number) => void {
  let state = seed | 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  return (bytes, at) => {
    bytes.write(BINS[next() % BINS.length] ?? '', at, 'latin1');
    let sum = 0;
    for (let index = 0; index < PAN.length - 1; index++) {
      if (index >= 6) bytes[at + index] = DIGIT_ZERO + (next() % 10);
      const digit = ((bytes[at + index] ?? 0) - DIGIT_ZERO) * (index % 2 === 0 ? 2 : 1);
      sum += digit > 9 ? digit - 9 : digit;
    }
    bytes[at + PAN.length - 1] = DIGIT_ZERO + ((10 - (sum % 10)) % 10);
  };
}
