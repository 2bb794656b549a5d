import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { showOverview } from '../../console/wire/overview.ts';
import { configureProxy } from '../../console/wire/proxy.ts';
import { Usage } from '../../src/accounts/usage.ts';
import { DAY, HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newMerchant, REJECTED, TIMES_OUT } from '../interface/payment-requests.ts';
import { cards, VISA } from '../interface/vault-requests.ts';
import { assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';

interface Point extends Readonly<Record<string, unknown>> {
  readonly at: string;
}

describe('the overview', { timeout: 120_000 }, () => {
  let service: TestService;

  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  /** Counts as a node does that answers requests. */
  async function count(account: string, numbers: Readonly<Record<string, number>>): Promise<void> {
    const usage = new Usage({ database: service.core.database, clock: service.now });
    for (const [name, by] of Object.entries(numbers)) usage.note({ account, environment: 'sandbox' }, name, by);
    await usage.flush();
  }

  const timesOf = (points: readonly Point[]): number[] => points.map(({ at }) => Date.parse(at));

  test('has a point for each hour of a day, or for each day of any longer period, the current one last', async () => {
    const desk = await newAccountUser(service, await service.newAccount());
    for (const [query, number, step] of [
      [{ days: '1' }, 24, HOUR],
      [{}, 7, DAY],
      [{ days: '2' }, 2, DAY],
      [{ days: '90' }, 90, DAY],
    ] as const) {
      const { points } = successData(await desk.call(showOverview, { query }));
      const times = timesOf(points);
      const now = service.now();
      assert.deepEqual(
        times,
        Array.from({ length: number }, (_, index) => now - (now % step) - (number - 1 - index) * step),
      );
    }
  });

  test('reports for 30 days the settings that an operator changed, but not those that members changed', async () => {
    const desk = await newAccountUser(service, await service.newAccount());
    const { account } = desk;
    const changes = async (environment = 'sandbox') =>
      successData(await desk.call(showOverview, { params: { environment } })).operator_changes;
    await desk.person.stepUp();
    const body = { settings: [{ name: 'jose.payload', value: 'plain' }] };
    successData(await desk.call(configureProxy, { body }));
    assert.deepEqual(await changes(), []);
    await service.enablePayments(account);
    service.advance(MINUTE);
    const by = { actor: { type: 'operator' } } as const;
    const tenant = { account, environment: 'sandbox' } as const;
    await service.core.transactions.run({ origin: by }, (transaction) =>
      service.core.configurations.configure(transaction, tenant, {
        settings: { 'jose.payload': 'nested' },
        overlapMinutes: 0,
      }),
    );
    await service.enablePayments(account, { 'payment-scheme': '3' });
    const shown = await changes();
    assert.deepEqual(
      shown.map(({ action }: { action: string }) => action),
      ['payments.enabled', 'proxy.configured'],
    );
    assert.ok(Math.abs(Date.parse(shown[0].at) - service.now()) < MINUTE);
    assert.deepEqual(await changes('production'), []);
    service.advance(31 * DAY);
    const later = await newAccountUser(service, account);
    assert.deepEqual(successData(await later.call(showOverview)).operator_changes, []);
  });

  test('has the counts of each point, and their totals', async () => {
    const account = await service.newAccount();
    await count(account, { tokens: 3, 'tokenizeCards.ok': 2, 'tokenizeCards.refused': 1, 'ms.le_5': 3 });
    service.advance(HOUR);
    await count(account, { 'createCapture.ok': 4, 'showPayment.failed': 5, 'ms.le_20': 5, 'ms.longer': 4 });
    // Not of this tenant.
    await count(await service.newAccount(), { tokens: 100 });
    const desk = await newAccountUser(service, account);
    const { period, points } = successData(await desk.call(showOverview, { query: { days: '1' } }));
    assert.deepEqual(period, {
      tokens: 3,
      captures: 4,
      payments: 0,
      approved: 0,
      not_approved: 0,
      requests: 12,
      refused: 1,
      failed: 5,
      median_ms: 20,
      p95_ms: 60_001,
    });
    const nothing = {
      tokens: 0,
      captures: 0,
      payments: 0,
      approved: 0,
      not_approved: 0,
      requests: 0,
      refused: 0,
      failed: 0,
    };
    const shown = points.map(({ at: _at, ...point }: Point) => point);
    assert.deepEqual(shown.slice(-2), [
      { ...nothing, tokens: 3, requests: 3, refused: 1, median_ms: 5, p95_ms: 5 },
      { ...nothing, captures: 4, requests: 9, failed: 5, median_ms: 20, p95_ms: 60_001 },
    ]);
    for (const point of shown.slice(0, -2)) assert.deepEqual(point, { ...nothing, median_ms: null, p95_ms: null });
  });

  test('also shows the previous period up to the same hour, for comparison', async () => {
    const account = await service.newAccount();
    // In the middle of a day, so that the days before have hours that were not yet today.
    service.advance(DAY + 12 * HOUR - (service.now() % DAY));
    await count(account, { tokens: 1 });
    service.advance(3 * HOUR);
    await count(account, { tokens: 10 });
    service.advance(HOUR);
    await count(account, { tokens: 100 });
    service.advance(2 * DAY - HOUR);
    await count(account, { tokens: 1000 });
    const created = async (days: string) => {
      const desk = await newAccountUser(service, account);
      const { period, before } = successData(await desk.call(showOverview, { query: { days } }));
      return [period.tokens, before.tokens];
    };
    assert.deepEqual(await created('1'), [1000, 100]);
    // Two days ago it was counted at noon and at three; what came at four is later than now.
    assert.deepEqual(await created('2'), [1000, 11]);
    assert.deepEqual(await created('3'), [1111, 0]);
    service.advance(HOUR);
    assert.deepEqual(await created('2'), [1000, 111]);
  });

  test('shows the number of records, payments by outcome, and those in doubt', async () => {
    const merchant = await newMerchant(service, { 'timeout-ms': '1000' });
    const desk = await newAccountUser(service, merchant.account);
    await merchant.tokenize(cards([VISA]));
    await merchant.capture();
    await merchant.opened();
    await merchant.order('authorization', { amount: REJECTED });
    await merchant.order('authorization', { amount: TIMES_OUT });
    const { totals, period, points } = successData(await desk.call(showOverview, { query: { days: '1' } }));
    assert.deepEqual(totals, { tokens: 1, captures: 1, payments: 3, in_doubt: 1 });
    assert.deepEqual([period.payments, period.approved, period.not_approved], [3, 1, 1]);
    const sum = (name: string): number => points.reduce((all: number, point: Point) => all + Number(point[name]), 0);
    assert.deepEqual([sum('approved'), sum('not_approved')], [1, 1]);
  });

  test('is computed once for all concurrent readers and the seconds after, and then again', async () => {
    const account = await service.newAccount();
    await count(account, { tokens: 1 });
    const desks = await Promise.all([newAccountUser(service, account), newAccountUser(service, account)]);
    const seen = async () => {
      const responses = await Promise.all([...desks, ...desks, ...desks].map((desk) => desk.call(showOverview)));
      return new Set(responses.map((response) => successData(response).period.tokens));
    };
    assert.deepEqual(await seen(), new Set([1]));
    await count(account, { tokens: 1 });
    assert.deepEqual(await seen(), new Set([1]));
    // Longer where reading takes long.
    service.advance(10 * MINUTE);
    assert.deepEqual(await seen(), new Set([2]));
  });

  test('an invalid number of days is reported with its field', async () => {
    const desk = await newAccountUser(service, await service.newAccount());
    for (const days of ['0', '91', '-1', '1.5', 'week'])
      assertRefused(await desk.call(showOverview, { query: { days } }), 'invalid_field', 'days');
  });

  test('the overview of another account, or of an unknown environment, is unknown', async () => {
    const [desk, stranger] = [
      await newAccountUser(service, await service.newAccount()),
      await newAccountUser(service, await service.newAccount()),
    ];
    assertUnknown(
      await stranger.call(showOverview, { params: { account: desk.account } }),
      await desk.call(showOverview, { params: { environment: 'test' } }),
    );
  });
});
