import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { startTestService, type TestService } from '../../test/fixtures/test-service.ts';
import { DAY, SECOND } from '../kernel/clock.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { CommitResult, Database, UnitOfWork } from '../storage/database.ts';
import { StorageError } from '../storage/database.ts';
import { type FinishedRequest, RequestLog } from './request-log.ts';
import { fairShare, RequestLogPruning } from './request-log-pruning.ts';
import { type LoggedRequest, RequestLogQuery } from './request-log-query.ts';
import { NO_ROUTE } from './request-log-terms.ts';

const KEY = 'key_1';
const ROUTE = { path: '/v1/tokens/:token/inspect' };
const ROWS = 1_000_000;
/** An account takes at most as many rows of the memory as it leaves free. */
const ROWS_OF_ONE = LIMITS.requestLogRowsInMemory / 2;

describe('the request log', { timeout: 60_000 }, () => {
  let service: TestService;
  let database: Database;
  let account: string;
  let log: RequestLog;
  /** Later than the time of the service, which deletes old rows. */
  let now = 40_000 * DAY;
  const clock = (): number => now;
  before(async () => {
    service = await startTestService();
    ({ database } = service.core);
  });
  after(() => service.stop());

  const newLog = (over: Database = database, rows = ROWS): RequestLog =>
    new RequestLog({ database: over, clock, random: service.core.random, rows });
  beforeEach(async () => {
    account = await service.newAccount();
    log = newLog();
    now += DAY;
  });

  const request = (changed: Partial<FinishedRequest> = {}): FinishedRequest => ({
    environment: 'sandbox',
    method: 'GET',
    route: ROUTE,
    status: 400,
    milliseconds: 1.25,
    failure: new Failure('unknown_token', { field: 'token' }),
    requestId: 'request-1',
    address: '203.0.113.7',
    caller: { account, key: KEY },
    ...changed,
  });
  const stored = async (): Promise<readonly LoggedRequest[]> =>
    (await new RequestLogQuery({ database }).list({ account, environment: undefined }, {})).items;
  const withSuccess = (key = KEY): boolean => {
    const taken = log.takesSuccess(account, key);
    if (taken) log.addSuccess(request({ status: 200, failure: undefined, caller: { account, key } }));
    return taken;
  };
  const flush = (): Promise<void> => {
    now += SECOND;
    return log.flush();
  };

  test('contains the declared members of a request, and nothing else', async () => {
    log.addError(request());
    await flush();
    const [found, ...others] = await stored();
    assert.deepEqual(others, []);
    const { id, ...members } = found ?? assert.fail('no row');
    assert.ok(Number.isSafeInteger(id));
    assert.deepEqual(members, {
      at: now - SECOND,
      account,
      environment: 'sandbox',
      method: 'GET',
      route: ROUTE.path,
      status: 400,
      microseconds: 1250,
      failure: 'unknown_token',
      reason: undefined,
      field: 'token',
      requestId: 'request-1',
      key: KEY,
      address: '203.0.113.7',
      repeats: 0,
    });
  });

  test('names fields of the interface, and no place in a payload of the client', async () => {
    const fields = ['chd[3].exp', 'Idempotency-Key', 'ft-encryption.key', 'track_2', 'bill_to.address1'];
    const others = ['/a/4111111111111111', 'line 3', 'a4111111111111111', 'x'.repeat(500), 'a[41111]', ''];
    for (const field of [...fields, ...others]) {
      log.addError(request({ failure: invalidField(field, 'required') }));
      now += SECOND;
    }
    await log.flush();
    const found = (await stored()).map(({ field }) => field).reverse();
    assert.deepEqual(found, [...fields, ...others.map(() => undefined)]);
  });

  test('has requests to no path, and those without a known account', async () => {
    log.addError(request({ route: undefined, caller: undefined, status: 404, requestId: 'nowhere' }));
    await flush();
    assert.deepEqual(await stored(), []);
    const query = new RequestLogQuery({ database });
    for (const scope of [undefined, '']) {
      const { items } = await query.list({ account: scope, environment: 'sandbox' }, { requestId: 'nowhere' });
      assert.deepEqual(
        items.map(({ route, key, account: of }) => [route, key, of]),
        [[NO_ROUTE, undefined, '']],
      );
    }
  });

  test('records some successes of each key and second, and none without a key', async () => {
    const most = LIMITS.requestLogSuccessesPerSecond;
    for (let second = 0; second < 2; second++) {
      const taken = Array.from({ length: most + 3 }, () => withSuccess()).filter(Boolean);
      assert.equal(taken.length, most);
      assert.equal(withSuccess('key_2'), true);
      now += SECOND;
    }
    assert.equal(log.takesSuccess(account, undefined), false);
    await log.flush();
    assert.equal((await stored()).length, 2 * (most + 1));
  });

  test('adds repeated errors of one kind to the last entry of the same second', async () => {
    const most = LIMITS.requestLogErrorsPerSecond;
    for (let second = 0; second < 2; second++) {
      for (let number = 0; number < most + 1234; number++) assert.equal(log.addError(request()), true);
      log.addError(request({ status: 429, failure: new Failure('rate_limited') }));
      log.addError(request({ caller: { account, key: 'key_2' } }));
      now += SECOND;
    }
    await log.flush();
    const rows = await stored();
    assert.equal(rows.length, 2 * (most + 2));
    const repeats = rows.map(({ repeats }) => repeats).filter((count) => count > 0);
    assert.deepEqual(repeats, [1234, 1234]);
  });

  test('keeps the present second for later repetitions, and writes all of it at the end', async () => {
    for (let number = 0; number < LIMITS.requestLogErrorsPerSecond; number++) log.addError(request());
    await log.flush();
    assert.deepEqual(await stored(), []);
    log.addError(request());
    await log.flush({ all: true });
    assert.equal((await stored())[0]?.repeats, 1);
    log.addError(request());
    await flush();
    assert.equal((await stored()).length, LIMITS.requestLogErrorsPerSecond + 1);
  });

  test('takes a bounded amount of memory during a flood, and reports each request without an entry', async () => {
    let unrecorded = 0;
    const kinds = 3 * LIMITS.requestLogRowsInMemory;
    for (let number = 0; number < kinds; number++) {
      const key = `key_${number}`;
      if (!log.addError(request({ caller: { account, key } }))) unrecorded++;
      if (number >= ROWS_OF_ONE / 2) assert.equal(log.takesSuccess(account, key), false);
    }
    // Repetitions of what has an entry are still counted.
    assert.equal(log.addError(request({ caller: { account, key: 'key_0' } })), true);
    assert.equal(unrecorded, kinds - ROWS_OF_ONE);
    await flush();
    const [row = {}] = await database.read(
      'select count(*) as number from request_log where account = ?account',
      account,
    );
    assert.equal(row['number'], ROWS_OF_ONE);
    assert.equal(log.addError(request()), true);
  });

  test('leaves room in memory for the requests of others while some accounts flood it', async () => {
    const flood = (of: string): number => {
      let rows = 0;
      while (log.addError(request({ caller: { account: of, key: `${of}_${rows}` } }))) rows++;
      return rows;
    };
    const [one, two] = [await service.newAccount(), await service.newAccount()];
    assert.equal(flood(one), ROWS_OF_ONE);
    assert.equal(flood(two), ROWS_OF_ONE / 2);
    assert.equal(withSuccess(), false, 'successes take at most half of the memory');
    for (let number = 0; number < 20; number++)
      assert.equal(log.addError(request({ caller: { account, key: `key_${number}` } })), true);
    await flush();
    assert.equal((await stored()).length, 20);
    assert.equal(flood(one), ROWS_OF_ONE, 'written rows take no room');
  });

  test('keeps a bounded number of entries while the database fails', async () => {
    let kinds = 0;
    const fill = (): void => {
      while (log.addError(request({ route: { path: `/v1/${kinds}` } }))) kinds++;
    };
    let isDown = true;
    const failing = {
      ...database,
      commit: async (unit: UnitOfWork): Promise<CommitResult> => {
        if (!isDown) return database.commit(unit);
        fill();
        throw new StorageError('down');
      },
    } as Database;
    log = newLog(failing);
    fill();
    for (let round = 0; round < 3; round++) await assert.rejects(flush(), StorageError);
    isDown = false;
    await flush();
    assert.equal(kinds, ROWS_OF_ONE);
    fill();
    assert.equal(kinds, 2 * ROWS_OF_ONE);
  });

  test('writes each entry once when the database fails, and when the result of a write is unknown', async () => {
    let outcome: 'fails' | 'unknown' | 'works' = 'fails';
    const failing = {
      ...database,
      commit: async (unit: UnitOfWork): Promise<CommitResult> => {
        if (outcome === 'fails') throw new StorageError('down');
        const result = await database.commit(unit);
        if (outcome === 'unknown') throw new StorageError('lost');
        return result;
      },
    } as Database;
    log = newLog(failing);
    log.addError(request({ requestId: 'one' }));
    await assert.rejects(flush(), StorageError);
    log.addError(request({ requestId: 'two' }));
    outcome = 'unknown';
    await assert.rejects(flush(), StorageError);
    log.addError(request({ requestId: 'three' }));
    outcome = 'works';
    await flush();
    await flush();
    const ids = (await stored()).map(({ requestId }) => requestId);
    assert.deepEqual(ids, ['three', 'two', 'one']);
  });

  test('is switched off by 0 rows', async () => {
    log = newLog(database, 0);
    assert.equal(log.takesSuccess(account, KEY), false);
    assert.equal(log.addError(request()), true);
    await flush();
    assert.deepEqual(await stored(), []);
  });

  describe('a search', () => {
    const list = (filter: Parameters<RequestLogQuery['list']>[1], cursor?: string) =>
      new RequestLogQuery({ database }).list({ account, environment: undefined }, filter, cursor);

    test('filters by each member', async () => {
      const start = now;
      log.addError(request({ requestId: 'a' }));
      now += SECOND;
      log.addError(
        request({
          requestId: 'b',
          status: 503,
          failure: new Failure('unavailable'),
          address: '2001:db8::1',
          caller: { account, key: 'key_2' },
        }),
      );
      now += SECOND;
      log.addError(request({ requestId: 'c', route: { path: '/v1/account' }, environment: 'production' }));
      withSuccess();
      await flush();
      const ids = async (filter: Parameters<typeof list>[0]) =>
        (await list(filter)).items.map(({ requestId }) => requestId);
      assert.deepEqual(await ids({ statuses: 'errors' }), ['c', 'b', 'a']);
      assert.deepEqual(await ids({ statuses: '2xx' }), ['request-1']);
      assert.deepEqual(await ids({ statuses: '4xx' }), ['c', 'a']);
      assert.deepEqual(await ids({ statuses: '5xx' }), ['b']);
      assert.deepEqual(await ids({ key: 'key_2' }), ['b']);
      assert.deepEqual(await ids({ route: '/v1/account' }), ['c']);
      assert.deepEqual(await ids({ failure: 'unavailable' }), ['b']);
      assert.deepEqual(await ids({ requestId: 'a' }), ['a']);
      assert.deepEqual(await ids({ address: '203.0.113.0/24', requestId: 'a' }), ['a']);
      assert.deepEqual(await ids({ address: '2001:db8::1' }), ['b']);
      assert.deepEqual(await ids({ from: start + SECOND, statuses: 'errors' }), ['c', 'b']);
      assert.deepEqual(await ids({ to: start + SECOND }), ['a']);
      assert.deepEqual(await ids({ order: 'oldest', statuses: 'errors' }), ['a', 'b', 'c']);
      assert.deepEqual(await ids({ order: 'oldest', from: start + SECOND, statuses: 'errors' }), ['b', 'c']);
      assert.deepEqual(await ids({ order: 'oldest', to: start + SECOND }), ['a']);
      await assert.rejects(list({ address: 'nonsense' }), { code: 'invalid_field', field: 'address' });
      const production = await new RequestLogQuery({ database }).list({ account, environment: 'production' }, {});
      assert.deepEqual(
        production.items.map(({ requestId }) => requestId),
        ['c'],
      );
    });

    test('returns each request once, page by page, also those of one millisecond', async () => {
      const total = 2 * LIMITS.recordsPerPage + 10;
      const keys = Array.from({ length: total }, (_, number) => `key_${number}`);
      const environments = ['production', 'sandbox'] as const;
      for (const [number, key] of keys.entries())
        log.addError(
          request({ requestId: key, caller: { account, key }, environment: environments[number % 2] ?? 'sandbox' }),
        );
      await flush();
      for (const order of ['oldest', 'newest'] as const) {
        const found: string[] = [];
        for (let cursor: string | undefined, isEnd = false; !isEnd; ) {
          const page = await list({ order }, cursor);
          found.push(...page.items.map(({ requestId }) => requestId));
          ({ cursor } = page);
          isEnd = cursor === undefined;
        }
        assert.deepEqual(found, order === 'oldest' ? keys : keys.toReversed());
      }
      await assert.rejects(list({}, 'x'), { code: 'invalid_field' });
    });

    test('reads a bounded number of rows, and continues behind them', async () => {
      for (let second = 0; second < 12; second++) {
        for (let key = 0; key < 500; key++) {
          const requestId = second === 0 && key === 0 ? 'wanted' : 'other';
          log.addError(request({ requestId, caller: { account, key: `key_${key}` } }));
        }
        await flush();
      }
      const first = await list({ requestId: 'wanted' });
      assert.deepEqual(first.items, []);
      assert.ok(first.searchedUntil !== undefined && first.searchedUntil < now);
      const next = await list({ requestId: 'wanted' }, first.cursor);
      assert.equal(next.items.length, 1);
    });
  });

  describe('pruning', () => {
    const count = async (): Promise<number> => {
      const [row = {}] = await database.read('select count(*) as number from request_log');
      return Number(row['number']);
    };
    beforeEach(async () => {
      await new RequestLogPruning({ database, rows: 0 }).prune(now);
      assert.equal(await count(), 0);
    });
    const addSeconds = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        for (const environment of ['production', 'sandbox'] as const) log.addError(request({ environment }));
        now += SECOND;
      }
      await log.flush();
    };

    test('keeps the newest rows', async () => {
      await addSeconds(60);
      const pruning = new RequestLogPruning({ database, rows: 20 });
      assert.equal(await pruning.prune(now), 100);
      assert.equal(await count(), 20);
      assert.equal(await pruning.prune(now), 0);
      const kept = await stored();
      assert.equal(kept.at(-1)?.at, now - 10 * SECOND);
    });

    test('deletes the rows of a flood, and none of the accounts with few rows', async () => {
      const few = await service.newAccount();
      const addOf = (of: string, rows: number): void => {
        for (let number = 0; number < rows; number++)
          log.addError(request({ caller: { account: of, key: `key_${number}` } }));
      };
      addOf(few, 10);
      log.addError(request({ environment: 'production', requestId: 'own' }));
      await flush();
      for (let round = 0; round < 3; round++) {
        addOf(account, 100);
        await flush();
      }
      const pruning = new RequestLogPruning({ database, rows: 49 });
      assert.equal(await pruning.prune(now), 311 - 49);
      const counts = await database.read(
        'select account, environment, count(*) as number from request_log group by account, environment',
      );
      const rowsOf = (of: string, environment: string) =>
        counts.find((row) => row['account'] === of && row['environment'] === environment)?.['number'];
      assert.deepEqual(
        [rowsOf(few, 'sandbox'), rowsOf(account, 'production'), rowsOf(account, 'sandbox')],
        [10, 1, 38],
      );
    });

    test('shares the rows equally, and what some leave of theirs among the others', () => {
      assert.equal(fairShare([], 10), Number.POSITIVE_INFINITY);
      assert.equal(fairShare([3, 7], 10), Number.POSITIVE_INFINITY);
      assert.equal(fairShare([100, 100], 10), 5);
      assert.equal(fairShare([100, 2, 100], 10), 4);
      assert.equal(fairShare([1, 1, 1, 1000], 10), 7);
      assert.equal(fairShare([5], 0), 0);
    });

    test('deletes some more than the surplus, so that each further row does not lead to a deletion', async () => {
      await addSeconds(101);
      const pruning = new RequestLogPruning({ database, rows: 200 });
      assert.equal(await pruning.prune(now), 6);
      await addSeconds(2);
      assert.equal(await pruning.prune(now), 0);
    });

    test('deletes rows of more than 30 days, and no younger ones', async () => {
      await addSeconds(2);
      now += LIMITS.requestLogDaysKept * DAY - SECOND;
      await addSeconds(1);
      const pruning = new RequestLogPruning({ database, rows: ROWS });
      assert.equal(await pruning.prune(now - 2 * SECOND), 2);
      assert.equal(await count(), 4);
      assert.equal(await pruning.prune(now - SECOND), 2);
      assert.equal((await stored()).length, 2);
    });

    test('does a bounded part of the work in each round, and counts on from there', async () => {
      const total = 45_000;
      for (let written = 0; written < total; written += ROWS_OF_ONE) {
        for (let key = 0; key < ROWS_OF_ONE; key++) log.addError(request({ caller: { account, key: `key_${key}` } }));
        await flush();
      }
      const pruning = new RequestLogPruning({ database, rows: 10_000 });
      const rounds: number[] = [];
      for (let deleted = -1; deleted !== 0; ) {
        deleted = await pruning.prune(now);
        rounds.push(deleted);
      }
      assert.equal(rounds[0], LIMITS.requestLogRowsDeletedPerRound);
      assert.ok(rounds.length > 2, String(rounds));
      const left = await count();
      assert.ok(left <= 10_000 && left > 8000, String(left));
    });
  });
});
