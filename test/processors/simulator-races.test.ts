import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import type { Simulator } from '../../src/payments/processors/simulator/simulator.ts';
import type { Driver } from '../../src/storage/database.ts';
import { openFolder } from '../fixtures/database.ts';
import { CARD, money, orderOf, SimulatorFixture, toSummary } from './simulator-fixture.ts';

const ROUNDS = 30;

describe('the simulator, called concurrently from two nodes on one database', { timeout: 120_000 }, () => {
  let fixture: SimulatorFixture;
  let other: Driver;
  let nodes: readonly Simulator[];
  before(async () => {
    fixture = await SimulatorFixture.open();
    other = await openFolder(fixture.directory);
    nodes = [fixture.simulator, fixture.newSimulator(other)];
  });
  after(async () => {
    await other.close();
    await fixture.close();
  });

  const node = (index: number): Simulator => nodes[index % nodes.length] ?? fixture.simulator;
  const count = (outcomes: readonly string[], kind: string): number => outcomes.filter((each) => each === kind).length;
  const all = async (acts: readonly Promise<Parameters<typeof toSummary>[0]>[]): Promise<string[]> =>
    (await Promise.all(acts)).map(toSummary);

  test('executes one of many captures', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { history } = await fixture.authorized();
      const outcomes = await all(
        Array.from({ length: 8 }, (_, index) => node(index).capture(fixture.call({}), history, money('60'))),
      );
      assert.equal(count(outcomes, 'approved'), 1);
      assert.equal(count(outcomes, 'Declined InvalidData 12'), 7);
    }
  });

  test('executes a capture or a void, never both', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { history, subject } = await fixture.authorized();
      const captures = [0, 1].map((index) => node(index).capture(fixture.call({}), history, money('60')));
      const voids = [0, 1].map((index) => node(index + round).void(fixture.call({}), history));
      const [captured, voided] = [count(await all(captures), 'approved'), count(await all(voids), 'approved')];
      assert.ok((captured === 1 && voided === 0) || (captured === 0 && voided === 2), `${captured}, ${voided}`);
      assert.equal(toSummary(await fixture.inquire(history, subject)), captured === 1 ? 'approved 6000' : 'reversed');
    }
  });

  test('refunds at most the captured amount', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { history } = await fixture.authorized({ capture: true });
      const outcomes = await all(
        Array.from({ length: 8 }, (_, index) => node(index).refund(fixture.call({}), history, money('30'))),
      );
      assert.equal(count(outcomes, 'approved'), 3);
      assert.equal(
        toSummary(await fixture.modify('payment_refund', history, money('10.01'))),
        'Declined InvalidData 12',
      );
      assert.equal(toSummary(await fixture.modify('payment_refund', history, money('10'))), 'approved');
    }
  });

  test('executes a reference once, and returns the same response to all callers', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const key = fixture.newKey();
      const first = await Promise.all(
        Array.from({ length: 6 }, (_, index) => node(index).authorize(fixture.call({ key }), orderOf({}), CARD)),
      );
      for (const outcome of first) assert.deepEqual(outcome, first[0]);
      const { history } = fixture.known(key);
      const refundKey = fixture.newKey();
      await fixture.modify('capture', history);
      const refunds = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          node(index).refund(fixture.call({ key: refundKey }), history, money('60')),
        ),
      );
      for (const outcome of refunds) assert.deepEqual(outcome, refunds[0]);
      assert.equal(toSummary(await fixture.modify('payment_refund', history, money('40'))), 'approved');
    }
  });

  test('executes and reverses a request, or never executes it, when its reversal is concurrent', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < ROUNDS * 2; round++) {
      const { key, history, subject } = fixture.known(fixture.newKey());
      const acts = [
        () => node(round).authorize(fixture.call({ key }), orderOf({}), CARD),
        () => node(round + 1).reverse(fixture.call({ key }), history, subject),
      ];
      const inOrder = round % 2 === 0 ? acts : acts.toReversed();
      // First one after the other, so that each order occurs at least once.
      const [first, second] = inOrder.map((act) => async () => toSummary(await act()));
      const outcomes = round < 2 ? [await first?.(), await second?.()] : await Promise.all([first?.(), second?.()]);
      const [sent = '', reversal = ''] = round % 2 === 0 ? outcomes : outcomes.toReversed();
      assert.ok(
        (sent === 'approved' && reversal === 'reversed') ||
          (sent === 'Declined InvalidData 12' && reversal === 'not-found'),
        `${sent}, ${reversal}`,
      );
      seen.add(reversal);
      const state = toSummary(await fixture.inquire(history, subject));
      assert.equal(state, reversal === 'not-found' ? 'not-found' : 'reversed');
      assert.equal(toSummary(await fixture.modify('capture', history)), 'Declined InvalidData 12');
    }
    assert.equal(seen.size, 2, 'both happened');
  });

  test('returns a notification to one node', async () => {
    const payments = await Promise.all(
      Array.from({ length: 20 }, () => fixture.authorized({ email: 'a_late_accept@example.com' })),
    );
    fixture.now += 5000;
    const notifications = (
      await Promise.all([0, 1, 0, 1].map((index) => node(index).pollNotifications?.() ?? []))
    ).flat();
    assert.deepEqual(notifications.map(({ operationId }) => operationId).sort(), payments.map(({ key }) => key).sort());
  });

  test('keeps consistent records under any concurrent requests', async () => {
    const act = fc.record({
      what: fc.constantFrom('capture', 'refund', 'void', 'abandon-capture', 'abandon-refund'),
      cents: fc.bigInt({ min: 1n, max: 150n }),
      key: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(act, { maxLength: 12 }), async (capture, acts) => {
        const { history, subject } = await fixture.authorized({ amount: money('1'), capture });
        const keys = Array.from({ length: 4 }, () => fixture.newKey());
        const { currency } = money('1');
        await Promise.all(
          acts.map(({ what, cents, key }, index) => {
            const named = `${what.replace('abandon-', '')}`;
            const call = fixture.call({ key: `${named}${keys[key]}` });
            const amount = { minor: cents, currency };
            if (what === 'capture') return node(index).capture(call, history, amount);
            if (what === 'refund') return node(index).refund(call, history, amount);
            if (what === 'void') return node(index).void(call, history);
            const type = what === 'abandon-capture' ? 'capture' : 'payment_refund';
            return node(index).reverse(call, history, fixture.subject(type, call.operationRef));
          }),
        );
        const rows = await fixture.database.read(
          `select type, amount from simulator_modifications where payment = ? and outcome = 'approved'`,
          subject.operationRef,
        );
        const sums = (type: string): bigint =>
          rows.filter((row) => row['type'] === type).reduce((sum, row) => sum + BigInt(String(row['amount'])), 0n);
        const captures = rows.filter((row) => row['type'] === 'capture').length;
        const voids = rows.filter((row) => row['type'] === 'void').length;
        assert.ok(captures + (capture ? 1 : 0) <= 1 && sums('capture') <= 100n);
        assert.ok(voids === 0 || (captures === 0 && !capture));
        const captured = capture ? 100n : sums('capture');
        assert.ok(sums('refund') <= captured);
        const state = toSummary(await fixture.inquire(history, subject));
        const expected = captured > 0n ? `approved ${captured}` : voids > 0 ? 'reversed' : 'approved';
        assert.equal(state, expected);
      }),
      { numRuns: 60 },
    );
  });
});
