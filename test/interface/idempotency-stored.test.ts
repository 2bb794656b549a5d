import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CommitResult, StorageError, type UnitOfWork } from '../../src/storage/database.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { startTestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  CAPTURES,
  type Caller,
  capture,
  card,
  cards,
  dataOf,
  newCaller,
  TOKENS,
  VISA,
} from './vault-requests.ts';

let service: TestService;
let me: Caller;
before(async () => {
  service = await startTestService();
  me = await newCaller(service);
});
after(() => service.stop());

let keys = 0;
const newKey = () => ({ 'idempotency-key': `kept-${++keys}` });
const replayed = (response: TestResponse) => response.headers['idempotent-replayed'];

/** Puts something between the service and its database while `work` runs. */
async function through<T>(
  commit: (unit: UnitOfWork, go: (unit: UnitOfWork) => Promise<CommitResult>) => Promise<CommitResult>,
  work: () => Promise<T>,
): Promise<T> {
  const database = service.core.database as { commit(unit: UnitOfWork): Promise<CommitResult> };
  const original = database.commit.bind(database);
  database.commit = (unit) => commit(unit, original);
  try {
    return await work();
  } finally {
    database.commit = original;
  }
}
const writesTo = (unit: UnitOfWork, text: string) => unit.writes.some(({ sql }) => sql.includes(text));

describe('400 responses that are stored', () => {
  const requests: Record<string, () => Promise<readonly [method: string, path: string, body?: unknown]>> = {
    'a malformed field': async () => ['POST', CAPTURES, capture({ ttl: 0 })],
    'malformed JSON': async () => ['POST', CAPTURES, '{"chd":'],
    'cards that fail Luhn': async () => ['POST', '/v1/tokenization/simple', cards(['4111111111111112'])],
    'an unknown capture': async () => ['DELETE', `${CAPTURES}/00000000-0000-4000-8000-000000000000`],
    'a capture without a card': async () => [
      'POST',
      `${CAPTURES}/${await me.capture({ chd: { cvv: '123' } })}/tokenize`,
      { tags: [], scheme: 1 },
    ],
    'no tokens': async () => ['DELETE', TOKENS, { tokens: [] }],
  };
  for (const [about, requestOf] of Object.entries(requests)) {
    test(about, async () => {
      const [method, path, body] = await requestOf();
      const headers = newKey();
      const first = await me.send(method, path, body, headers);
      assert.equal(first.status, 400);
      assert.equal(replayed(first), undefined);
      const again = await me.send(method, path, body, headers);
      assert.deepEqual([again.text, again.status, replayed(again)], [first.text, 400, 'true']);
      assertRefused(await me.send(method, path, capture(), headers), /^Idempotency-Key: /);
    });
  }
});

