import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import {
  type Merchant,
  newMerchant,
  OPENED,
  processed,
  REJECTED,
  TIMES_OUT,
} from '../../test/interface/payment-requests.ts';
import { VISA } from '../../test/interface/vault-requests.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { parseComparable } from '../kernel/money.ts';
import { commitOrThrow, write } from '../storage/database.ts';
import { countInDoubt, type PaymentFilter, PaymentQueries } from './payment-queries.ts';

function amount(text: string): bigint {
  const parsed = parseComparable(text);
  assert.ok(parsed !== undefined, text);
  return parsed;
}

describe('the list of payments', { timeout: 120_000 }, () => {
  let service: TestService;
  let me: Merchant;
  let tenant: Tenant;
  let listing: PaymentQueries;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service);
    tenant = { account: me.account, environment: 'sandbox' };
    listing = new PaymentQueries(service.core);
  });
  after(() => service.stop());

  const ids = async (filter: PaymentFilter): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await listing.list(tenant, filter, cursor);
      found.push(...page.items.map(({ id }) => id));
      assert.equal(page.searchedUntil === undefined, page.cursor === undefined);
      cursor = page.cursor;
    }
    return found;
  };

  test('is filtered by clear and sealed values, the newest first', async () => {
    const start = service.now();
    const one = await me.opened('authorization', { amount: 12.5, reference: 'bx-1' });
    service.advance(1000);
    const between = service.now();
    const two = await me.opened('payment', { amount: 12.5, currency: 'EUR', reference: 'BX-2' });
    await me.order('authorization', { amount: REJECTED });
    const opened = await me.opened('authorization', { amount: OPENED });
    const all = await ids({});
    assert.equal(all.length, 4);
    assert.deepEqual([all[0], all[2], all[3]], [opened, two, one]);
    assert.deepEqual(all, all.toSorted().reverse());
    assert.deepEqual(await ids({ order: 'oldest' }), all.toReversed());
    assert.deepEqual(await ids({ order: 'oldest', from: between }), all.toReversed().slice(1));
    assert.deepEqual(await ids({ order: 'oldest', to: between }), [one]);
    const expected: [PaymentFilter, (string | undefined)[]][] = [
      [{ statuses: ['Authorized', 'Collected'] }, [two, one]],
      [{ statuses: ['Declined'] }, [all[1]]],
      [{ types: ['payment'] }, [two]],
      [{ processor: 'simulator', currency: 'EUR' }, [two]],
      [{ processor: 'koin' }, []],
      [{ amountFrom: amount('12.5'), amountTo: amount('12.50') }, [two, one]],
      [{ amountTo: amount('12.5'), currency: 'USD' }, [one]],
      [{ amountTo: amount('12.4999') }, []],
      [{ amountFrom: amount('12.5001') }, [opened, all[1]]],
      [{ referencePrefix: 'BX-2' }, [two]],
      [{ referencePrefix: 'Bx-' }, [two, one]],
      [{ referencePrefix: '-1' }, []],
      [{ lastFour: '1111' }, all],
      [{ lastFour: '4242' }, []],
      [{ from: start, to: between }, [one]],
      [{ from: between }, all.slice(0, 3)],
      [{ isInDoubt: true }, []],
    ];
    for (const [filter, found] of expected) assert.deepEqual(await ids(filter), found, Object.keys(filter).join());
    const counts: [PaymentFilter, number | undefined][] = [
      [{}, 4],
      [{ statuses: ['Authorized', 'Collected'] }, 2],
      [{ processor: 'simulator', statuses: ['Declined'] }, 1],
      [{ processor: 'koin' }, 0],
      [{ from: between }, 3],
      [{ isInDoubt: true }, 0],
      [{ currency: 'EUR' }, undefined],
    ];
    for (const [filter, number] of counts)
      assert.deepEqual(
        await listing.countMatching(tenant, filter),
        number === undefined ? undefined : { number, isMore: false },
        Object.keys(filter).join(),
      );
    const other = { account: await service.newAccount(), environment: 'sandbox' } as const;
    assert.deepEqual((await listing.list(other, {})).items, []);
    await assert.rejects(listing.list(tenant, { amountFrom: 2n, amountTo: 1n }), { code: 'invalid_field' });
    await assert.rejects(listing.detail(other, one), { code: 'unknown_payment' });
    await assert.rejects(listing.list(tenant, { lastFour: '11' }), { code: 'invalid_field' });
  });

  test('compares amounts of all currencies, requested or collected', async () => {
    const own = await newMerchant(service);
    const mine = { account: own.account, environment: 'sandbox' } as const;
    const found = async (filter: PaymentFilter) => (await listing.list(mine, filter)).items.map(({ id }) => id);
    const yen = await own.opened('payment', { amount: 700, currency: 'JPY' });
    const dinar = await own.opened('payment', { amount: 7.125, currency: 'KWD' });
    const partly = await own.opened('authorization', { amount: 90 });
    processed(await own.move('capture', partly, 8));
    assert.deepEqual(await found({ amountFrom: amount('700'), amountTo: amount('700') }), [yen]);
    assert.deepEqual(await found({ amountFrom: amount('7.125'), amountTo: amount('7.125') }), [dinar]);
    assert.deepEqual(await found({ amountTo: amount('8') }), [partly, dinar]);
    assert.deepEqual(await found({ amountFrom: amount('8.01'), amountTo: amount('90') }), [partly]);
    processed(await own.move('refund', partly, 5));
    assert.deepEqual(await found({ amountTo: amount('3') }), [partly]);
  });

  test('compares references as they are shown, so that no search reveals the digits of a card number', async () => {
    const own = await newMerchant(service);
    const mine = { account: own.account, environment: 'sandbox' } as const;
    const id = await own.opened('authorization', { reference: `order ${VISA} x` });
    const found = async (referencePrefix: string) =>
      (await listing.list(mine, { referencePrefix })).items.map((item) => item.id);
    for (const prefix of ['order', 'ORDER 411111', `order ${VISA}`, `order ${VISA} x`])
      assert.deepEqual(await found(prefix), [id], prefix);
    for (let digits = 7; digits < VISA.length; digits++)
      assert.deepEqual(await found(`order ${VISA.slice(0, digits)}`), [], String(digits));
  });

  test('counts no further than the limit', async () => {
    const own = await newMerchant(service);
    const mine = { account: own.account, environment: 'sandbox' } as const;
    const id = await own.opened();
    const copy = `insert into payments (account, environment, id, processor, status, record, revision, attempts, created_at)
      select account, environment, ?, processor, status, record, 1, 0, created_at from payments
      where account = ?account and environment = 1 and id = ?`;
    const rows = Array.from({ length: LIMITS.countedRecords }, (_, index) => [`${id}${index}`, own.account, id]);
    await commitOrThrow(service.core.database, { writes: [{ sql: copy, rows: rows.slice(1) }] });
    assert.deepEqual(await listing.countMatching(mine, {}), { number: LIMITS.countedRecords, isMore: false });
    assert.deepEqual(await listing.countMatching(mine, { statuses: ['Collected'] }), { number: 0, isMore: false });
    await commitOrThrow(service.core.database, { writes: [{ sql: copy, rows: rows.slice(0, 1) }] });
    assert.deepEqual(await listing.countMatching(mine, {}), { number: LIMITS.countedRecords, isMore: true });
    assert.equal(await listing.countMatching(mine, { statuses: ['Collected'] }), undefined);
    await commitOrThrow(service.core.database, {
      writes: [write('delete from payments where account = ?account', [own.account])],
    });
  });

  test('returns payments with an unknown outcome', async () => {
    await me.order('authorization', { amount: TIMES_OUT });
    const { items } = await listing.list(tenant, { isInDoubt: true });
    assert.equal(items.length, 1);
    assert.ok(items[0]?.inDoubtSince !== undefined);
    const elsewhere = { account: await service.newAccount(), environment: 'sandbox' } as const;
    assert.equal(await countInDoubt(service.core.database, tenant), 1);
    assert.equal(await countInDoubt(service.core.database, elsewhere), 0);
    assert.deepEqual(await ids({ isInDoubt: true, statuses: ['Collected'] }), []);
  });

  test('returns all operations of a payment, in order', async () => {
    const id = await me.opened('authorization');
    processed(await me.move('capture', id));
    processed(await me.move('refund', id, 25));
    await me.move('refund', id, REJECTED / 100);
    const { payment, operations } = await listing.detail(tenant, id);
    assert.deepEqual(operations.map(({ type }) => type).slice(0, 3), ['authorization', 'capture', 'payment_refund']);
    assert.equal(payment.operationCount, operations.length);
    assert.deepEqual(
      operations.slice(0, 3).map(({ stateAfter: stood }) => [stood?.status, stood?.refunded]),
      [
        ['Authorized', 0n],
        ['Collected', 0n],
        ['Collected', 2500n],
      ],
    );
    assert.deepEqual((await listing.detail(tenant, operations[1]?.id ?? '')).payment, payment);
    assert.ok(!/[0-9]{12}/.test(payment.card.truncated));
  });

  test('is paginated, and a damaged payment does not block it', async () => {
    const own = await newMerchant(service);
    const [mine, here] = [{ account: own.account, environment: 'sandbox' } as const, service.core.database];
    const id = await own.opened();
    const copy = `insert into payments (account, environment, id, processor, status, record, revision, attempts, created_at)
      select account, environment, ?, processor, status, record, 1, 0, ? from payments
      where account = ?account and environment = 1 and id = ?`;
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    // Sealed for another place, so none of these opens.
    const rows = Array.from({ length: 5200 }, (_, index) => {
      const unlike = id.slice(0, 22) + [676, 26, 1].map((part) => letters[Math.floor(index / part) % 26]).join('');
      return [unlike, service.now(), own.account, id];
    }).filter(([unlike]) => unlike !== id);
    await commitOrThrow(here, { writes: [{ sql: copy, rows }] });
    const first = await listing.list(mine, {});
    assert.equal(first.items.length, LIMITS.recordsPerPage);
    assert.ok(first.items.filter(({ payment }) => payment === undefined).length >= LIMITS.recordsPerPage - 1);
    // Sealed values cannot be matched, so the page ends after the limited number of rows that were read.
    const found = await listing.list(mine, { referencePrefix: 'A-1001' });
    assert.ok(found.items.length <= 1 && found.cursor !== undefined && found.searchedUntil !== undefined);
    const rest = await listing.list(mine, { referencePrefix: 'A-1001' }, found.cursor);
    assert.deepEqual(
      [...found.items, ...rest.items].map((item) => item.id),
      [id],
    );
    assert.equal(rest.cursor, undefined);
    await commitOrThrow(here, { writes: [write('delete from payments where account = ?account', [own.account])] });
  });
});
