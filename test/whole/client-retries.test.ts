import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import {
  AccessDeniedError,
  CardvaultClient,
  CardvaultError,
  type ClientOptions,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  RateLimitError,
  type RefusedError,
  ServiceError,
  TimeoutError,
  type Timing,
} from '../../sdk/src/index.ts';
import { MAX_RESPONSE_BYTES, SYSTEM_TIMING } from '../../sdk/src/transport.ts';
import { caFilePath, loadOrCreateLocalIdentity } from '../../src/http/tls.ts';
import { LIMITS } from '../../src/kernel/limits.ts';

/** Errors, retries and limits of the client, against a server whose responses the test chooses. */

interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const SUCCESS = JSON.stringify({ status_code: 200, status: 'success', desc: 'Success', data: { tokens: [] } });
const succeed: Reply = (response) => void response.writeHead(200).end(SUCCESS);
const lose: Reply = (_, request) => void request.socket.destroy();
const refuse =
  (status: number, headers: Readonly<Record<string, string>> = {}, body: object = {}): Reply =>
  (response) =>
    void response.writeHead(status, headers).end(JSON.stringify(body));

/** The largest random part of each wait, in milliseconds: half of the wait that doubles, up to 8 seconds. */
const RANDOM_PARTS = [125, 250, 500, 1000, 2000, 4000, 4000];

