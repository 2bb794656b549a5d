import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isPostgres } from '../../test/fixtures/database.ts';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { inTransaction } from '../../test/fixtures/transactions.ts';
import { VISA } from '../../test/interface/vault-requests.ts';
import { UnsealError } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Pan } from '../kernel/pan.ts';
import { commitOrThrow, type Database, type Value, write } from '../storage/database.ts';
import { Vault } from '../vault/vault.ts';
import { type CaptureFilter, CaptureQueries, type CaptureView } from './capture-queries.ts';
import { Captures, type NewCapture } from './captures.ts';

const complete: NewCapture = {
  pan: VISA as Pan,
  name: 'Ana Lopez',
  expiry: { month: '12', year: '2029' },
  sad: { cvv: '737', track2: undefined },
  amount: 12_500,
  currency: 'USD',
  additionalInfo: { order: 'A-1', card: VISA },
  ttlMinutes: 10,
};
const bare: NewCapture = {
  ...complete,
  pan: undefined,
  name: undefined,
  expiry: undefined,
  sad: { cvv: undefined, track2: undefined },
  ttlMinutes: 1,
};

describe('the list of captures', { timeout: 60_000 }, () => {
  let service: TestService;
  let captures: Captures;
  let listing: CaptureQueries;
  before(async () => {
    service = await startTestService();
    captures = new Captures({ ...service.core, vault: new Vault(service.core) });
    listing = new CaptureQueries(service.core);
  });
  after(() => service.stop());

  const newTenant = async (): Promise<Tenant> => ({ account: await service.newAccount(), environment: 'sandbox' });
  const create = (tenant: Tenant, request: NewCapture): Promise<string> =>
    inTransaction(service.core, (transaction) => captures.create(transaction, tenant, request));

  test('contains active captures, without card number and sensitive data', async () => {
    const tenant = await newTenant();
    const first = await create(tenant, complete);
    service.advance(5);
    const second = await create(tenant, bare);
    const { items, cursor } = await listing.list(tenant, {});
    assert.equal(cursor, undefined);
    assert.deepEqual(
      items.map(({ id, hasSad, card }) => [id, hasSad, card?.truncated]),
      [
        [second, false, undefined],
        [first, true, '411111******1111'],
      ],
    );
    const detail = await listing.findDetail(tenant, first);
    assert.deepEqual(detail?.additionalInfo, { order: 'A-1', card: '411111******1111' });
    assert.deepEqual([detail?.name, detail?.expiry?.year], ['Ana Lopez', '2029']);
    assert.doesNotMatch(JSON.stringify([items, detail]), new RegExp(`${VISA}|"737"`));
    assert.equal(await listing.findDetail(await newTenant(), first), undefined);
    assert.equal(await listing.findDetail(tenant, VISA), undefined);
    service.advance(2 * 60_000);
    assert.deepEqual(
      (await listing.list(tenant, {})).items.map(({ id }) => id),
      [first],
    );
    assert.equal(await listing.findDetail(tenant, second), undefined);
  });

  test('is filtered by time, currency, last four and status', async () => {
    const tenant = await newTenant();
    const one = await create(tenant, complete);
    service.advance(60_000);
    const between = service.now();
    const two = await create(tenant, { ...bare, currency: 'EUR', ttlMinutes: 60 });
    const afterTwo = service.now() + 1;
    service.advance(10);
    const three = await create(tenant, complete);
    await commitOrThrow(service.core.database, {
      writes: [write('update captures set amount = 1 where id = ?', [three])],
    });
    const expected: [CaptureFilter, string[]][] = [
      [{}, [three, two, one]],
      [{ currency: 'EUR' }, [two]],
      [{ currency: 'MXN' }, []],
      [{ status: 'with-sad' }, [one]],
      [{ status: 'without-sad' }, [two]],
      [{ status: 'altered' }, [three]],
      [{ lastFour: '1111' }, [one]],
      [{ to: between }, [one]],
      [{ from: between }, [three, two]],
      [{ from: between, to: afterTwo }, [two]],
      [{ from: afterTwo, to: afterTwo }, []],
    ];
    for (const [filter, ids] of expected) {
      const { items } = await listing.list(tenant, filter);
      const name = JSON.stringify(filter);
      assert.deepEqual(
        items.map(({ id }) => id),
        ids,
        name,
      );
      const oldest = await listing.list(tenant, { ...filter, order: 'oldest' });
      assert.deepEqual(
        oldest.items.map(({ id }) => id),
        ids.toReversed(),
        `${name}, the oldest first`,
      );
      const count = await listing.countMatching(tenant, filter);
      const isUnknown = filter.status !== undefined || filter.lastFour !== undefined;
      assert.deepEqual(count, isUnknown ? undefined : { number: ids.length, isMore: false }, name);
    }
    assert.equal((await listing.find(tenant, one))?.id, one);
    assert.equal((await listing.find(tenant, three))?.card, undefined);
    for (const id of [VISA, `${one}0`]) assert.equal(await listing.find(tenant, id), undefined);
    assert.equal(await listing.find(await newTenant(), one), undefined);
    await assert.rejects(listing.list(tenant, { from: 2, to: 1 }), { code: 'invalid_field' });
    await assert.rejects(listing.list(tenant, { lastFour: '11' }), { code: 'invalid_field' });
  });

  /** Returns all captures of a list, page by page. */
  async function all(tenant: Tenant, filter: CaptureFilter): Promise<CaptureView[]> {
    const found: CaptureView[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await listing.list(tenant, filter, cursor);
      found.push(...page.items);
      cursor = page.cursor;
    }
    return found;
  }

  test('is paginated, with each capture once, including a damaged one', async () => {
    const tenant = await newTenant();
    const ids: string[] = [];
    // Some of them at one moment.
    for (let index = 0; index < 12; index++) {
      ids.push(...(await Promise.all(Array.from({ length: 10 }, () => create(tenant, complete)))));
      service.advance(index % 2);
    }
    const { database } = service.core;
    await commitOrThrow(database, { writes: [write('update captures set amount = 1 where id = ?', [ids[3] ?? ''])] });
    const found = await all(tenant, {});
    assert.deepEqual(found.map(({ id }) => id).sort(), ids.toSorted());
    const times = found.map(({ createdAt }) => createdAt);
    assert.deepEqual(
      times,
      times.toSorted((one, other) => other - one),
    );
    assert.deepEqual(
      found.filter(({ card }) => card === undefined).map(({ id }) => id),
      [ids[3]],
    );
    assert.deepEqual(await all(tenant, { order: 'oldest' }), found.toReversed());
    await assert.rejects(listing.list(tenant, {}, 'x'), { code: 'invalid_field' });
  });

  test('ends with those whose time no service writes, page by page', async () => {
    const tenant = await newTenant();
    const ids: string[] = [];
    while (ids.length < 3 * LIMITS.recordsPerPage - 5) ids.push(await create(tenant, complete));
    const altered = ids.slice(0, 2 * LIMITS.recordsPerPage);
    const update = (id: string, index: number) =>
      write(`update captures set created_at = ${index % 2 === 0 ? '' : '-'}9000000000000000000 where id = ?`, [id], 1);
    await commitOrThrow(service.core.database, { writes: altered.map(update) });
    for (const order of ['newest', 'oldest'] as const) {
      const found = await all(tenant, { order });
      assert.deepEqual(found.map(({ id }) => id).sort(), ids.toSorted());
      const shown = found.map(({ createdAt, card }) => createdAt > 0 && card !== undefined);
      assert.deepEqual(
        shown,
        ids.map((_, index) => index < ids.length - altered.length),
      );
    }
  });

  test('is read by an index in both orders', {
    skip: isPostgres && 'PostgreSQL has plans of another form',
  }, async () => {
    const { database } = service.core;
    const plans: string[] = [];
    const observed: Database = Object.create(database, {
      read: {
        value: async (sql: string, ...values: Value[]) => {
          plans.push(
            ...(await database.read(`explain query plan ${sql}`, ...values)).map(({ detail }) => String(detail)),
          );
          return database.read(sql, ...values);
        },
      },
    });
    const queries = new CaptureQueries({ ...service.core, database: observed });
    for (const order of ['newest', 'oldest'] as const) await queries.list(await newTenant(), { order });
    assert.equal(plans.filter((plan) => /created_at[<>]/.test(plan)).length, 2, plans.join('\n'));
    assert.ok(!plans.some((plan) => plan.includes('TEMP B-TREE')), plans.join('\n'));
  });

  test('shows one with times or an amount that no service writes as altered, beside the others', async () => {
    for (const change of [
      'created_at = created_at + 1',
      'created_at = 8640000000000001',
      'created_at = 9000000000000000000',
      'created_at = -1',
      'created_at = -9000000000000000000',
      'expires_at = 9000000000000000000',
      'amount = -9000000000000000000',
    ]) {
      const tenant = await newTenant();
      const [altered, unchanged] = [await create(tenant, complete), await create(tenant, complete)];
      const update = write(`update captures set ${change} where id = ?`, [altered]);
      await commitOrThrow(service.core.database, { writes: [update] });
      const { items } = await listing.list(tenant, {});
      const shown = items.map(({ id, card, createdAt, expiresAt }) => {
        for (const time of [createdAt, expiresAt]) assert.ok(!Number.isNaN(new Date(time).getTime()), change);
        return [id, card !== undefined];
      });
      assert.deepEqual(
        new Map(shown as [string, boolean][]),
        new Map([
          [altered, false],
          [unchanged, true],
        ]),
        change,
      );
      await assert.rejects(listing.findDetail(tenant, altered), UnsealError);
    }
  });
});
