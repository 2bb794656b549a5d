import assert from 'node:assert/strict';
import { Usage } from '../../src/accounts/usage.ts';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { type FollowOn, followOnRequest, order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES, TOKENIZE } from '../interface/vault-requests.ts';

/** Requests of a merchant's servers over several days, as far as the console shows their results. */

/** Test numbers that are known as such. */
export const CARDS = [
  '4111111111111111',
  '5555555555554444',
  '4012888888881881',
  '378282246310005',
  '6011111111111117',
  '2223003122003222',
  '5105105105105100',
  '4242424242424242',
  '30569309025904',
  '3530111333300000',
] as const;

const HOLDERS = [
  'Ana Lopez',
  'Ben Ode',
  'Chiara Rossi',
  'Dmitri Volkov',
  'Eva Lindqvist',
  'Farid Haddad',
  'Grace Okafor',
];
const TAGS = [['web'], ['web', 'returning'], ['app'], ['subscription', 'monthly', 'books'], [], ['gift card']];

/** Sends with a merchant's key, each time under another idempotency key. */
export type ApiClient = (path: string, body: object) => Promise<TestResponse>;

export function newApiClient(
  service: TestService,
  key: string,
  environment: 'sandbox' | 'production',
  name = 'order',
): ApiClient {
  let sent = 0;
  return (path, body) =>
    service.call('POST', path, { key, environment, body, headers: { 'idempotency-key': `${name}-${++sent}` } });
}

const good = (response: TestResponse) => {
  assert.equal(response.status, 200, response.text);
  return response.json.data;
};

const pick = <T>(all: readonly T[], index: number): T => all[index % all.length] as T;

/** A few tokens of each form; the day makes them differ. */
export async function storeCards(send: ApiClient, day: number): Promise<string[]> {
  const created: string[] = [];
  for (const [index, scheme] of [1, 3, 7, 8].entries()) {
    const at = day + index * 3;
    const card = (offset: number) => ({
      card: pick(CARDS, at + offset),
      name: pick(HOLDERS, at + offset),
      exp: `${String(((at + offset) % 12) + 1).padStart(2, '0')}/${30 + (at % 4)}`,
    });
    const type = day % 3 === 1 ? {} : { type: 'persistent' };
    const bin = day % 4 === 2 && scheme !== 7 ? { isEightDigitsBin: true } : {};
    const body = { chd: [card(0), ...(day % 5 === 0 ? [card(4)] : [])], tags: pick(TAGS, at), scheme, ...type, ...bin };
    const { tokens } = good(await send(TOKENIZE, body));
    created.push(...tokens.map(({ token }: { token: string }) => token));
  }
  return created;
}

/** Captures that end in minutes to days; answers the ids. */
export async function storeCaptures(send: ApiClient): Promise<string[]> {
  const bodies = [
    {
      ttl: 10_080,
      amount: 12_500,
      currency: 'USD',
      additional_info: { order: 'HB-2040', channel: 'web', items: [{ isbn: '9780141439518', count: 2 }] },
    },
    { ttl: 1440, amount: 4990, currency: 'EUR', additional_info: { order: 'HB-2041' } },
    { ttl: 180, amount: 0, currency: 'USD', additional_info: {} },
    { ttl: 45, amount: 89_900, currency: 'COP', additional_info: { table: 7 } },
  ];
  const ids: string[] = [];
  for (const [index, body] of bodies.entries()) {
    const chd = {
      card: pick(CARDS, index),
      name: pick(HOLDERS, index),
      exp: '11/31',
      ...(index !== 2 && { cvv: '123' }),
    };
    ids.push(good(await send(CAPTURES, { chd, ...body })).id);
  }
  return ids;
}

const SESSIONS = '/v1/capture-sessions';

/** Opens a session of the card form for half an hour; returns its id. */
export async function openSession(send: ApiClient, description: string): Promise<string> {
  const body = { allowed_origins: ['https://shop.harbour.example'], amount: 12_500, currency: 'USD', ttl: 15 };
  return good(await send(SESSIONS, { ...body, description })).id;
}

interface Sale {
  readonly reference: string;
  readonly amount: number;
  readonly currency?: string;
  readonly type?: 'authorization' | 'payment';
  readonly card?: number;
  /** To the simulator. */
  readonly triggers?: string;
  readonly moves?: readonly (readonly [FollowOn, number?])[];
}

