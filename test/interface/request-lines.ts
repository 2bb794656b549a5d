import { ENDPOINTS } from '../../src/http/endpoints.ts';

/** A well-formed request to every endpoint of vault, captures and account, and the permission it needs. */
export interface Line {
  readonly method: string;
  readonly path: string;
  readonly permission: string;
  readonly body?: unknown;
}

const ID = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';
const CAPTURE = { chd: { cvv: '123' }, amount: 0, currency: 'USD', additional_info: {}, ttl: 5 };
const CARDS = { chd: [{ card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' }], tags: [], scheme: 1 };

export const LINES: readonly Line[] = [
  { method: 'POST', path: '/v1/tokenization/simple', permission: 'tokens:create', body: CARDS },
  { method: 'GET', path: '/v1/tokens/4111117349251111/inspect', permission: 'tokens:inspect' },
  { method: 'DELETE', path: '/v1/tokens', permission: 'tokens:delete', body: { tokens: ['4111117349251111'] } },
  { method: 'POST', path: '/transactions/requests', permission: 'captures:create', body: CAPTURE },
  {
    method: 'POST',
    path: `/transactions/requests/${ID}/tokenize`,
    permission: 'captures:tokenize',
    body: { tags: [], scheme: '1' },
  },
  { method: 'GET', path: `/transactions/requests/${ID}`, permission: 'captures:retrieve' },
  { method: 'GET', path: `/transactions/requests/${ID}/inspect`, permission: 'captures:inspect' },
  { method: 'DELETE', path: `/transactions/requests/${ID}`, permission: 'captures:delete' },
  { method: 'POST', path: '/v1/account', permission: 'account:read' },
  { method: 'GET', path: '/v1/account', permission: 'account:read' },
];

const SESSION = { allowed_origins: ['https://shop.example'], result: 'capture', amount: 1, currency: 'USD', ttl: 5 };
const WEBHOOK = '/v1/webhooks/wh_aaaaaaaaaaaaaaaaaaaaaaaa';
const manage = (method: string, path: string, body?: unknown): Line => ({
  ...{ method, path, permission: 'webhooks:manage' },
  ...(body !== undefined && { body }),
});

/** The same of capture sessions and webhooks. */
export const BROWSER_LINES: readonly Line[] = [
  { method: 'POST', path: '/v1/capture-sessions', permission: 'captures:create', body: SESSION },
  { method: 'GET', path: `/v1/capture-sessions/${ID}`, permission: 'captures:inspect' },
  { method: 'DELETE', path: `/v1/capture-sessions/${ID}`, permission: 'captures:delete' },
  manage('POST', '/v1/webhooks', { url: 'https://shop.example/hook', events: ['*'] }),
  manage('GET', '/v1/webhooks'),
  manage('GET', WEBHOOK),
  manage('POST', WEBHOOK, { status: 'disabled' }),
  manage('DELETE', WEBHOOK),
  manage('POST', `${WEBHOOK}/rotate`, {}),
  manage('POST', `${WEBHOOK}/test`, {}),
  manage('GET', `${WEBHOOK}/deliveries`),
  manage('POST', `${WEBHOOK}/replay`, {}),
];

const PAYMENT = 'aahlqkczgvaaatqbhwzmfnrcx';
const ORDER = {
  transaction_info: { type: 'authorization', reference_code: 'A-1001' },
  card: { number: '4111111111111111', expiration_date: '12/2029', security_code: '123', holder: 'Ana Lopez' },
  order_info: { amount_details: { total_amount: 125.5, currency: 'USD' } },
  bill_to: { first_name: 'Ana', last_name: 'Lopez', email: 'ana@example.com' },
};
const of = (type: string) => ({ transaction_info: { type } });

/** The same of payments, whose answers have a shape of their own. */
export const PAYMENT_LINES: readonly Line[] = [
  { method: 'POST', path: '/v1/payments', permission: 'payments:write', body: ORDER },
  { method: 'POST', path: `/v1/payments/${PAYMENT}/capture`, permission: 'payments:write', body: of('capture') },
  { method: 'POST', path: `/v1/payments/${PAYMENT}/refund`, permission: 'payments:write', body: of('payment_refund') },
  {
    method: 'POST',
    path: `/v1/payments/${PAYMENT}/void`,
    permission: 'payments:write',
    body: of('authorization_void'),
  },
  { method: 'GET', path: `/v1/payments/transactions/${PAYMENT}`, permission: 'payments:read' },
];

/** The pattern of a line's path, with parameters as the routes name them. */
export function patternOf({ method, path }: Pick<Line, 'method' | 'path'>): string | undefined {
  const fits = (pattern: string): boolean => new RegExp(`^${pattern.replace(/:[a-z]+/g, '[^/]+')}$`).test(path);
  return ENDPOINTS.find((endpoint) => endpoint.method === method && fits(endpoint.path))?.path;
}
