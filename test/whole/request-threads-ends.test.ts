import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { loadOrCreateLocalIdentity, readCaCertificate, tlsOptions } from '../../src/http/tls.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import type { ThreadOrder } from '../../src/worker.ts';
import { isPostgres } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { logOf } from '../fixtures/nodes.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { newDirectory, removeDirectory, startProcess } from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { startThreadedService } from '../fixtures/threaded-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { cards, newCaller, TOKENIZE, VISA } from '../interface/vault-requests.ts';
import { inScope, onlyLong } from '../scope.ts';

/** Each takes half a second of a core to start. */
const THREADS = inScope({ usual: 2, long: 3 });
const EVERYWHERE_MS = 5000;

/** The error of a handshake with this authority; undefined when it succeeds. */
const dial = (port: number, ca: string | undefined): Promise<Error | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', servername: 'localhost', port, ca });
    const finish = (error?: Error): void => {
      socket.destroy();
      resolve(error);
    };
    socket.on('error', finish);
    socket.on('secureConnect', () => finish());
  });

describe('a request thread', { timeout: 120_000 }, () => {
  test('that hangs delays neither the others nor a scrape nor a stop for long', async () => {
    const service = await startThreadedService(THREADS, { CARDVAULT_DRAIN_SECONDS: '0' });
    const hasLogged = (message: string): boolean => service.log.some((line) => line.includes(`"msg":"${message}"`));
    try {
      const { key } = await newCaller(service);
      const [hanging, ...others] = await service.connectToEach();
      assert.ok(hanging !== undefined);
      service.hang(hanging.thread);
      for (const { call } of others)
        assert.equal((await call('POST', TOKENIZE, { key, body: cards([VISA]) })).status, 200);
      const { status, text } = await service.call('GET', '/metrics', { environment: 'console' });
      assert.equal(status, 200);
      const name = 'cardvault_http_request_duration_seconds_count';
      const counted = new RegExp(`^${name}\\{.*route="${TOKENIZE}".* ${others.length}$`, 'm');
      // A scrape may have a thread report before the last request is counted.
      if (!counted.test(text))
        await eventually(async () =>
          counted.test((await service.call('GET', '/metrics', { environment: 'console' })).text),
        );
      assert.equal(hasLogged('request thread did not stop'), false);
    } finally {
      await service.stop();
    }
    assert.ok(hasLogged('request thread did not stop'));
    assert.ok(hasLogged('stopped'));
  });

  test('that hangs for half a minute is replaced', { skip: onlyLong }, async (t) => {
    const service = await startThreadedService(2);
    t.after(() => service.stop());
    const hasLogged = (message: string): boolean => service.log.some((line) => line.includes(`"msg":"${message}"`));
    const [hanging] = await service.connectToEach();
    assert.ok(hanging !== undefined);
    service.hang(hanging.thread);
    await eventually(async () => hasLogged('request thread replaced'), MINUTE);
    assert.ok(hasLogged('request thread hangs'));
    const clients = await service.connectToEach();
    assert.equal(clients.length, 2);
    assert.ok(clients.every(({ thread }) => thread !== hanging.thread));
  });

  test('uses a renewed certificate, applies changed settings in 5 seconds, and completes its log without a card', async (t) => {
    const service = await startThreadedService(THREADS);
    const folder = newDirectory();
    let isStopped = false;
    t.after(async () => {
      removeDirectory(folder);
      if (!isStopped) await service.stop();
    });
    const merchant = await newCaller(service);
    const clients = await service.connectToEach();

    await service.enablePayments(merchant.account, { 'timeout-ms': '20000' });
    const pay = async (): Promise<number[]> => {
      const call = { key: merchant.key, body: order() };
      return (await Promise.all(clients.map((client) => client.call('POST', PAYMENTS, call)))).map(
        ({ status }) => status,
      );
    };
    assert.deepEqual(new Set(await pay()), new Set([200]));
    const { activations, transactions } = service.core;
    const origin = { actor: { type: 'operator' as const, name: 'test' } };
    const tenant = { account: merchant.account, environment: 'sandbox' } as const;
    await transactions.run({ origin }, (transaction) => activations.disable(transaction, tenant));
    await eventually(async () => (await pay()).every((status) => status === 403), EVERYWHERE_MS);

    const identity = await loadOrCreateLocalIdentity(folder, () => Date.now());
    const tls = { ...tlsOptions(identity, 'TLSv1.3'), ticketKeys: new Uint8Array(48).fill(7) };
    for (const { thread } of clients) thread.postMessage({ kind: 'certificate', tls } satisfies ThreadOrder);
    // Threads obey orders one after the other, and this is the next one.
    await service.call('GET', '/metrics', { environment: 'console' });
    // So many connections meet every thread.
    const dials = Array.from({ length: 24 }, () => dial(service.ports.sandbox, readCaCertificate(folder)));
    assert.deepEqual(new Set(await Promise.all(dials)), new Set([undefined]));
    assert.notEqual(await dial(service.ports.sandbox, service.authority), undefined);

    const pans = Array.from({ length: 10 }, () => luhnPan('455667'));
    for (const { call } of clients)
      for (const pan of pans) {
        const { status } = await call('POST', TOKENIZE, { key: merchant.key, body: cards([pan]) });
        assert.equal(status, 200);
      }
    await service.stop();
    isStopped = true;
    const log = service.log.join('');
    const lines = log.split('\n').filter((line) => line.includes(`"route":"${TOKENIZE}"`));
    assert.equal(lines.length, THREADS * pans.length);
    for (const secret of [...pans, merchant.key]) assert.ok(!log.includes(secret));
  });

  test('serves over PostgreSQL beside another one', { skip: onlyLong }, async (t) => {
    const databases = await sharedPostgres();
    const address = await databases.newDatabase();
    const service = await startThreadedService(2, { CARDVAULT_DATABASE_URL: address });
    t.after(async () => {
      await service.stop();
      await databases.dropDatabase(address);
    });
    const { key } = await newCaller(service);
    const clients = await service.connectToEach();
    assert.equal(clients.length, 2);
    const body = cards([luhnPan('455667')], { type: 'persistent' });
    const keyed = { key, body, headers: { 'idempotency-key': 'once' } };
    const responses = await Promise.all(clients.map(({ call }) => call('POST', TOKENIZE, keyed)));
    const [first, ...more] = responses.filter(({ status, replayed }) => status === 200 && !replayed);
    assert.ok(first !== undefined && more.length === 0, JSON.stringify(responses));
    for (const { call } of clients) {
      const again = await call('POST', TOKENIZE, { key, body });
      assert.equal(again.json.data.tokens[0].token, first.json.data.tokens[0].token);
    }
  });

  const skip = isPostgres && 'the first start makes its key over SQLite only';
  test('of a process that gets SIGTERM under load writes what it acknowledged, and the process ends with 0', {
    skip,
  }, async (t) => {
    const directory = newDirectory();
    t.after(() => removeDirectory(directory));
    const variables = { CARDVAULT_WORKERS: String(THREADS), CARDVAULT_LOG_LEVEL: 'info' };
    const serving = await startProcess(directory, variables);
    const log = logOf(serving);
    const { demoKey: key = '' } = serving;
    const acknowledged: string[] = [];
    let isStopping = false;
    const clients = Array.from({ length: 24 }, async () => {
      try {
        for (;;) {
          const { status, json } = await serving.call('POST', TOKENIZE, { key, body: cards([VISA]) });
          assert.equal(status, 200);
          acknowledged.push(json.data.tokens[0].token);
        }
      } catch (error) {
        if (!isStopping) throw error;
      }
    });
    await eventually(async () => acknowledged.length > 100);
    isStopping = true;
    const closed = once(serving.child, 'close');
    serving.child.kill('SIGTERM');
    await Promise.all(clients);
    // Until the very end, another signal changes nothing.
    const signals = setInterval(() => serving.child.kill('SIGTERM'), 1);
    t.after(() => clearInterval(signals));
    assert.deepEqual(await closed, [0, null]);
    const served = log.text.split('\n').filter((line) => line.includes(`"route":"${TOKENIZE}"`)).length;
    assert.ok(served >= acknowledged.length, `${served} lines of ${acknowledged.length} requests`);
    assert.match(log.text, /"msg":"stopped"/);
    assert.doesNotMatch(log.text, /did not stop|4111111111111111/);

    const again = await startProcess(directory, variables);
    try {
      for (const token of acknowledged.slice(-50)) {
        const { status } = await again.call('GET', `/v1/tokens/${token}/inspect`, { key });
        assert.equal(status, 200);
      }
    } finally {
      assert.equal(await again.stop(), 0);
    }
  });
});
