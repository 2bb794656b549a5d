import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { RecordTotals } from '../../console/server/record-totals.ts';
import { dropDatabase } from '../../test/fixtures/database.ts';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { CAPTURES, capture, cards, TOKENIZE, VISA } from '../../test/interface/vault-requests.ts';
import { DAY, HOUR } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Database } from '../storage/database.ts';
import { Usage } from './usage.ts';

describe('a usage counter', { timeout: 60_000 }, () => {
  let service: TestService;
  let database: Database;
  let tenant: Tenant;
  let now = 1000 * DAY + 5 * HOUR + 17;
  const clock = (): number => now;
  before(async () => {
    service = await startTestService();
    ({ database } = service.core);
    tenant = { account: await service.newAccount(), environment: 'sandbox' };
  });
  after(() => service.stop());

  test('is added up over hours, processes and writes', async () => {
    const [one, other] = [new Usage({ database, clock }), new Usage({ database, clock })];
    const from = now - (now % HOUR);
    one.note(tenant, 'a');
    one.note(tenant, 'a', 4);
    other.note(tenant, 'a');
    await Promise.all([one.flush(), other.flush()]);
    one.note(tenant, 'a');
    one.note({ ...tenant, environment: 'production' }, 'a');
    now += HOUR;
    one.note(tenant, 'a');
    one.note(tenant, 'b');
    await one.flush();
    await one.flush();
    assert.deepEqual(await one.sums(tenant, from, from + HOUR), [{ name: 'a', number: 7 }]);
    assert.deepEqual(await one.sums(tenant, from, now), [
      { name: 'a', number: 8 },
      { name: 'b', number: 1 },
    ]);
    assert.deepEqual(await one.sums(tenant, from + 1, from + HOUR), []);
    await assert.rejects(one.sums(tenant, from, from + 367 * DAY), { code: 'invalid_field' });
  });

  test('has the same sum by day as by hour, and can exceed 32 bits', async () => {
    const usage = new Usage({ database, clock });
    const many = 2 ** 31;
    const from = now;
    const whose = { ...tenant, account: await service.newAccount() };
    for (const name of ['a', 'a', 'b', 'a']) {
      usage.note(whose, name, many);
      now += DAY;
    }
    await usage.flush();
    const hour = from - (from % HOUR);
    const sumsOf = async (to: number) =>
      Object.fromEntries((await usage.sums(whose, hour, to)).map(({ name, number }) => [name, number]));
    assert.deepEqual(await sumsOf(hour + 4 * DAY), { a: 3 * many, b: many });
    // The last day in part: the hour that starts then is excluded.
    assert.deepEqual(await sumsOf(hour + 3 * DAY), { a: 2 * many, b: many });
    assert.deepEqual(await sumsOf(hour + 3 * DAY + HOUR), { a: 3 * many, b: many });
    now = from;
  });

  test('is read as sums only, and other work continues between two days', async () => {
    let read = 0;
    const counting: Database['read'] = async (sql, ...values) => {
      const rows = await database.read(sql, ...values);
      read += rows.length;
      return rows;
    };
    const usage = new Usage({ database: { ...database, read: counting } as Database, clock });
    const writing = new Usage({ database, clock });
    const [from, before] = [now - (now % DAY) + 10 * DAY, now];
    const whose = { ...tenant, account: await service.newAccount() };
    for (let hour = 0; hour < 3 * 24; hour++) {
      now = from + hour * HOUR;
      for (const name of ['a', 'b']) writing.note(whose, name);
    }
    await writing.flush();
    now = before;
    let iterations = 0;
    let isOver = false;
    const others = (): void => {
      iterations++;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    const sums = await usage.sums(whose, from, from + 3 * DAY);
    isOver = true;
    assert.deepEqual(sums, [
      { name: 'a', number: 72 },
      { name: 'b', number: 72 },
    ]);
    assert.equal(read, 6);
    assert.ok(iterations >= 3, `${iterations}`);
  });

  test('is buffered while the database is unavailable, and stored once when it is available again', async () => {
    let isAway = true;
    const gone = (): Promise<never> => Promise.reject(new Error('away'));
    const read: Database['read'] = (sql, ...values) => database.read(sql, ...values);
    const commit: Database['commit'] = (unit) => (isAway ? gone() : database.commit(unit));
    const usage = new Usage({ database: { read, commit } as Database, clock });
    usage.note(tenant, 'away');
    await assert.rejects(usage.flush());
    usage.note(tenant, 'away');
    await assert.rejects(usage.flush());
    isAway = false;
    await usage.flush();
    const hour = now - (now % HOUR);
    const found = (await usage.sums(tenant, hour, hour + 1)).filter(({ name }) => name === 'away');
    assert.deepEqual(found, [{ name: 'away', number: 2 }]);
  });

  test('is deleted after 800 days', async () => {
    const usage = new Usage({ database, clock });
    const before = now;
    const mine = async (): Promise<unknown[]> =>
      database.read('select hour from statistics where account = ?account', tenant.account);
    now += 799 * DAY;
    await usage.purgeOld(now);
    assert.ok((await mine()).length > 0);
    now += 2 * DAY;
    await usage.purgeOld(now);
    assert.deepEqual(await mine(), []);
    now = before;
  });

  test('counts every request of a known key, with its class of durations, and the tokens created', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-counted-'));
    const first = await startTestService({ directory });
    const account = await first.newAccount();
    const { secret: key } = await first.newKey(account, { permissions: ['tokens:create', 'tokens:inspect'] });
    for (const pan of [VISA, VISA])
      await first.call('POST', TOKENIZE, { key, body: cards([pan, pan], { type: 'persistent' }) });
    assert.equal((await first.call('GET', '/v1/tokens/none/inspect', { key })).status, 400);
    assert.equal((await first.call('POST', CAPTURES, { key, body: capture() })).status, 403);
    await first.call('GET', '/v1/tokens/none/inspect', { key: 'unknown' });
    await first.stop();
    const second = await startTestService({ directory });
    try {
      const usage = new Usage({ database: second.core.database, clock });
      const found = await usage.sums({ account, environment: 'sandbox' }, Date.now() - DAY, Date.now() + DAY);
      const sum = (matches: (name: string) => boolean): number =>
        found.filter(({ name }) => matches(name)).reduce((total, { number }) => total + number, 0);
      assert.equal(
        sum((name) => name.endsWith('.ok')),
        2,
      );
      assert.equal(
        sum((name) => name === 'inspectToken.refused'),
        1,
      );
      assert.equal(
        sum((name) => name.startsWith('ms.')),
        3,
      );
      assert.equal(
        sum((name) => name === 'tokens'),
        1,
      );
      assert.equal(
        sum((name) => name.startsWith('createCapture')),
        0,
      );
    } finally {
      await second.stop();
      rmSync(directory, { recursive: true, force: true });
      await dropDatabase(directory);
    }
  });

  test('is shown beside totals, which are cached for ten seconds', async () => {
    const account = await service.newAccount();
    const { secret: key } = await service.newKey(account, {
      permissions: ['tokens:create', 'tokens:delete', 'captures:create'],
    });
    const totals = new RecordTotals({ database, clock: () => service.now() });
    const of = () => totals.count({ account, environment: 'sandbox' });
    assert.deepEqual(await of(), { tokens: 0, captures: 0, payments: 0 });
    const created = await service.call('POST', TOKENIZE, { key, body: cards([VISA, VISA]) });
    await service.call('POST', CAPTURES, { key, body: capture() });
    assert.deepEqual(await of(), { tokens: 0, captures: 0, payments: 0 });
    service.advance(11_000);
    assert.deepEqual(await of(), { tokens: 2, captures: 1, payments: 0 });
    const [token] = created.json.data.tokens;
    await service.call('DELETE', '/v1/tokens', { key, body: { tokens: [token.token] } });
    service.advance(60_000_000);
    assert.equal((await of()).captures, 0);
  });
});