/** One of every outcome, on the days before today on which they happen. */
const SALES: Readonly<Record<number, readonly Sale[]>> = {
  12: [
    { reference: 'HB-1001', amount: 42.5, moves: [['capture'], ['refund']] },
    { reference: 'HB-1002', amount: 5200, card: 1 },
  ],
  10: [
    {
      reference: 'HB-1003',
      amount: 118,
      type: 'payment',
      currency: 'EUR',
      moves: [
        ['refund', 20],
        ['refund', 8.5],
      ],
    },
  ],
  8: [
    { reference: 'HB-1004', amount: 64.2, moves: [['void']] },
    { reference: 'HB-1005', amount: 12_000, card: 2 },
    { reference: 'HB-1006', amount: 3200, type: 'payment', currency: 'JPY', card: 9 },
  ],
  6: [
    { reference: 'HB-1007', amount: 27.9, type: 'payment' },
    { reference: 'HB-1008', amount: 51_000, card: 3 },
  ],
  5: [{ reference: 'HB-1009', amount: 480, moves: [['capture', 300]] }],
  4: [
    { reference: 'HB-1010', amount: 89.9, type: 'payment', card: 4 },
    { reference: 'HB-1011', amount: 36_000, card: 5 },
  ],
  3: [{ reference: 'HB-1012', amount: 15.75, type: 'payment', currency: 'EUR', card: 1 }],
  2: [
    { reference: 'HB-1013', amount: 210.4, card: 6 },
    { reference: 'HB-1014', amount: 33, type: 'payment', card: 7 },
  ],
  1: [
    { reference: 'HB-1015', amount: 76, type: 'payment', moves: [['refund', 76]] },
    { reference: 'HB-1016', amount: 31_000, card: 8 },
  ],
  0: [
    { reference: 'HB-1017', amount: 125.5 },
    { reference: 'HB-1018', amount: 61.3, card: 1 },
    { reference: 'HB-1019', amount: 99.95, type: 'payment', card: 2 },
    { reference: 'HB-1020', amount: 60_500, card: 3 },
    // Its authorization is booked, never answered, and never found out.
    { reference: 'HB-1021', amount: 66_000, card: 4, triggers: '_inquiry_timeout_always_reversal_timeout_always' },
  ],
};

/** The requests of one day; `ids` gets the ids by reference. */
export async function createPayments(daysAgo: number, send: ApiClient, ids: Map<string, string>): Promise<void> {
  for (const {
    reference,
    amount,
    currency = 'USD',
    type = 'authorization',
    card = 0,
    triggers = '',
    moves = [],
  } of SALES[daysAgo] ?? []) {
    const paying = {
      number: pick(CARDS, card),
      expiration_date: '12/2031',
      security_code: card === 3 ? '1234' : '123',
      holder: pick(HOLDERS, card),
    };
    const { transaction_info } = good(
      await send(PAYMENTS, order(type, { card: paying, amount, currency, triggers: triggers, reference })),
    );
    const id: string = transaction_info.transaction_id;
    ids.set(reference, id);
    for (const [move, part] of moves)
      good(
        await send(`${PAYMENTS}/${id}/${move}`, followOnRequest(move, part, part === undefined ? undefined : currency)),
      );
  }
}

/** The counters of thousands of calls over several days. */
export async function seedUsageDays(
  service: TestService,
  account: string,
  environment: 'sandbox' | 'production',
  days: number,
): Promise<void> {
  const end = service.now();
  let at = end;
  const usage = new Usage({ database: service.core.database, clock: () => at });
  const tenant = { account, environment };
  for (at = end - days * DAY; at < end - HOUR; at += HOUR) {
    // Busy by day, quiet at night and on some days.
    const hour = Math.floor((at % DAY) / HOUR);
    const day = Math.floor(at / DAY);
    const busy = Math.round((hour < 6 ? 3 : 14 + ((hour * 7) % 11)) * (0.6 + ((day * 5) % 7) / 8));
    usage.note(tenant, 'tokenizeCards.ok', busy);
    usage.note(tenant, 'tokens', busy);
    usage.note(tenant, 'createCapture.ok', Math.round(busy / 2));
    usage.note(tenant, 'proxyJose.ok', Math.round(busy / 3));
    usage.note(tenant, 'proxyJose.refused', hour % 5 === 0 ? 2 : 0);
    usage.note(tenant, 'createPayment.failed', day % 6 === 0 && hour === 11 ? 3 : 0);
    usage.note(tenant, 'ms.le_5', busy);
    usage.note(tenant, hour > 8 && hour < 19 ? 'ms.le_20' : 'ms.le_10', Math.round(busy / 2));
    usage.note(tenant, 'ms.le_50', Math.max(1, Math.round(busy / 14)));
  }
  await usage.flush();
}
