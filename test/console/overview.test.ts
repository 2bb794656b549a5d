import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { showOverview, showServiceOverview } from '../../console/wire/overview.ts';
import { configureProxy } from '../../console/wire/proxy.ts';
import { Usage } from '../../src/accounts/usage.ts';
import { DAY, HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { FAILED, newMerchant, processed, REJECTED, TIMES_OUT } from '../interface/payment-requests.ts';
import { cards, VISA } from '../interface/vault-requests.ts';
import { assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';
import { newPerson } from './console-client.ts';

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

  test('has a point for each hour, day or week, and ends with today', async () => {
    const desk = await newAccountUser(service, await service.newAccount());
    for (const [query, number, step] of [
      [{ days: '1' }, 24, 'hour'],
      [{ days: '2' }, 48, 'hour'],
      [{}, 7, 'day'],
      [{ days: '3' }, 3, 'day'],
      [{ days: '92' }, 92, 'day'],
      [{ days: '93' }, 14, 'week'],
      [{ days: '366' }, 53, 'week'],
    ] as const) {
      const overview = successData(await desk.call(showOverview, { query }));
      const length = { hour: HOUR, day: DAY, week: 7 * DAY }[step];
      const start = Date.parse(overview.from);
      assert.deepEqual(
        timesOf(overview.points),
        Array.from({ length: number }, (_, index) => start + index * length),
      );
      assert.equal(overview.step, step);
      assert.equal(overview.to, new Date(service.now() - (service.now() % DAY) + DAY).toISOString());
    }
  });

  test('has the days of the time zone, also where the clocks change and where days begin within an hour of UTC', async () => {
    const desk = await newAccountUser(service, await service.newAccount());
    const read = async (query: Readonly<Record<string, string>>) =>
      successData(await desk.call(showOverview, { query }));
    const shifted = await read({ from: '2026-03-29', to: '2026-03-30', zone: 'Europe/Madrid' });
    assert.deepEqual(
      [shifted.from, shifted.to, shifted.points.length, shifted.is_exact],
      ['2026-03-28T23:00:00.000Z', '2026-03-30T22:00:00.000Z', 47, true],
    );
    const whole = await read({ from: '2026-01-10', to: '2026-01-12', zone: 'America/Bogota' });
    assert.deepEqual(
      [whole.from, whole.to, whole.points.length],
      ['2026-01-10T05:00:00.000Z', '2026-01-13T05:00:00.000Z', 3],
    );
    const half = await read({ from: '2026-01-10', to: '2026-01-10', zone: 'Asia/Kolkata' });
    assert.deepEqual(
      [half.from, half.to, half.is_exact],
      ['2026-01-09T18:00:00.000Z', '2026-01-10T18:00:00.000Z', false],
    );
  });

  test('sums the money of payments by currency, and counts why payments were not approved', async () => {
    const merchant = await newMerchant(service);
    const desk = await newAccountUser(service, merchant.account);
    const id = await merchant.opened('payment', { amount: 100, currency: 'COP' });
    processed(await merchant.move('refund', id, 30.5));
    await merchant.opened('authorization', { amount: 20, currency: 'COP' });
    await merchant.opened('payment', { amount: 7, currency: 'CLP' });
    for (const amount of [REJECTED, REJECTED, FAILED]) await merchant.order('payment', { amount });
    const overview = successData(await desk.call(showOverview));
    assert.deepEqual(overview.currencies, [
      { currency: 'COP', approved: 2, authorized: '120.00', collected: '100.00', refunded: '30.50', net: '69.50' },
      { currency: 'CLP', approved: 1, authorized: '7', collected: '7', refunded: '0', net: '7' },
    ]);
    assert.deepEqual(overview.reasons.slice(0, 1), [{ status: 'Declined', reason: 'Rejected', number: 2 }]);
    assert.deepEqual(
      overview.reasons.map(({ number }: { number: number }) => number),
      [2, 1],
    );
    const day = new Date(service.now() + DAY).toISOString().slice(0, 10);
    const later = successData(await desk.call(showOverview, { query: { from: day, to: day } }));
    assert.deepEqual([later.currencies, later.reasons, later.period.payments], [[], [], 0]);
  });

  test('adds up all accounts for operators, and for no one else', async () => {
    const [one, other] = [await newMerchant(service), await newMerchant(service)];
    const operator = await newPerson(service, '', 'operator');
    const read = async () => {
      service.advance(MINUTE);
      return successData(await operator.call(showServiceOverview, { query: { environment: 'sandbox' } }));
    };
    const netOf = ({ currencies }: { currencies: readonly { currency: string; net: string }[] }) =>
      currencies.find(({ currency }) => currency === 'SEK')?.net;
    assert.equal(netOf(await read()), undefined);
    await one.opened('payment', { amount: 1.25, currency: 'SEK' });
    await other.opened('payment', { amount: 2.5, currency: 'SEK' });
    await count(one.account, { tokens: 5 });
    const after = await read();
    assert.equal(netOf(after), '3.75');
    assert.ok(after.period.tokens >= 5);
    const desk = await newAccountUser(service, one.account);
    assert.equal((await desk.call(showServiceOverview, { query: { environment: 'sandbox' } })).status, 403);
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
    // An hour later is still the same day.
    service.advance(DAY + 12 * HOUR - (service.now() % DAY));
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
    const present = new Date(service.now()).getUTCHours();
    assert.deepEqual(shown.slice(present - 1, present + 1), [
      { ...nothing, tokens: 3, requests: 3, refused: 1, median_ms: 5, p95_ms: 5 },
      { ...nothing, captures: 4, requests: 9, failed: 5, median_ms: 20, p95_ms: 60_001 },
    ]);
    for (const point of [...shown.slice(0, present - 1), ...shown.slice(present + 1)])
      assert.deepEqual(point, { ...nothing, median_ms: null, p95_ms: null });
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
    assert.deepEqual(await created('1'), [1000, 0]);
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
    // One that is in doubt has no result yet.
    assert.deepEqual([period.payments, period.approved, period.not_approved], [2, 1, 1]);
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
    for (const days of ['0', '367', '-1', '1.5', 'week'])
      assertRefused(await desk.call(showOverview, { query: { days } }), 'invalid_field', 'days');
    const faults: [string, Record<string, string>][] = [
      ['from', { from: '2026-02-30' }],
      ['from', { from: 'yesterday', to: '2026-02-01' }],
      ['to', { from: '2026-02-02', to: '2026-02-01' }],
      ['to', { from: '2026-01-01', to: '2027-01-02' }],
      ['zone', { zone: '+05:00' }],
      ['zone', { zone: 'America/Nowhere' }],
    ];
    for (const [field, query] of faults)
      assertRefused(await desk.call(showOverview, { query }), 'invalid_field', field);
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
