import assert from 'node:assert/strict';
import { eventually } from '../fixtures/eventually.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { type Caller, newCaller, VISA } from './vault-requests.ts';

/** Helpers of the payment tests: valid requests, their callers, and checks of the responses. */
export const PAYMENTS = '/v1/payments';
export const ID = /^[a-z]{25}$/;
export const UNKNOWN = 'Outcome unknown, being resolved';

/** An amount of which the simulator books the authorization, and never answers. */
export const TIMES_OUT = 66_000;
/** Amounts that the simulator answers otherwise. */
export const REJECTED = 5001;
export const FAILED = 50_001;
export const OPENED = 60_000;

/** Beyond `timeout-ms` and `recovery-delay-ms` of the simulator. */
const UNTIL_RECOVERY = 6500;

export type FirstType = 'authorization' | 'payment';

export interface OrderOptions {
  /** In place of the whole card. */
  readonly card?: object;
  readonly amount?: unknown;
  readonly currency?: string;
  /** Words of the simulator, as `_capture_timeout`. */
  readonly triggers?: string;
  readonly reference?: string;
}

export const CARD = { number: VISA, expiration_date: '12/2029', security_code: '123', holder: 'Ana Lopez' };

/** A good authorization or payment. */
export const order = (type: FirstType = 'authorization', options: OrderOptions = {}) => {
  const { card = CARD, amount = 125.5, currency = 'USD', triggers = '', reference = 'A-1001' } = options;
  return {
    transaction_info: { type, reference_code: reference },
    card,
    order_info: { amount_details: { total_amount: amount, currency } },
    bill_to: { first_name: 'Ana', last_name: 'Lopez', country: 'US', email: `ana${triggers}@example.com` },
  };
};

const TYPES = { capture: 'capture', refund: 'payment_refund', void: 'authorization_void' } as const;
const PARTS = { capture: 'capture_info', refund: 'refund_info', void: 'void_info' } as const;
export type FollowOn = keyof typeof TYPES;

/** A capture, refund or void; of a part when there is an amount. */
export const followOnRequest = (move: FollowOn, amount?: unknown, currency?: string) => ({
  transaction_info: { type: TYPES[move] },
  ...(amount !== undefined && { [PARTS[move]]: { amount_details: { total_amount: amount, currency } } }),
});

type Headers = Readonly<Record<string, string>>;

export interface Merchant extends Caller {
  order(type?: FirstType, options?: OrderOptions, headers?: Headers): Promise<TestResponse>;
  /** The id of a new payment that was answered with success. */
  opened(type?: FirstType, options?: OrderOptions): Promise<string>;
  move(move: FollowOn, id: string, amount?: unknown, headers?: Headers): Promise<TestResponse>;
  show(id: string): Promise<TestResponse>;
  /** How the payment stands now: its status and amounts. */
  standing(id: string): Promise<{ status: string; reason?: string; amounts: Record<string, unknown> }>;
  /** How many operations there are of all payments of the account. */
  operations(): Promise<number>;
}

/** A merchant whose payments go to the simulator. */
export async function newMerchant(
  service: TestService,
  settings: Readonly<Record<string, string>> = {},
  options: Parameters<typeof newCaller>[1] = {},
): Promise<Merchant> {
  const caller = await newCaller(service, options);
  await service.enablePayments(caller.account, settings);
  const { send, account } = caller;
  const show: Merchant['show'] = (id) => send('GET', `${PAYMENTS}/transactions/${encodeURIComponent(id)}`);
  const first: Merchant['order'] = (type, more, headers) => send('POST', PAYMENTS, order(type, more), headers);
  return {
    ...caller,
    show,
    order: first,
    opened: async (type, more) => {
      const response = await first(type, more);
      assert.equal(response.json?.status, 'success', response.text);
      return idOf(response);
    },
    move: (move, id, amount, headers) =>
      send('POST', `${PAYMENTS}/${id}/${move}`, followOnRequest(move, amount), headers),
    standing: async (id) => {
      const { data } = (await show(id)).json;
      const { status, reason } = data.transaction_info;
      return { status, ...(reason !== undefined && { reason }), amounts: data.order_info.amount_details };
    },
    operations: () => operationsIn(service, account),
  };
}

/** How many operations there are of all payments of an account; the first one of a payment has its id. */
export async function operationsIn(service: TestService, account: string): Promise<number> {
  const both = `select id from payments where account = ?account union select id from payment_operations where account = ?account`;
  const rows = await service.core.database.read(
    `select count(*) as rows from (${both}) as operations`,
    account,
    account,
  );
  return Number(rows[0]?.['rows']);
}

/** The data of a request that was processed. */
// biome-ignore lint/suspicious/noExplicitAny: data of every shape
export function processed(response: TestResponse, status = 'success', message?: string): any {
  assert.equal(response.status, 200, response.text);
  assert.equal(response.json.status, status, response.text);
  if (message !== undefined) assert.equal(response.json.message, message);
  return response.json.data;
}

export const infoOf = (response: TestResponse) => processed(response, response.json?.status).transaction_info;
export const idOf = (response: TestResponse): string => infoOf(response).transaction_id;

/** A refusal in the shape of payments: the place is named, and what was sent there is not repeated. */
export function assertRefused(
  response: TestResponse,
  { status = 400, code = 'invalid_field', path = '' }: { status?: number; code?: string; path?: string },
  sent?: unknown,
): void {
  assert.equal(response.status, status, response.text);
  const { message } = response.json;
  assert.deepEqual(response.json, {
    status: status >= 500 ? 'Error' : 'Fail',
    message,
    data: { code, description: message, path },
  });
  assert.ok(typeof message === 'string' && message.length > 5);
  if (path !== '') assert.ok(message.startsWith(`${path}: `), message);
  const value = typeof sent === 'object' ? undefined : String(sent);
  if (value !== undefined && value.length > 3) assert.ok(!response.text.includes(value), `${message} repeats ${value}`);
}

/** Waits until recovery has processed an unknown outcome. */
export async function waitForRecovery(service: TestService, isResolved: () => Promise<boolean>): Promise<void> {
  service.advance(UNTIL_RECOVERY);
  await eventually(isResolved);
}
