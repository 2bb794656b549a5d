import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as dialPlainly } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { RequestLogQuery } from '../../src/accounts/request-log-query.ts';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { write } from '../../src/storage/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { luhnPan, type TestResponse } from '../fixtures/test-service.ts';
import { startThreadedService, type ThreadClient, type ThreadedService } from '../fixtures/threaded-service.ts';
import { dial, requestText } from '../fixtures/wire.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES, capture, cards, TOKENIZE } from '../interface/vault-requests.ts';
import { inScope } from '../scope.ts';

/** Each takes half a second of a core to start. */
const THREADS = inScope({ usual: 2, long: 3 });
const ROUNDS = inScope({ usual: 5, long: 50 });
/** The time within which a change applies in every thread. */
const EVERYWHERE_MS = 5 * SECOND;
const RATE = 100;

const countOf = (text: string, metric: string, labels: RegExp): number => {
  const lines = text.split('\n').filter((line) => line.startsWith(`${metric}{`) && labels.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

describe(`${THREADS} request threads`, { timeout: 240_000 }, () => {
  let service: ThreadedService;
  let clients: ThreadClient[];
  let account: string;
  before(async () => {
    service = await startThreadedService(THREADS, { CARDVAULT_RATE_LIMIT_PER_KEY: String(RATE) });
    account = await service.newAccount();
    clients = await service.connectToEach();
  });
  after(() => service.stop());

  const newKey = async (): Promise<{ id: string; secret: string }> => service.newKey(account);
  const toAll = (method: string, path: string, key: string, more: object = {}): Promise<TestResponse[]> =>
    Promise.all(clients.map((client) => client.call(method, path, { key, ...more })));
  const count = async (table: string, of: string): Promise<number> =>
    Number(
      (await service.core.database.read(`select count(*) as rows from ${table} where account = ?account`, of))[0]?.[
        'rows'
      ],
    );
  const metrics = async (): Promise<string> => (await service.call('GET', '/metrics', { environment: 'console' })).text;

  /** Sends each request to all threads at once, and again; each response is the first one, or 409. */
  async function sendToAllTwice(path: string, key: string, body: () => unknown): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const more = { body: body(), headers: { 'idempotency-key': `once-${round}` } };
      const responses = await toAll('POST', path, key, more);
      const served = responses.filter(({ status }) => status === 200);
      assert.equal(served.filter(({ replayed }) => !replayed).length, 1, JSON.stringify(responses));
      assert.ok(responses.every(({ status }) => status === 200 || status === 409));
      for (const again of await toAll('POST', path, key, more)) {
        assert.deepEqual([again.status, again.replayed], [200, true], again.text);
        assert.equal(again.text, served[0]?.text);
      }
    }
  }

  test('serve the ports together, and each resumes the TLS sessions of the others', async () => {
    assert.equal(new Set(clients.map(({ thread }) => thread)).size, THREADS);
    const dial = async (session?: Buffer): Promise<TLSSocket> => {
      const options = {
        host: '127.0.0.1',
        servername: 'localhost',
        port: service.ports.sandbox,
        ca: service.authority,
      };
      const socket = connect({ ...options, ...(session && { session }) });
      await once(socket, 'secureConnect');
      return socket;
    };
    const first = await dial();
    const [session] = (await once(first, 'session')) as [Buffer];
    first.destroy();
    for (let connection = 0; connection < 4 * THREADS; connection++) {
      const next = await dial(session);
      assert.equal(next.isSessionReused(), true);
      next.destroy();
    }
  });

  test('write to one request log', async () => {
    const { id, secret } = await newKey();
    const ids = clients.map((_, number) => `recorded-${number}`);
    await Promise.all(
      clients.map((client, number) =>
        client.call('GET', '/v1/tokens/unknown/inspect', {
          key: secret,
          headers: { 'x-request-id': ids[number] ?? '' },
        }),
      ),
    );
    const query = new RequestLogQuery(service.core);
    const list = async (): Promise<string[]> =>
      (await query.list({ account, environment: 'sandbox' }, { key: id })).items.map(({ requestId }) => requestId);
    await eventually(async () => (await list()).length === THREADS);
    assert.deepEqual((await list()).sort(), ids);
  });

  test('do not share their ports with another service of the same user', async () => {
    const variables = { CARDVAULT_SANDBOX_PORT: String(service.ports.sandbox), CARDVAULT_HOST: '127.0.0.1' };
    await assert.rejects(startThreadedService(2, variables), /cannot listen on 127\.0\.0\.1 port .*EADDRINUSE/);
  });

  test('carry out one Idempotency-Key once', async () => {
    const own = await service.newAccount();
    const { secret } = await service.newKey(own);
    await sendToAllTwice(CAPTURES, secret, capture);
    assert.equal(await count('captures', own), ROUNDS);
  });

  test('charge one payment once', async () => {
    const own = await service.newAccount();
    const { secret } = await service.newKey(own);
    await service.enablePayments(own, { 'timeout-ms': '20000' });
    await sendToAllTwice(PAYMENTS, secret, () => order('payment', { amount: 10 }));
    assert.equal(await count('payments', own), ROUNDS);
    assert.equal(await count('simulator_payments', own), ROUNDS);
  });

  test('give one card one persistent token', async () => {
    const { secret } = await newKey();
    for (let round = 0; round < ROUNDS; round++) {
      const body = cards([luhnPan('411111')], { type: 'persistent' });
      const responses = await toAll('POST', TOKENIZE, secret, { body });
      assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]), JSON.stringify(responses));
      assert.equal(new Set(responses.map(({ json }) => json.data.tokens[0].token)).size, 1);
    }
  });

  test('read the security codes that the others have sealed', async () => {
    const { secret } = await newKey();
    const created = await toAll('POST', CAPTURES, secret, { body: capture() });
    for (const { json } of created)
      for (const { json: found } of await toAll('GET', `${CAPTURES}/${json.data.id}`, secret))
        assert.equal(found.data.cvv, '123', JSON.stringify(found));
  });

  test('cannot read a security code whose key another thread has destroyed', async () => {
    const { secret } = await newKey();
    // No other capture of this test expires in the same hour.
    const created = await clients[0]?.call('POST', CAPTURES, { key: secret, body: capture({ ttl: 5 * 24 * 60 }) });
    const id: string = created?.json.data.id;
    const codes = async (): Promise<unknown[]> =>
      (await toAll('GET', `${CAPTURES}/${id}`, secret)).map(({ status, json, text }) => {
        assert.equal(status, 200, text);
        return json.data.cvv ?? 'none';
      });
    assert.deepEqual(new Set(await codes()), new Set(['123']));
    const { database, sadKeys, time } = service.core;
    const [row = {}] = await database.read('select * from captures where id = ?', id);
    await clients[0]?.call('DELETE', `${CAPTURES}/${id}`, { key: secret });
    // The sweep of a service does this after the grace period of half a minute.
    const unused = async (): Promise<ReadonlySet<string>> => {
      const rows = await database.read('select distinct sad_key from captures where sad_key is not null');
      return new Set(rows.map((each) => String(each['sad_key'])));
    };
    await sadKeys.destroyUnused(time.steadyNow(), unused);
    assert.ok((await sadKeys.destroyUnused(time.steadyNow() + MINUTE, unused)) > 0);
    const columns = Object.keys(row);
    const values = columns.map((column) => (['account', 'environment'].includes(column) ? `?${column}` : '?'));
    const sql = `insert into captures (${columns.join()}) values (${values.join()})`;
    assert.deepEqual(await database.commit({ writes: [write(sql, Object.values(row), 1)] }), { committed: true });
    await eventually(async () => (await codes()).every((code) => code === 'none'), 2 * EVERYWHERE_MS);
  });

  test('reject a key within 5 seconds of its revocation', async () => {
    const { id, secret } = await newKey();
    const states = async (): Promise<number[]> =>
      (await toAll('GET', '/v1/account', secret)).map(({ status }) => status);
    assert.deepEqual(new Set(await states()), new Set([200]));
    const { accounts, transactions } = service.core;
    const origin = { actor: { type: 'operator' as const, name: 'test' } };
    await transactions.run({ origin }, (transaction) => accounts.revokeKey(transaction, id));
    await eventually(async () => (await states()).every((status) => status === 403), EVERYWHERE_MS);
  });

  test('count one rate limit', async () => {
    const { secret } = await newKey();
    const startedAt = performance.now();
    const each = 2 * RATE;
    const responses = await Promise.all(
      clients.flatMap(({ call }) => Array.from({ length: each }, () => call('GET', '/v1/account', { key: secret }))),
    );
    const refilled = ((performance.now() - startedAt) / SECOND) * RATE;
    const served = responses.filter(({ status }) => status === 200).length;
    assert.ok(served >= 2 * RATE && served <= 2 * RATE + Math.ceil(refilled), `${served} served, ${refilled} refilled`);
    assert.ok(responses.every(({ status }) => status === 200 || status === 429));
  });

  test('add up their metrics', async () => {
    const { secret } = await newKey();
    const name = 'cardvault_http_request_duration_seconds_count';
    const labels = /listener="sandbox".*route="\/v1\/tokens\/:token\/inspect"/;
    const earlier = countOf(await metrics(), name, labels);
    for (let round = 0; round < 4; round++) await toAll('GET', '/v1/tokens/unknown/inspect', secret);
    const text = await metrics();
    assert.equal(countOf(text, name, labels), earlier + 4 * THREADS);
    for (const thread of ['main', ...clients.map((_, index) => index + 1)])
      assert.match(text, new RegExp(`^cardvault_nodejs_eventloop_lag_p99_seconds\\{thread="${thread}"\\} `, 'm'));
    assert.equal(text.match(/^cardvault_process_resident_memory_bytes /gm)?.length, 1);
    assert.match(text, /^cardvault_ready 1$/m);
  });

  test('count the connections that they close because too many requests wait on them', async () => {
    const closed = async (): Promise<number> =>
      countOf(await metrics(), 'cardvault_pipelined_connections_closed_total', /listener="sandbox"/);
    const earlier = await closed();
    for (let count = 0; count < THREADS; count++) {
      const socket = await dial(service);
      socket.on('error', () => undefined);
      const end = new Promise((resolve) => socket.once('close', resolve));
      socket.resume().write(requestText('GET /readyz', { connection: 'keep-alive' }).repeat(2000));
      await end;
    }
    assert.equal(await closed(), earlier + THREADS);
  });

  test('store usage and the last use of keys, each what it has counted', async () => {
    const own = await service.newAccount();
    const { id, secret } = await service.newKey(own);
    await toAll('GET', '/v1/account', secret);
    const read = async (sql: string): Promise<number> =>
      Number((await service.core.database.read(sql, own))[0]?.['number']);
    await eventually(async () => {
      const sql = `select sum(number) as number from statistics where account = ?account and name like '%.ok'`;
      return (await read(sql)) === THREADS;
    });
    const used = await service.core.database.read('select last_used_at from api_keys where id = ?', id);
    assert.ok(Number(used[0]?.['last_used_at']) > 0);
  });

  test('show that they do not hang', async () => {
    for (const { thread } of clients) await eventually(async () => service.beatsOf(thread) > 1);
  });

  test('are replaced when they end, while the others serve and no record is lost', async () => {
    const own = await service.newAccount();
    const { secret } = await service.newKey(own);
    const [doomed, ...others] = clients as [ThreadClient, ...ThreadClient[]];
    const name = 'cardvault_http_request_duration_seconds_count';
    const labels = /listener="sandbox"/;
    const earlier = countOf(await metrics(), name, labels);
    const tokenize = ({ call }: ThreadClient): Promise<TestResponse> =>
      call('POST', TOKENIZE, { key: secret, body: cards([luhnPan('411111'), luhnPan('520082')]) });
    const ending = Array.from({ length: 8 }, () => tokenize(doomed).catch(() => undefined));
    // One of its requests is complete, and others are in progress.
    await Promise.race(ending);
    const serving = others.flatMap((client) => Array.from({ length: 8 }, () => tokenize(client)));
    await doomed.thread.terminate();
    const acknowledged = [...(await Promise.all(serving)), ...(await Promise.all(ending))];
    for (const response of acknowledged.slice(0, serving.length)) assert.equal(response?.status, 200, response?.text);

    await eventually(async () => service.log.some((line) => line.includes('request thread replaced')));
    assert.ok(service.log.some((line) => line.includes('"msg":"request thread ended"')));
    clients = await service.connectToEach();
    assert.equal(clients.length, THREADS);
    for (const response of acknowledged)
      for (const { token } of response?.json?.data.tokens ?? []) {
        const found = await service.call('GET', `/v1/tokens/${token}/inspect`, { key: secret });
        assert.equal(found.status, 200, 'an acknowledged token is lost');
      }
    assert.ok(countOf(await metrics(), name, labels) >= earlier, 'the counts of the ended thread are lost');
    const verified = await verifyJournal(service.core.database, service.core.journalKey);
    assert.equal(verified.ok, true, verified.fault);
  });
});

