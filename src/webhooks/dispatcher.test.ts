import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { insertAccounts } from '../../test/fixtures/accounts.ts';
import { trustedTime } from '../../test/fixtures/clock.ts';
import { dropDatabase, openFolder } from '../../test/fixtures/database.ts';
import { initializeJournal } from '../../test/fixtures/journals.ts';
import { untilPasses } from '../../test/fixtures/until-passes.ts';
import { SERVICE_ORIGIN } from '../audit/audit.ts';
import { DigestKeys } from '../crypto/digest-keys.ts';
import { Keyring } from '../crypto/keyring.ts';
import { systemRandom } from '../crypto/random.ts';
import { IdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import { Transactions } from '../idempotency/transaction.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Driver } from '../storage/database.ts';
import { wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { deleteDeliveries } from './delivery-batches.ts';
import { Dispatcher, toAttemptResult } from './dispatcher.ts';
import { Outbox } from './outbox.ts';
import type { SendResult } from './send.ts';
import { deleteEndpoint, insertEndpoint, replayDelivery } from './webhook-store.ts';

const DELIVERED: SendResult = { statusCode: 204, error: undefined, retryAfter: undefined };
const REFUSED: SendResult = { statusCode: undefined, error: 'connect', retryAfter: undefined };
const GONE: SendResult = { statusCode: 410, error: 'status', retryAfter: undefined };
const DELAY_MS = 3_600_000;

const tenantOf = (account: string, environment: Environment = 'sandbox'): Tenant => ({ account, environment });
const hostOf = ({ account, environment }: Tenant, number: number): string =>
  `${account}.${environment}.endpoint-${number}`;

/** A request to an endpoint, which ends when the test says so. */
interface HeldRequest {
  readonly host: string;
  readonly end: (result: SendResult) => void;
}

describe('a dispatcher whose endpoints are slow', { timeout: 60_000 }, () => {
  let directory: string;
  let database: Driver;
  let keyring: Keyring;
  let transactions: Transactions;
  let outbox: Outbox;
  let dispatcher: Dispatcher;
  /** Requests in progress. */
  let held: HeldRequest[];
  const random = systemRandom();
  const clock = (): number => Date.now();

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    database = await openFolder(directory);
    await database.migrate(clock);
    const root = createSecretKey(random.bytes(32));
    await initializeJournal(database, DigestKeys.of(createSecretKey(random.bytes(32))));
    keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    const parts = { database, keyring, clock, time: trustedTime(clock), random };
    transactions = new Transactions({ database, clock, idempotency: new IdempotencyKeys(parts) });
    outbox = new Outbox(parts);
    held = [];
    dispatcher = new Dispatcher({
      ...parts,
      transactions,
      outbox,
      sender: {
        send: ({ url }) =>
          new Promise((resolve) => {
            const end = (result: SendResult): void => {
              held.splice(held.indexOf(request), 1);
              resolve(result);
            };
            const request: HeldRequest = { host: new URL(url).hostname, end };
            held.push(request);
          }),
      },
      delays: [DELAY_MS],
      userAgent: 'cardvault',
      onError: (error) => assert.fail(String(error)),
    });
  });
  afterEach(async () => {
    const stopped = dispatcher.stop();
    for (const request of [...held]) request.end(DELIVERED);
    await stopped;
    await database.close();
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  async function addEndpoints(tenant: Tenant, number = 1): Promise<void> {
    await insertAccounts(database, [tenant.account], Number(tenant.account.slice('acc_'.length)));
    for (let index = 0; index < number; index++) {
      const write = await insertEndpoint(keyring, tenant, {
        id: `wh_${index}`,
        url: `https://${hostOf(tenant, index)}/`,
        events: ['*'],
        description: undefined,
        disabledReason: undefined,
        createdAt: 1,
        secrets: [{ bytes: new Uint8Array(32), until: undefined }],
        revision: 1,
      });
      await database.commit({ account: tenant.account, writes: [write] });
    }
  }
  async function emit(tenant: Tenant, number = 1): Promise<void> {
    for (let count = 0; count < number; count++)
      await transactions.run({ origin: SERVICE_ORIGIN, account: tenant.account }, (transaction) =>
        outbox.emit(transaction, tenant, { type: 'token.deleted', data: { token: `${count}` } }),
      );
  }
  const heldOf = (account: string): HeldRequest[] => held.filter(({ host }) => host.startsWith(`${account}.`));
  /** Ends all requests to an account, and waits until the dispatcher has stored what became of them. */
  async function endAll(account: string, result = DELIVERED): Promise<void> {
    const requests = heldOf(account);
    const isWaiting =
      "select count(*) as number from webhook_deliveries where account = ?account and status = 'waiting'";
    const [before] = await database.read(isWaiting, account);
    for (const request of requests) request.end(result);
    if (result === REFUSED) return;
    await untilPasses(async () => {
      const [row] = await database.read(isWaiting, account);
      assert.equal(Number(row?.['number']), Number(before?.['number']) - requests.length);
    });
  }
  /** Lets the dispatcher start what it may, and expects that many requests in progress. */
  async function assertHeld(expected: Readonly<Record<string, number>>): Promise<void> {
    await untilPasses(async () => {
      await dispatcher.runOnce();
      const counts = Object.keys(expected).map((account) => [account, heldOf(account).length]);
      assert.deepEqual(Object.fromEntries(counts), expected);
    });
  }

  test('leaves requests for every other account, whatever the slow ones have waiting', async () => {
    const slow = [tenantOf('acc_1', 'production'), tenantOf('acc_1', 'sandbox')];
    for (const tenant of slow) {
      await addEndpoints(tenant, LIMITS.webhookEndpoints);
      await emit(tenant, LIMITS.webhookRequestsPerEndpoint + 1);
    }
    const half = LIMITS.webhookRequests / 2;
    await assertHeld({ acc_1: half });
    await addEndpoints(tenantOf('acc_2'), LIMITS.webhookEndpoints);
    await emit(tenantOf('acc_2'), LIMITS.webhookRequestsPerEndpoint + 1);
    await assertHeld({ acc_1: half, acc_2: half / 2 });
    await addEndpoints(tenantOf('acc_3'));
    await emit(tenantOf('acc_3'));
    await assertHeld({ acc_1: half, acc_2: half / 2, acc_3: 1 });
    await endAll('acc_3');
    await emit(tenantOf('acc_3'), 3);
    await assertHeld({ acc_1: half, acc_2: half / 2, acc_3: 3 });
  });

  test('gives each endpoint of an account its turn', async () => {
    const slow = [tenantOf('acc_1', 'production'), tenantOf('acc_1', 'sandbox')];
    for (const tenant of slow) {
      await addEndpoints(tenant, LIMITS.webhookEndpoints);
      await emit(tenant, 2 * LIMITS.webhookRequestsPerEndpoint);
    }
    const half = LIMITS.webhookRequests / 2;
    await assertHeld({ acc_1: half });
    const first = new Set(held.map(({ host }) => host));
    await endAll('acc_1');
    await assertHeld({ acc_1: half });
    const second = new Set(held.map(({ host }) => host));
    assert.deepEqual([first.size, second.size], [LIMITS.webhookEndpoints, LIMITS.webhookEndpoints]);
    assert.ok(first.isDisjointFrom(second), `${[...second]}`);
  });

  test('sends one request at a time to an endpoint that has failed, and ten again once it has succeeded', async () => {
    await addEndpoints(tenantOf('acc_1'));
    await emit(tenantOf('acc_1'), 4 * LIMITS.webhookRequestsPerEndpoint);
    await assertHeld({ acc_1: LIMITS.webhookRequestsPerEndpoint });
    await endAll('acc_1', REFUSED);
    await assertHeld({ acc_1: 1 });
    await dispatcher.runOnce();
    assert.equal(held.length, 1);
    await endAll('acc_1');
    await assertHeld({ acc_1: LIMITS.webhookRequestsPerEndpoint });
  });

  /** Waits until the result of an attempt to the only endpoint is stored. */
  const assertStored = (error: string): Promise<void> =>
    untilPasses(async () => {
      const [row] = await database.read('select last_error from webhook_deliveries where last_error is not null');
      assert.equal(row?.['last_error'], error);
    });

  test('sends one request at a time to an endpoint whose failed delivery is not due again', async () => {
    await addEndpoints(tenantOf('acc_1'));
    await emit(tenantOf('acc_1'));
    await assertHeld({ acc_1: 1 });
    await endAll('acc_1', REFUSED);
    await assertStored('connect');
    await dispatcher.runOnce();
    await emit(tenantOf('acc_1'), LIMITS.webhookRequestsPerEndpoint);
    await assertHeld({ acc_1: 1 });
    await dispatcher.runOnce();
    assert.equal(held.length, 1);
  });

  const tenant = tenantOf('acc_1');
  const ends: Readonly<Record<string, readonly [result: SendResult, end: () => Promise<unknown>]>> = {
    'is deleted': [
      REFUSED,
      () =>
        database.commit({
          account: tenant.account,
          writes: [deleteEndpoint(tenant, 'wh_0'), deleteDeliveries(tenant, 'wh_0')],
        }),
    ],
    'is disabled, with its last delivery failed': [GONE, async () => undefined],
  };
  for (const [event, [result, end]] of Object.entries(ends))
    test(`keeps nothing of an endpoint that has failed and then ${event}`, async (context) => {
      // The maps that hold the endpoint by its name are private: the test finds them when they are written.
      const name = 'sandbox/acc_1/wh_0';
      const maps = new Set<Map<unknown, unknown>>();
      const { set } = Map.prototype;
      context.mock.method(Map.prototype, 'set', function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
        if (key === name) maps.add(this);
        return set.call(this, key, value);
      });
      await addEndpoints(tenant);
      await emit(tenant);
      await assertHeld({ acc_1: 1 });
      for (const request of heldOf('acc_1')) request.end(result);
      await assertStored(result.error ?? assert.fail('the attempt succeeds'));
      await end();
      await untilPasses(async () => {
        await dispatcher.runOnce();
        const kept = [...maps].map((map) => map.has(name));
        assert.deepEqual(kept, [false, false]);
      }, 3000);
    });

  test('lets requests in progress end when it stops, and starts no other', async () => {
    await addEndpoints(tenantOf('acc_1'));
    await emit(tenantOf('acc_1'));
    await assertHeld({ acc_1: 1 });
    const [request] = held;
    let isStopped = false;
    const stopped = dispatcher.stop().then(() => {
      isStopped = true;
    });
    // A stop that waits for no request ends long before these commits and reads do.
    await emit(tenantOf('acc_1'));
    await dispatcher.runOnce();
    const read = async () => {
      const rows = await database.read('select status, attempts from webhook_deliveries order by event');
      return rows.map((row) => [row['status'], Number(row['attempts'])]);
    };
    const due = ['waiting', 0];
    assert.deepEqual(await read(), [['waiting', 1], due]);
    assert.deepEqual([isStopped, held], [false, [request]]);
    request?.end(DELIVERED);
    await stopped;
    // The result is stored by then.
    assert.deepEqual(await read(), [['delivered', 1], due]);
    await dispatcher.runOnce();
    assert.deepEqual([held, await read()], [[], [['delivered', 1], due]]);
  });

  for (const [outcome, result] of Object.entries({ succeeds: DELIVERED, fails: REFUSED }))
    test(`sends a delivery that is replayed during an attempt again when that attempt ${outcome}, and not before`, async () => {
      const tenant = tenantOf('acc_1');
      const read = async () => {
        const sql = 'select event, status, attempts, step, last_status, last_error from webhook_deliveries';
        const [row] = await database.read(sql);
        return row ?? assert.fail('there is no delivery');
      };
      await addEndpoints(tenant);
      await emit(tenant);
      await assertHeld({ acc_1: 1 });
      const [first] = held;
      const event = String((await read())['event']);
      // A second replay during the attempt adds nothing.
      for (let count = 0; count < 2; count++) {
        const writes = [replayDelivery(tenant, 'wh_0', event, clock())];
        assert.ok((await database.commit({ account: tenant.account, writes })).committed);
      }
      for (let round = 0; round < 10; round++) {
        await dispatcher.runOnce();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.deepEqual(held, [first]);
      first?.end(result);
      await assertHeld({ acc_1: 1 });
      const again = { event, attempts: 2, step: 0 };
      const { statusCode = null, error = null } = result;
      const stored = { last_status: statusCode, last_error: error };
      assert.deepEqual({ ...(await read()) }, { ...again, ...stored, status: 'waiting' });
      await endAll('acc_1');
      assert.deepEqual({ ...(await read()) }, { ...again, last_status: 204, last_error: null, status: 'delivered' });
      await dispatcher.runOnce();
      assert.deepEqual(held, []);
    });
});

describe('what an attempt means for its delivery', () => {
  const DELAYS = [5000, 60_000];
  const NOW = 1_000_000;
  /** The least of the delay that is drawn. */
  const least = { bytes: () => new Uint8Array(0), below: () => 0 };
  const meaningOf = (result: Partial<SendResult>, step = 0) => {
    const { status, nextAttemptAt } = toAttemptResult(
      DELAYS,
      { step },
      { statusCode: 500, error: 'status', retryAfter: undefined, ...result },
      NOW,
      least,
    );
    return [status, nextAttemptAt];
  };

  test('a success ends it, and a failure puts it off by the schedule until that is over', () => {
    assert.deepEqual(meaningOf({ statusCode: 200, error: undefined }), ['delivered', undefined]);
    assert.deepEqual(meaningOf({}), ['waiting', NOW + 5000]);
    assert.deepEqual(meaningOf({}, 1), ['waiting', NOW + 60_000]);
    assert.deepEqual(meaningOf({}, 2), ['failed', undefined]);
    assert.deepEqual(meaningOf({ statusCode: undefined, error: 'connect' }), ['waiting', NOW + 5000]);
  });

  test('Retry-After of 429 and 503 puts it off, never forward and by a day at most', () => {
    for (const statusCode of [429, 503]) {
      assert.deepEqual(meaningOf({ statusCode, retryAfter: '600' }), ['waiting', NOW + 600_000]);
      assert.deepEqual(meaningOf({ statusCode, retryAfter: '1' }), ['waiting', NOW + 5000]);
      assert.deepEqual(meaningOf({ statusCode, retryAfter: '999999' }), ['waiting', NOW + 86_400_000]);
      assert.deepEqual(meaningOf({ statusCode, retryAfter: 'soon' }), ['waiting', NOW + 5000]);
    }
    for (const statusCode of [500, 502, 301])
      assert.deepEqual(meaningOf({ statusCode, retryAfter: '600' }), ['waiting', NOW + 5000]);
    assert.deepEqual(meaningOf({ statusCode: 503, retryAfter: '600' }, 2), ['failed', undefined]);
  });

  test('410 ends it at once', () => assert.deepEqual(meaningOf({ statusCode: 410 }), ['failed', undefined]));
});
