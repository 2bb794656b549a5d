import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { showOverview } from '../../console/wire/overview.ts';
import { configureProxy } from '../../console/wire/proxy.ts';
import { DAY, HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { Statistics } from '../../src/storage/statistics.ts';
import { type House, startHouse } from '../house.ts';
import { newMerchant, REJECTED, TIMES_OUT } from '../interface/payments.ts';
import { cards, VISA } from '../interface/vault.ts';
import { assertRefused, assertUnknown, given, newDesk } from './desk.ts';

interface Point extends Readonly<Record<string, unknown>> {
  readonly at: string;
}

describe('the overview', { timeout: 120_000 }, () => {
  let house: House;

  before(async () => {
    house = await startHouse();
  });
  after(() => house.stop());

  /** Counts as a node does that answers requests. */
  async function count(account: string, numbers: Readonly<Record<string, number>>): Promise<void> {
    const statistics = new Statistics({ database: house.core.database, clock: house.now });
    for (const [name, by] of Object.entries(numbers)) statistics.note({ account, environment: 'sandbox' }, name, by);
    await statistics.flush();
  }

  const timesOf = (points: readonly Point[]): number[] => points.map(({ at }) => Date.parse(at));

  test('has a point for each hour of a day, or for each day of a week and of any number, the present one last', async () => {
    const desk = await newDesk(house, await house.newAccount());
    for (const [query, number, step] of [
      [{ days: '1' }, 24, HOUR],
      [{}, 7, DAY],
      [{ days: '2' }, 2, DAY],
      [{ days: '90' }, 90, DAY],
    ] as const) {
      const { points } = given(await desk.call(showOverview, { query }));
      const times = timesOf(points);
      const now = house.now();
      assert.deepEqual(
        times,
        Array.from({ length: number }, (_, index) => now - (now % step) - (number - 1 - index) * step),
      );
    }
  });

  test('says for 30 days what an operator changed in the settings, and nothing of what members change', async () => {
    const desk = await newDesk(house, await house.newAccount());
    const { account } = desk;
    const changes = async (environment = 'sandbox') =>
      given(await desk.call(showOverview, { params: { environment } })).operator_changes;
    await desk.person.stepUp();
    const body = { settings: [{ name: 'jose.payload', value: 'plain' }] };
    given(await desk.call(configureProxy, { body }));
    assert.deepEqual(await changes(), []);
    await house.enablePayments(account);
    house.advance(MINUTE);
    const by = { actor: { type: 'operator' } } as const;
    const tenant = { account, environment: 'sandbox' } as const;
    await house.core.configurations.configure(
      tenant,
      { settings: { 'jose.payload': 'nested' }, overlapMinutes: 0 },
      by,
    );
    await house.enablePayments(account, { 'payment-scheme': '3' });
    const shown = await changes();
    assert.deepEqual(
      shown.map(({ action }: { action: string }) => action),
      ['payments.enabled', 'proxy.configured'],
    );
    assert.ok(Math.abs(Date.parse(shown[0].at) - house.now()) < MINUTE);
    assert.deepEqual(await changes('production'), []);
    house.advance(31 * DAY);
    const later = await newDesk(house, account);
    assert.deepEqual(given(await later.call(showOverview)).operator_changes, []);
  });

  test('puts what was counted where it belongs, and adds it up', async () => {
    const account = await house.newAccount();
    await count(account, { tokens: 3, 'tokenizeCards.ok': 2, 'tokenizeCards.refused': 1, 'ms.le_5': 3 });
    house.advance(HOUR);
    await count(account, { 'createCapture.ok': 4, 'showPayment.failed': 5, 'ms.le_20': 5, 'ms.longer': 4 });
    // Not of this tenant.
    await count(await house.newAccount(), { tokens: 100 });
    const desk = await newDesk(house, account);
    const { period, points } = given(await desk.call(showOverview, { query: { days: '1' } }));
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

  test('tells as much of the time before, up to the same hour, to compare with', async () => {
    const account = await house.newAccount();
    // In the middle of a day, so that the days before have hours that were not yet today.
    house.advance(DAY + 12 * HOUR - (house.now() % DAY));
    await count(account, { tokens: 1 });
    house.advance(3 * HOUR);
    await count(account, { tokens: 10 });
    house.advance(HOUR);
    await count(account, { tokens: 100 });
    house.advance(2 * DAY - HOUR);
    await count(account, { tokens: 1000 });
    const made = async (days: string) => {
      const desk = await newDesk(house, account);
      const { period, before } = given(await desk.call(showOverview, { query: { days } }));
      return [period.tokens, before.tokens];
    };
    assert.deepEqual(await made('1'), [1000, 100]);
    // Two days ago it was counted at noon and at three; what came at four is later than now.
    assert.deepEqual(await made('2'), [1000, 11]);
    assert.deepEqual(await made('3'), [1111, 0]);
    house.advance(HOUR);
    assert.deepEqual(await made('2'), [1000, 111]);
  });

  test('tells the records there are, payments by outcome, and those in doubt', async () => {
    const merchant = await newMerchant(house, { 'timeout-ms': '1000' });
    const desk = await newDesk(house, merchant.account);
    await merchant.tokenize(cards([VISA]));
    await merchant.capture();
    await merchant.opened();
    await merchant.order('authorization', { amount: REJECTED });
    await merchant.order('authorization', { amount: TIMES_OUT });
    const { totals, period, points } = given(await desk.call(showOverview, { query: { days: '1' } }));
    assert.deepEqual(totals, { tokens: 1, captures: 1, payments: 3, doubtful: 1 });
    assert.deepEqual([period.payments, period.approved, period.not_approved], [3, 1, 1]);
    const sum = (name: string): number => points.reduce((all: number, point: Point) => all + Number(point[name]), 0);
    assert.deepEqual([sum('approved'), sum('not_approved')], [1, 1]);
  });

  test('is read once, however many ask at once and in the seconds after, and anew then', async () => {
    const account = await house.newAccount();
    await count(account, { tokens: 1 });
    const desks = await Promise.all([newDesk(house, account), newDesk(house, account)]);
    const seen = async () => {
      const answers = await Promise.all([...desks, ...desks, ...desks].map((desk) => desk.call(showOverview)));
      return new Set(answers.map((answer) => given(answer).period.tokens));
    };
    assert.deepEqual(await seen(), new Set([1]));
    await count(account, { tokens: 1 });
    assert.deepEqual(await seen(), new Set([1]));
    // Longer where reading takes long.
    house.advance(10 * MINUTE);
    assert.deepEqual(await seen(), new Set([2]));
  });

  test('a number of days that cannot be names its field', async () => {
    const desk = await newDesk(house, await house.newAccount());
    for (const days of ['0', '91', '-1', '1.5', 'week'])
      assertRefused(await desk.call(showOverview, { query: { days } }), 'invalid_field', 'days');
  });

  test('the overview of another account, and of no environment, is unknown', async () => {
    const [desk, stranger] = [
      await newDesk(house, await house.newAccount()),
      await newDesk(house, await house.newAccount()),
    ];
    assertUnknown(
      await stranger.call(showOverview, { params: { account: desk.account } }),
      await desk.call(showOverview, { params: { environment: 'test' } }),
    );
  });
});