describe('a call of the client', { timeout: 60_000 }, () => {
  let folder: string;
  let server: Server;
  let options: ClientOptions;
  let received: Received[];
  /** The replies of the server, in turn; the last holds for all that follow. */
  let replies: Reply[];
  /** The waits between attempts, in milliseconds; a wait takes no time but sets the clock. */
  let waits: number[];
  /** The limits below which random numbers were wanted. */
  let limits: number[];
  let now: number;
  let random: (below: number) => number;
  const clients: CardvaultClient[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-retries-'));
    const { certificate, key } = await loadOrCreateLocalIdentity(folder, Date.now);
    server = createServer({ cert: certificate, key }, async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString('utf8');
      const { method = '', url = '', headers } = request;
      received.push({ method, path: url, headers, body });
      const reply = replies.length > 1 ? replies.shift() : replies[0];
      reply?.(response, request);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    // The certificate of the server is signed by one of several authorities.
    const ca = [...rootCertificates.slice(0, 1), readFileSync(caFilePath(folder), 'utf8')];
    options = { baseUrl: `https://localhost:${port}`, apiKey: 'cv_sandbox_key', ca };
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    received = [];
    replies = [];
    waits = [];
    limits = [];
    now = 0;
    random = () => 0;
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    server.closeAllConnections();
    assertNoSecondEffect();
  });

  /** Every write has a key, and requests with the same key are the same request: the service executes it once. */
  function assertNoSecondEffect(): void {
    const byKey = new Map<string, string>();
    for (const { method, path, headers, body } of received) {
      const key = headers['idempotency-key'];
      if (method === 'GET') assert.equal(key, undefined);
      else {
        assert.ok(typeof key === 'string' && key !== '', `${method} ${path} has no key`);
        const request = `${method} ${path} ${body}`;
        assert.equal(byKey.get(key) ?? request, request);
        byKey.set(key, request);
      }
    }
  }

  const newClient = (more: Partial<ClientOptions> = {}): CardvaultClient => {
    const client = new CardvaultClient(
      { ...options, ...more },
      {
        now: () => now,
        random: (below) => {
          limits.push(below);
          return random(below);
        },
        wait: async (milliseconds, signal) => {
          waits.push(milliseconds);
          now += milliseconds;
          signal?.throwIfAborted();
        },
      },
    );
    clients.push(client);
    return client;
  };
  const keys = (): unknown[] => received.map(({ headers }) => headers['idempotency-key']);
  const errorOf = async (promise: Promise<unknown>): Promise<unknown> => {
    const outcome = await promise.then(
      () => assert.fail('the call succeeded'),
      (error: unknown) => error,
    );
    assert.ok(outcome instanceof CardvaultError);
    return outcome;
  };

  describe('throws for a response that is no success', () => {
    const cases: readonly [status: number, type: typeof RefusedError][] = [
      [400, InvalidRequestError],
      [403, AccessDeniedError],
      [409, ConflictError],
      [413, InvalidRequestError],
      [415, InvalidRequestError],
      [429, RateLimitError],
      [500, ServiceError],
      [502, ServiceError],
      [503, ServiceError],
      [504, ServiceError],
    ];
    for (const [status, type] of cases)
      test(`${type.name} for ${status}, with every detail of the response`, async () => {
        const body = { desc: 'tokens[0]: expected a string', data: { code: 'E1' } };
        replies = [refuse(status, { 'x-request-id': 'req-1', 'retry-after': '7' }, body)];
        const error = await errorOf(newClient({ maxRetries: 0 }).tokens.delete(['a'], { idempotencyKey: 'order-1' }));
        assert.ok(error instanceof type && error.constructor === type);
        const { name, message, description, code, field, requestId, retryAfter, idempotencyKey } = error;
        assert.deepEqual(
          { name, message, description, status: error.status, code, field, requestId, retryAfter, idempotencyKey },
          {
            ...{ name: type.name, message: `${status}: ${body.desc}`, description: body.desc, status, code: 'E1' },
            ...{ field: 'tokens[0]', requestId: 'req-1', retryAfter: 7, idempotencyKey: 'order-1' },
          },
        );
      });

    test('in the shapes of payments and the proxy, and in none of cardvault', async () => {
      const client = newClient({ maxRetries: 0 });
      replies = [refuse(400, {}, { message: 'Bad request', data: { code: '1001', path: 'card.number' } })];
      const ofPayment = (await errorOf(client.payments.lookup('a'))) as RefusedError;
      assert.deepEqual(
        [ofPayment.description, ofPayment.code, ofPayment.field, ofPayment.idempotencyKey],
        ['Bad request', '1001', 'card.number', undefined],
      );
      replies = [refuse(400, {}, { description: 'type: expected SHA256', data: '' })];
      const ofProxy = (await errorOf(client.proxy.hash('a', 'SHA256'))) as RefusedError;
      assert.deepEqual(
        [ofProxy.description, ofProxy.code, ofProxy.field],
        ['type: expected SHA256', undefined, 'type'],
      );
      replies = [(response) => void response.writeHead(502).end('<html>Bad gateway</html>')];
      const foreign = (await errorOf(client.account())) as RefusedError;
      assert.deepEqual([foreign.status, foreign.description], [502, 'the response is none of cardvault']);
    });
  });

  describe('is repeated', () => {
    for (const status of [409, 429, 503])
      test(`after ${status}, a write with the same key and body`, async () => {
        replies = [refuse(status), refuse(status), succeed];
        assert.deepEqual(await newClient().tokens.delete(['a']), { tokens: [] });
        assert.equal(received.length, 3);
        assert.equal(new Set(keys()).size, 1);
        assert.match(String(keys()[0]), /^[0-9a-f-]{36}$/);
        assert.equal(new Set(received.map(({ body }) => body)).size, 1);
      });

    test('after a lost response, a write with the key of the caller', async () => {
      replies = [lose, lose, succeed];
      await newClient().tokens.delete(['a'], { idempotencyKey: 'order-1' });
      assert.deepEqual(keys(), ['order-1', 'order-1', 'order-1']);
    });

    test('when it only reads, without a key', async () => {
      replies = [refuse(503), lose, succeed];
      await newClient().account();
      assert.deepEqual(
        received.map(({ method, headers }) => [method, headers['idempotency-key']]),
        [1, 2, 3].map(() => ['GET', undefined]),
      );
    });

    test('never with the key of another call', async () => {
      replies = [refuse(503), succeed, refuse(429), succeed];
      const client = newClient();
      await client.tokens.delete(['a']);
      await client.tokens.delete(['a']);
      const [first, second, third, fourth] = keys();
      assert.deepEqual([first, third], [second, fourth]);
      assert.notEqual(first, third);
    });

    for (const status of [301, 400, 403, 413, 415, 500, 502, 504])
      test(`never after ${status}`, async () => {
        replies = [refuse(status, { 'retry-after': '0', location: '/v1/account' }), succeed];
        await errorOf(newClient().tokens.delete(['a']));
        assert.equal(received.length, 1);
        assert.deepEqual(waits, []);
      });
  });

  describe('is not sent at all', () => {
    for (const key of ['', ' ', 'a b', 'é', 'a\r\nb', 'a'.repeat(256)])
      test(`with ${JSON.stringify(key.slice(0, 6))} as its key, which the service would refuse or not see`, async () => {
        replies = [succeed];
        await assert.rejects(newClient().tokens.delete(['a'], { idempotencyKey: key }), TypeError);
        assert.equal(received.length, 0);
      });

    test('with a number that JavaScript has rounded or that is not finite, wherever it is', async () => {
      replies = [succeed];
      const client = newClient();
      const rounded = Number('6304000000000000007');
      const capture = { chd: { card: '6304000000000000007' }, amount: 1, currency: 'USD', ttl: 5 };
      const card = { name: 'Ana Lopez', exp: '12/40' };
      const calls: readonly (() => Promise<unknown>)[] = [
        // @ts-expect-error: a card number is a string, so that no digit of it is lost
        () => client.tokens.create({ chd: [{ ...card, card: rounded }], tags: [], scheme: 7 }),
        () => client.payments.create({ card: { number: rounded } } as never),
        () => client.captures.create({ ...capture, additional_info: { of: [{ a: -rounded }] } }),
        () => client.captures.create({ ...capture, additional_info: { of: Object(rounded) } }),
        () => client.captures.create({ ...capture, amount: Number.MAX_SAFE_INTEGER + 1, additional_info: {} }),
        () => client.captures.create({ ...capture, amount: Number.NaN, additional_info: {} }),
        () => client.captures.create({ ...capture, amount: Number.NEGATIVE_INFINITY, additional_info: {} }),
        () => client.proxy.jose({ references: [{ value: rounded }] }),
      ];
      for (const call of calls)
        await assert.rejects(call, (error) => error instanceof TypeError && !/63040000/.test(String(error.stack)));
      assert.equal(received.length, 0);
      const info = { rate: -0.25, list: [Number.MIN_SAFE_INTEGER, 0, '6304000000000000007'] };
      const body = { ...capture, amount: Number.MAX_SAFE_INTEGER, additional_info: info };
      await client.captures.create(body);
      await client.proxy.jose('{"number":6304000000000000007}');
      assert.deepEqual(
        received.map((each) => each.body),
        [JSON.stringify(body), '{"number":6304000000000000007}'],
      );
    });

    test('to a server whose certificate it does not trust, whatever the environment says', async () => {
      replies = [succeed];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        const error = await errorOf(newClient({ ca: undefined, maxRetries: 0 }).account());
        assert.ok(error instanceof ConnectionError && !(error instanceof TimeoutError));
      } finally {
        delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      }
      assert.equal(received.length, 0);
    });

    for (const name of ['timeoutMs', 'attemptTimeoutMs', 'maxRetries'] as const)
      test(`with a value of ${name} that is no limit`, async () => {
        replies = [succeed];
        const least = name === 'maxRetries' ? -1 : 0;
        const most = name === 'maxRetries' ? [Number.POSITIVE_INFINITY] : [];
        const values = [Number.NaN, ...most, Number.NEGATIVE_INFINITY, -0.5, least, '5000' as never];
        for (const value of values) {
          const namesOption = { name: 'TypeError', message: new RegExp(`^${name}: expected`) };
          assert.throws(() => newClient({ [name]: value }), namesOption, String(value));
          if (name !== 'timeoutMs') continue;
          await assert.rejects(newClient().tokens.delete(['a'], { timeoutMs: value }), namesOption, String(value));
        }
        assert.equal(received.length, 0);
      });

    test('when its signal is aborted before', async () => {
      replies = [succeed];
      await errorOf(newClient().tokens.delete(['a'], { signal: AbortSignal.abort() }));
      assert.equal(received.length, 0);
      assert.deepEqual(waits, []);
    });
  });

  describe('reads a response', () => {
    test('of 13 MB, as a tokenization of hundreds of cards with many tags has it', async () => {
      const record = {
        ...{ card: '411111******1111', token: 'a', tags: Array.from({ length: 50 }, () => '😀'.repeat(255)) },
        ...{ scheme: 7, status: 1, created_by: { user_id: 'key_a', name: 'checkout' } },
        createdAt: '2026-01-15T10:30:00.000Z',
      };
      const data = { tokens: Array.from({ length: 260 }, () => record) };
      const text = JSON.stringify({ status_code: 200, status: 'success', desc: 'Success', data });
      assert.ok(Buffer.byteLength(text) > 13_000_000);
      replies = [(response) => void response.writeHead(200).end(text)];
      assert.deepEqual(await newClient().tokens.create({ chd: [], tags: [], scheme: 7 }), data);
      assert.equal(received.length, 1);
    });

    test('up to the longest of the interface, and requests a longer one once', async () => {
      const longestTag = JSON.stringify('\u0001'.repeat(LIMITS.tagCharacters)).length;
      assert.ok(MAX_RESPONSE_BYTES > LIMITS.cardsPerTokenization * LIMITS.tags * longestTag);
      const chunk = Buffer.alloc(1024 * 1024, ' ');
      replies = [
        (response) => {
          const write = (): void => {
            if (!response.destroyed && response.write(chunk)) write();
          };
          response.on('error', () => undefined);
          response.on('drain', write);
          response.writeHead(200);
          write();
        },
      ];
      const error = await errorOf(newClient().tokens.delete(['a']));
      assert.ok(error instanceof ConnectionError && !(error instanceof TimeoutError));
      assert.equal(error.message, 'the response is too long');
      assert.deepEqual([received.length, waits, error.idempotencyKey], [1, [], keys()[0]]);
    });
  });

  describe('waits between attempts', () => {
    const failedWaits = async (reply: Reply, more: Partial<ClientOptions> = {}): Promise<number[]> => {
      replies = [reply];
      await errorOf(newClient({ maxRetries: RANDOM_PARTS.length, ...more }).account());
      return waits;
    };

    test('twice as long each time, up to eight seconds, at least half of it', async () => {
      assert.deepEqual(await failedWaits(refuse(503)), RANDOM_PARTS);
      assert.deepEqual(
        limits.slice(0, RANDOM_PARTS.length),
        RANDOM_PARTS.map((most) => most + 1),
      );
    });

    test('and at most all of it', async () => {
      random = (below) => below - 1;
      assert.deepEqual(
        await failedWaits(refuse(503)),
        RANDOM_PARTS.map((part) => 2 * part),
      );
    });

    test('in the same way after a lost response', async () => {
      assert.deepEqual(await failedWaits(lose, { maxRetries: 3 }), RANDOM_PARTS.slice(0, 3));
    });

    test('the time of Retry-After, and a random part more', async () => {
      random = (below) => below - 1;
      const expected = RANDOM_PARTS.slice(0, 3).map((part) => 3000 + part);
      assert.deepEqual(await failedWaits(refuse(429, { 'retry-after': '3' }), { maxRetries: 3 }), expected);
    });

    test('no longer than usual for a Retry-After that is no number of seconds', async () => {
      for (const value of ['-5', 'Infinity', 'soon'])
        assert.deepEqual((await failedWaits(refuse(503, { 'retry-after': value }), { maxRetries: 1 })).splice(0), [
          RANDOM_PARTS[0],
        ]);
    });
  });

  /** The clock of the machine has fractions of a millisecond, which the other clients of these tests never see. */
  describe('by the clock of the machine', () => {
    const newTimedClient = (more: Partial<ClientOptions>): CardvaultClient => {
      const client = new CardvaultClient({ ...options, ...more }, { ...SYSTEM_TIMING, random: () => 0 });
      clients.push(client);
      return client;
    };

    test('is repeated after an attempt without a response, with the same key, until timeoutMs', async () => {
      replies = [() => undefined];
      const error = await errorOf(newTimedClient({ attemptTimeoutMs: 500, timeoutMs: 1100 }).tokens.delete(['a']));
      assert.ok(error instanceof TimeoutError && error.idempotencyKey !== undefined);
      assert.deepEqual(keys(), [error.idempotencyKey, error.idempotencyKey]);
    });

    test('succeeds in an attempt that has less time than attemptTimeoutMs', async () => {
      replies = [refuse(503), succeed];
      assert.deepEqual(await newTimedClient({ timeoutMs: 20_000.5 }).tokens.delete(['a']), { tokens: [] });
      assert.equal(new Set(keys()).size, 1);
      assert.equal(received.length, 2);
    });

    test('is sent once when timeoutMs is less than attemptTimeoutMs and no response comes', async () => {
      replies = [() => undefined];
      const error = await errorOf(newTimedClient({}).tokens.delete(['a'], { timeoutMs: 500.25 }));
      assert.ok(error instanceof TimeoutError && error.idempotencyKey !== undefined);
      assert.deepEqual(keys(), [error.idempotencyKey]);
    });

    test('has its time when its limits are longer than a timer can be', async () => {
      replies = [(response) => void setTimeout(() => response.writeHead(200).end(SUCCESS), 100)];
      const longest = { timeoutMs: Number.MAX_SAFE_INTEGER, attemptTimeoutMs: 2 ** 31 };
      assert.deepEqual(await newTimedClient(longest).tokens.delete(['a']), { tokens: [] });
    });
  });

  test('has its key in the error when a repeat cannot be sent', async (context) => {
    replies = [
      (_, request) => {
        context.mock.method(AbortSignal, 'timeout', () => {
          throw new RangeError('no timer');
        });
        request.socket.destroy();
      },
    ];
    const error = await errorOf(newClient().tokens.delete(['a']));
    assert.ok(error instanceof ConnectionError && error.cause instanceof RangeError);
    assert.deepEqual(keys(), [error.idempotencyKey]);
  });

  describe('ends', () => {
    for (const [maxRetries, requests] of [
      [0, 1],
      [2, 3],
      [undefined, 5],
    ] as const)
      test(`after ${requests} attempts with ${maxRetries ?? 'the default'} as maxRetries, with the last error`, async () => {
        replies = [lose, refuse(409)];
        const error = await errorOf(newClient({ maxRetries }).tokens.delete(['a']));
        assert.equal(received.length, requests);
        const last = maxRetries === 0 ? ConnectionError : ConflictError;
        assert.ok(error instanceof last);
        // The lost attempt may have had its effect: the caller finds out with the key of the call.
        assert.equal(error.idempotencyKey, keys()[0]);
      });

    test('when the next wait would reach timeoutMs', async () => {
      replies = [refuse(503, { 'retry-after': '100' })];
      // The third wait would end at 300 seconds.
      await errorOf(newClient({ timeoutMs: 300_000 }).account());
      assert.deepEqual(waits, [100_000, 100_000]);
      assert.equal(received.length, 3);
    });

    test('by the timeoutMs of the call, which goes before that of the client', async () => {
      replies = [refuse(503, { 'retry-after': '100' })];
      await errorOf(newClient({ timeoutMs: 300_000 }).account({ timeoutMs: 150_000 }));
      assert.deepEqual(waits.splice(0), [100_000]);
      await errorOf(newClient({ timeoutMs: 150_000 }).account({ timeoutMs: 350_000 }));
      assert.deepEqual(waits, [100_000, 100_000, 100_000]);
    });

    test('after a minute when nothing else is set', async () => {
      replies = [refuse(429, { 'retry-after': '25' })];
      const error = await errorOf(newClient().account());
      assert.ok(error instanceof RateLimitError);
      assert.equal(received.length, 3);
    });

    test('at once when Retry-After is beyond timeoutMs', async () => {
      replies = [refuse(429, { 'retry-after': '60' })];
      const error = await errorOf(newClient().account());
      assert.ok(error instanceof RateLimitError && error.retryAfter === 60);
      assert.deepEqual([received.length, waits], [1, []]);
    });

    test('with a TimeoutError when no attempt got its response within attemptTimeoutMs', async () => {
      replies = [() => undefined];
      const error = await errorOf(newClient({ attemptTimeoutMs: 200, maxRetries: 1 }).tokens.delete(['a']));
      assert.ok(error instanceof TimeoutError && error instanceof ConnectionError);
      assert.deepEqual([error.name, received.length], ['TimeoutError', 2]);
      assert.deepEqual(keys(), [error.idempotencyKey, error.idempotencyKey]);
    });

    test('with a TimeoutError when a response is not complete within timeoutMs', async () => {
      replies = [(response) => void response.writeHead(200).write('{')];
      const error = await errorOf(newClient({ timeoutMs: 200, maxRetries: 0 }).account());
      assert.ok(error instanceof TimeoutError && error.idempotencyKey === undefined);
    });

    test('when its signal is aborted during an attempt', async () => {
      const controller = new AbortController();
      replies = [() => controller.abort(), succeed];
      const error = await errorOf(newClient().tokens.delete(['a'], { signal: controller.signal }));
      assert.ok(error instanceof ConnectionError && !(error instanceof TimeoutError));
      assert.deepEqual([received.length, waits], [1, []]);
      assert.equal(error.idempotencyKey, keys()[0]);
    });

    test('when its signal is aborted while it waits, with the error of the attempt before', async () => {
      const controller = new AbortController();
      replies = [refuse(503, { 'retry-after': '10' }), succeed];
      const wait: Timing['wait'] = (milliseconds, signal) => {
        const waiting = SYSTEM_TIMING.wait(milliseconds, signal);
        controller.abort();
        return waiting;
      };
      const client = new CardvaultClient(options, { ...SYSTEM_TIMING, wait });
      clients.push(client);
      const error = await errorOf(client.tokens.delete(['a'], { signal: controller.signal }));
      assert.ok(error instanceof ServiceError);
      assert.deepEqual(keys(), [error.idempotencyKey]);
    });
  });
});
