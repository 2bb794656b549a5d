import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { minorUnitDigits } from '../../src/kernel/currency.ts';
import { CURRENCIES } from '../fixtures/payment-fixtures.ts';
import { KoinFixture, money, toSummary } from './koin-fixture.ts';
import { decimalOfUnits } from './koin-ledger.ts';

const fixture = new KoinFixture();
const { fake } = fixture;
const { ledger } = fake;
const bookOf = (key: string) => {
  const order = ledger.orders.get(key);
  assert.ok(order);
  return order;
};

describe('amounts at KOIN', () => {
  before(() => fixture.start());
  after(() => fixture.stop());
  afterEach(() => assert.deepEqual(fake.violations, []));

  it('remain exact in every currency, in both directions', async () => {
    const amounts = fc.constantFrom(...CURRENCIES).chain((currency) => {
      const digits = minorUnitDigits(currency);
      // KOIN accepts two decimals.
      const step = 10n ** BigInt(Math.max(0, digits - 2));
      const max = 10n ** BigInt(10 + digits) / step - 1n;
      return fc.bigInt({ min: 1n, max }).map((steps) => ({ minor: steps * step, currency }));
    });
    await fc.assert(
      fc.asyncProperty(amounts, async (amount) => {
        const first = await fixture.authorized(amount);
        const { units } = bookOf(first.operationRef);
        assert.equal(units, amount.minor * 10n ** BigInt(4 - minorUnitDigits(amount.currency)));
        assert.equal((await fixture.capture(first)).kind, 'approved');
        const found = await fixture.inquire(first);
        assert.deepEqual(found.kind === 'approved' && found.captured, amount);
        const half = { ...amount, minor: amount.minor - amount.minor / 2n };
        const givesCents = half.minor % 10n ** BigInt(Math.max(0, minorUnitDigits(amount.currency) - 2)) === 0n;
        if (givesCents) assert.equal((await fixture.refund(first, half)).kind, 'approved');
      }),
      { numRuns: 60 },
    );
  });

  it('are parsed with trailing zeros and with exponents', async () => {
    const spellings = [
      (decimal: string) => `${decimal.includes('.') ? decimal : `${decimal}.0`}000`,
      (decimal: string) => `${decimal}E0`,
    ];
    for (const spell of spellings) {
      const other = new KoinFixture({ spell });
      await other.start();
      const first = await other.authorized(money(1_000_000_000n));
      assert.equal(toSummary(await other.capture(first)), 'approved');
      assert.equal(toSummary(await other.refund(first, money(1n))), 'approved');
      await other.stop();
    }
    assert.equal(decimalOfUnits(10_500n), '1.05');
  });
});