describe('responses that are not stored', () => {
  test('400: a key of another request is not bound to the new one', async () => {
    const headers = newKey();
    const first = await me.send('POST', CAPTURES, capture(), headers);
    assertRefused(await me.send('POST', CAPTURES, capture({ amount: 1 }), headers), /^Idempotency-Key: /);
    assert.equal((await me.send('POST', CAPTURES, capture(), headers)).text, first.text);
  });

  test('403', async () => {
    const headers = newKey();
    const without = await newCaller(service, { account: me.account, permissions: ['captures:inspect'] });
    assertRefused(await without.send('POST', CAPTURES, capture(), headers), 'Access denied.', undefined, 403);
    const response = await me.send('POST', CAPTURES, capture(), headers);
    dataOf(response);
    assert.equal(replayed(response), undefined);
  });

  test('413 and 415', async () => {
    const headers = newKey();
    const text = JSON.stringify(capture());
    assert.equal((await me.send('POST', CAPTURES, text.padEnd(1024 * 1024 + 1), headers)).status, 413);
    assert.equal((await me.send('POST', CAPTURES, text, { ...headers, 'content-type': 'text/plain' })).status, 415);
    const response = await me.send('POST', CAPTURES, text, headers);
    dataOf(response);
    assert.equal(replayed(response), undefined);
  });

  test('429', async () => {
    const limited = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_PER_KEY: '1' } });
    try {
      const caller = await newCaller(limited);
      let headers = newKey();
      while ((await caller.send('POST', CAPTURES, capture(), headers)).status !== 429) headers = newKey();
      limited.advance(5000);
      const response = await caller.send('POST', CAPTURES, capture(), headers);
      dataOf(response);
      assert.equal(replayed(response), undefined);
    } finally {
      await limited.stop();
    }
  });

  const writes: Record<
    string,
    readonly [table: string, send: (headers: Record<string, string>) => Promise<TestResponse>]
  > = {
    'POST /v1/tokenization/simple': ['into tokens', (headers) => me.tokenize(cards([VISA]), headers)],
    'POST /transactions/requests': ['into captures', (headers) => me.send('POST', CAPTURES, capture(), headers)],
  };
  for (const [name, [table, send]] of Object.entries(writes)) {
    test(`503 of ${name}: no effect, and a repeat is executed`, async () => {
      const headers = newKey();
      const rows = [await me.count('tokens'), await me.count('captures')];
      const failed = await through(
        (unit, go) => (writesTo(unit, table) ? Promise.reject(new StorageError('away')) : go(unit)),
        () => send(headers),
      );
      assertRefused(failed, 'The service cannot do this at the moment.', undefined, 503);
      assert.ok(Number(failed.headers['retry-after']) > 0);
      assert.deepEqual([await me.count('tokens'), await me.count('captures')], rows);
      const response = await send(headers);
      dataOf(response);
      assert.equal(replayed(response), undefined);
    });
  }

  test('503 after the effect: the response was stored with it, and a repeat returns it', async () => {
    const headers = newKey();
    const before = await me.count('captures');
    const send = () => me.send('POST', CAPTURES, capture(), headers);
    const failed = await through(async (unit, go) => {
      const outcome = await go(unit);
      if (writesTo(unit, 'into captures')) throw new StorageError('away');
      return outcome;
    }, send);
    assert.equal(failed.status, 503);
    const response = await send();
    dataOf(response);
    assert.equal(replayed(response), 'true');
    assert.equal(await me.count('captures'), before + 1);
  });
});

describe('409', () => {
  const RUNNING = 'The same request is still being processed.';

  test('while the first request is in progress; then its response', async () => {
    const headers = newKey();
    const send = (amount = 1) => me.send('POST', CAPTURES, capture({ amount }), headers);
    const before = await me.count('captures');
    let arrived = (): void => undefined;
    let release = (): void => undefined;
    const underWay = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const hold = async (unit: UnitOfWork, go: (unit: UnitOfWork) => Promise<CommitResult>) => {
      if (writesTo(unit, 'into captures')) {
        arrived();
        await released;
      }
      return go(unit);
    };
    const first = await through(hold, async () => {
      const running = send();
      await underWay;
      const second = await send();
      assertRefused(second, RUNNING, undefined, 409);
      assert.ok(Number(second.headers['retry-after']) > 0);
      assertRefused(await send(2), /^Idempotency-Key: /);
      release();
      return running;
    });
    dataOf(first);
    const again = await send();
    assert.deepEqual([again.text, replayed(again)], [first.text, 'true']);
    assert.equal(await me.count('captures'), before + 1);
  });

  test('for a request whose process crashed, for 10 seconds at most', async () => {
    const headers = newKey();
    const send = () => me.tokenize({ chd: [card(VISA)], tags: [], scheme: 1 }, headers);
    const before = await me.count('tokens');
    // Only the claim reaches the disk, as when the process dies after it.
    const died = await through(
      (unit, go) => (writesTo(unit, 'into idempotency') ? go(unit) : Promise.reject(new StorageError('away'))),
      send,
    );
    assert.equal(died.status, 503);
    assertRefused(await send(), RUNNING, undefined, 409);
    service.advance(10_000);
    const response = await send();
    dataOf(response);
    assert.equal(replayed(response), undefined);
    assert.equal(await me.count('tokens'), before + 1);
  });
});
