import assert from 'node:assert/strict';
import type { Permission } from '../../src/accounts/permission.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';

/** Helpers of the tests of tokens and captures: paths, valid requests, and checks of the responses. */
export const TOKENIZE = '/v1/tokenization/simple';
export const TOKENS = '/v1/tokens';
export const CAPTURES = '/transactions/requests';

export const VISA = '4111111111111111';
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const TIME = /^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$/;

export const card = (pan: unknown, more: object = {}) => ({ card: pan, name: 'Ana Lopez', exp: '12/29', ...more });
export const cards = (pans: readonly unknown[], more: object = {}) => ({
  chd: pans.map((pan) => card(pan)),
  tags: [],
  scheme: 1,
  ...more,
});
export const capture = (more: object = {}) => ({
  chd: { card: VISA, name: 'Ana Lopez', exp: '12/29', cvv: '123' },
  amount: 12500,
  currency: 'USD',
  additional_info: {},
  ttl: 60,
  ...more,
});

/** The data of an answer that must be a success. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function dataOf(response: TestResponse): any {
  assert.equal(response.status, 200, response.text);
  const { data, ...envelope } = response.json;
  assert.deepEqual(envelope, { status_code: 200, status: 'success', desc: 'Success' });
  return data;
}

export const tokensIn = (response: TestResponse): string[] =>
  dataOf(response).tokens.map(({ token }: { token: string }) => token);

/** A refusal in the vault's shape that says what is expected and repeats nothing of what was sent. */
export function assertRefused(response: TestResponse, desc: RegExp | string, sent?: unknown, status = 400): void {
  assert.equal(response.status, status, response.text);
  const { desc: text, ...rest } = response.json;
  assert.deepEqual(rest, { status_code: status, status: 'fail', data: '' });
  if (typeof desc === 'string') assert.equal(text, desc);
  else assert.match(text, desc);
  for (const part of collectTexts(sent)) assert.ok(!text.includes(part), `${text} repeats ${part}`);
}

/** Words of the interface, which texts may name. */
const NAMES = new Set(['chd', 'card', 'name', 'exp', 'tags', 'scheme', 'isEightDigitsBin', 'type', 'tokens']);
for (const name of ['cvv', 'track_2', 'amount', 'currency', 'additional_info', 'ttl', 'TTL', 'pan_index'])
  NAMES.add(name);
const SHORTEST = 4;

/** Every value and every unknown key of a request, as far as it is long enough to be recognized in a text. */
function collectTexts(sent: unknown): string[] {
  if (typeof sent === 'object' && sent !== null) {
    const keys = Array.isArray(sent) ? [] : Object.keys(sent).filter((key) => !NAMES.has(key));
    return [...keys.filter((key) => key.length >= SHORTEST), ...Object.values(sent).flatMap(collectTexts)];
  }
  const text = typeof sent === 'string' || typeof sent === 'number' ? String(sent) : '';
  return text.length >= SHORTEST ? [text] : [];
}

export interface Caller {
  readonly account: string;
  readonly key: string;
  readonly keyId: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  tokenize(body: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  /** The id of a new capture. */
  capture(more?: object): Promise<string>;
  /** Rows of a table that belong to the caller and are in use. */
  count(table: 'tokens' | 'captures' | 'idempotency'): Promise<number>;
}

interface CallerOptions {
  readonly account?: string;
  readonly environment?: Environment;
  readonly name?: string;
  readonly permissions?: readonly Permission[];
}

/** A caller with a key; of a new account unless one is given. */
export async function newCaller(service: TestService, options: CallerOptions = {}): Promise<Caller> {
  const { environment = 'sandbox', ...traits } = options;
  const account = options.account ?? (await service.newAccount());
  const { id, secret: key } = await service.newKey(account, { ...traits, environment });
  const send: Caller['send'] = (method, path, body, headers = {}) =>
    service.call(method, path, { key, environment, body, headers });
  return {
    account,
    key,
    keyId: id,
    send,
    tokenize: (body, headers) => send('POST', TOKENIZE, body, headers),
    capture: async (more) => dataOf(await send('POST', CAPTURES, capture(more))).id,
    count: async (table) => {
      const live = table === 'tokens' ? ' and record is not null' : '';
      const sql = `select count(*) as rows from ${table} where account = ?account and environment = ?environment${live}`;
      return Number((await service.core.database.read(sql, account, environment))[0]?.['rows']);
    },
  };
}

/** The one body of every 403, for a request that would be good with the right key. */
export async function assertForbidden(
  service: TestService,
  request: { method: string; path: string; body?: unknown },
  permission: Permission,
): Promise<void> {
  const { method, path, body } = request;
  const others: Permission[] = ['account:read'];
  if (permission !== 'tokens:inspect') others.push('tokens:inspect');
  if (permission !== 'captures:inspect') others.push('captures:inspect');
  const account = await service.newAccount();
  const keys = {
    missing: undefined,
    unknown: 'cv_sandbox_0000000000000000000000000000000000000000000',
    'without the permission': (await service.newKey(account, { permissions: others })).secret,
    'of the other environment': (await service.newKey(account, { environment: 'production' })).secret,
    'not from this address': (await service.newKey(account, { allow: ['203.0.113.0/24'] })).secret,
  };
  const bodies = new Set<string>();
  for (const key of Object.values(keys)) {
    const response = await service.call(method, path, { body, ...(key !== undefined && { key }) });
    assertRefused(response, 'Access denied.', body, 403);
    bodies.add(response.text);
  }
  assert.equal(bodies.size, 1);
}

/** The Luhn check, written apart from the one under test. */
export function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, letter, index) => {
    const value = Number(letter) * (index % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