/** Begins a request for the readiness on a connection of its own, up to the last line of its head. */
async function beginReadiness({ ports, authority }: ThreadedService) {
  const socket = connect({ host: '127.0.0.1', servername: 'localhost', port: ports.sandbox, ca: authority });
  await once(socket, 'secureConnect');
  // The response to the first request shows that the thread has read the beginning of the second, which arrived with it.
  socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nhost: localhost\r\n');
  await once(socket, 'data');
  const response = async (): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  return { socket, response };
}

const canConnect = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dialPlainly({ host: '127.0.0.1', port });
    const finish = (isConnected: boolean): void => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });

describe('a stop', { timeout: 60_000 }, () => {
  test('completes the requests in progress of all threads', async () => {
    const service = await startThreadedService(THREADS, { CARDVAULT_DRAIN_SECONDS: '30' });
    const key = (await service.newKey(await service.newAccount())).secret;
    const clients = await service.connectToEach();
    const body = JSON.stringify(cards([luhnPan('411111')]));
    const begin = async ({ agent }: ThreadClient): Promise<ClientRequest> => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json', expect: '100-continue' };
      const length = { 'content-length': String(body.length) };
      const target = { host: '127.0.0.1', servername: 'localhost', port: service.ports.sandbox, path: TOKENIZE };
      const options = { ...target, method: 'POST', ca: service.authority, agent, headers: { ...headers, ...length } };
      const outgoing = request(options);
      outgoing.flushHeaders();
      await once(outgoing, 'continue');
      return outgoing;
    };
    const requests = await Promise.all(clients.map(begin));
    const responses = requests.map(async (outgoing) => ((await once(outgoing, 'response')) as [IncomingMessage])[0]);
    // So many connections meet every thread.
    const unfinished = await Promise.all(Array.from({ length: 8 * THREADS }, () => beginReadiness(service)));
    let isStopped = false;
    const stopped = service.stop().then(() => {
      isStopped = true;
    });
    await eventually(() =>
      service.call('GET', '/healthz', { environment: 'console' }).then(
        () => false,
        () => true,
      ),
    );
    assert.equal(isStopped, false, 'the stop waits for the requests');
    await eventually(async () => !(await canConnect(service.ports.sandbox)));
    for (const { socket, response } of unfinished) {
      socket.write('\r\n');
      assert.match(await response(), /^HTTP\/1\.1 503 .*\r\nconnection: close\r\n.*\{"status":"unavailable"\}$/is);
    }
    for (const outgoing of requests) outgoing.end(body);
    for (const incoming of await Promise.all(responses)) {
      assert.equal(incoming.statusCode, 200);
      assert.equal(incoming.headers.connection, 'close');
      incoming.resume();
      await once(incoming, 'end');
    }
    await stopped;
    assert.ok(service.log.some((line) => line.includes('"msg":"stopped"')));
  });
});
