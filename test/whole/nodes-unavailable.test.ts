import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { logOf, NODE_THREADS, Nodes, withDeadline } from '../fixtures/nodes.ts';
import { type Postgres, startPostgres } from '../fixtures/postgres.ts';
import type { ServiceProcess } from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { cards, TOKENIZE } from '../interface/vault-requests.ts';
import { inScope } from '../scope.ts';

/** The time within which a client has a response, also to a request whose outcome is unknown. */
const BOUNDED_MS = 15_000;
const AWAY_MS = inScope({ usual: 3000, long: 6000 });
/** The pause of a client between two requests. */
const THINKING_MS = 60;
const ENOUGH_TOKENS = 50;
const RECOVERED_MS = 5000;
const AGENT = new Agent({ keepAlive: true, maxSockets: 32 });

interface Heard {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  readonly json: any;
  readonly took: number;
}

/** With headers, and with how long it took. */
function send(
  { ports, authority }: ServiceProcess,
  path: string,
  key = '',
  body?: unknown,
  port = ports.sandbox,
): Promise<Heard> {
  const started = performance.now();
  const headers = { 'x-api-key': key, 'ft-access-key': key, 'content-type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const where = { host: '127.0.0.1', servername: 'localhost', port, ca: authority, agent: AGENT } as const;
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...where, method, path, headers }, async (incoming) => {
      let text = '';
      for await (const chunk of incoming) text += String(chunk);
      const { statusCode: status = 0, headers } = incoming;
      resolve({ status, headers, json: JSON.parse(text), took: performance.now() - started });
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('a database that becomes unavailable and returns', { timeout: 240_000 }, () => {
  let postgres: Postgres;
  let nodes: Nodes;
  /** All output of the nodes. */
  let output = '';
  before(async () => {
    postgres = await startPostgres({ isCareless: true });
    nodes = new Nodes(await postgres.newDatabase());
  });
  after(async () => {
    AGENT.destroy();
    await nodes.end();
    await postgres.stop();
  });

  const waitForText = (log: { text: string }, expected: string) =>
    withDeadline(
      20_000,
      async () => log.text,
      (text) => text.includes(expected),
    );

  test('two nodes respond 503 in the meantime, recover automatically, and lose nothing', async () => {
    const both = await Promise.all([nodes.startProcess(), nodes.startProcess()]);
    const logs = both.map(logOf);
    const { key } = await nodes.newCaller();
    const tokens: string[] = [];
    const load = { goesOn: true };
    const kinds = new Set<number>();
    const sender = async (node: ServiceProcess): Promise<void> => {
      while (load.goesOn) {
        const { status, json, took } = await send(node, TOKENIZE, key, cards([luhnPan('411111')]));
        kinds.add(status);
        assert.ok(took < BOUNDED_MS, `${took} ms`);
        if (status === 200) tokens.push(json.data.tokens[0].token);
        await pause(THINKING_MS);
      }
    };
    const senders = Promise.all(both.flatMap((node) => Array.from({ length: 2 }, () => sender(node))));
    await withDeadline(
      10_000,
      async () => tokens.length,
      (length) => length > ENOUGH_TOKENS,
    );
    const killed = performance.now();
    await postgres.kill();

    for (const node of both) {
      assert.equal((await send(node, '/readyz')).status, 503);
      assert.equal((await send(node, '/healthz')).status, 200);
      const responses = await Promise.all([
        send(node, TOKENIZE, key, cards([luhnPan('411111')])),
        send(node, PAYMENTS, key, order()),
        send(node, '/proxy/hash?type=SHA256', key, { number: `{{${tokens[0]}:detokenize}}` }),
        send(node, '/v1/account', key),
      ]);
      for (const { status, headers, took } of responses) {
        assert.equal(status, 503);
        assert.match(headers['retry-after'] ?? '', /^[0-9]+$/);
        assert.ok(took < BOUNDED_MS, `${took} ms`);
      }
      const [vault, payments, proxy] = responses.map(({ json }) => Object.keys(json).sort());
      assert.deepEqual(vault, ['data', 'desc', 'status', 'status_code']);
      assert.deepEqual(proxy, ['data', 'description', 'status', 'status_code']);
      assert.ok(payments?.includes('status'));
    }
    await pause(AWAY_MS);
    // Each thread reads it each second, and logs the first of consecutive failures and whenever their number has doubled.
    const most = NODE_THREADS * (Math.log2((performance.now() - killed) / 1000) + 2);
    for (const log of logs)
      assert.ok(countRuns(log, 'clock') > 0 && countRuns(log, 'clock') < most, `${most} ${log.text}`);
    await postgres.start();

    for (const node of both) {
      const write = () => send(node, TOKENIZE, key, cards([luhnPan('411111')]));
      await withDeadline(RECOVERED_MS, write, ({ status }) => status === 200);
      await withDeadline(
        RECOVERED_MS,
        () => send(node, '/readyz'),
        ({ status }) => status === 200,
      );
    }
    load.goesOn = false;
    await senders;
    assert.deepEqual(kinds, new Set([200, 503]));
    assert.ok(tokens.length > ENOUGH_TOKENS);
    const inspect = (token: string, index: number) =>
      send(both[index % 2] as ServiceProcess, `/v1/tokens/${token}/inspect`, key);
    const found = await Promise.all(tokens.map(inspect));
    assert.deepEqual(new Set(found.map(({ status }) => status)), new Set([200]), 'what was acknowledged is lost');
    for (const node of both) assert.equal(node.child.exitCode, null);
    assert.equal((await nodes.done(['audit', 'verify'])).ok, true);
    for (const log of logs) output += log.text;
    for (const node of both) assert.equal(await node.stop(), 0);
  });

  test('a start waits for it with a log line; a command reports it and exits', async () => {
    await postgres.kill();
    const { child, output: log } = nodes.begin();
    const stopped = nodes.begin();
    await waitForText(log, 'database unavailable, retrying');
    await waitForText(stopped.output, 'database unavailable, retrying');
    stopped.child.kill('SIGTERM');
    assert.deepEqual(await once(stopped.child, 'exit'), [0, null]);

    for (const args of [['key', 'list', '--account', 'acct_x'], ['audit', 'verify', '--json'], ['migrate']]) {
      const { code, out, err } = await nodes.runHere(args);
      assert.equal(code, 1, err);
      assert.equal(out, '');
      assert.match(err, new RegExp(`the database cannot be reached: 127\\.0\\.0\\.1:${postgres.port}: ECONNREFUSED`));
      output += err;
    }
    assert.equal(child.exitCode, null);
    await postgres.start();
    await waitForText(log, 'Stop with Ctrl-C');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    output += log.text + stopped.output.text;
  });

  test('no output contains the password, whether it is valid or not', async () => {
    const password = /:([0-9a-f]{32})@/.exec(nodes.address)?.[1] ?? '';
    const wrong = `${password.startsWith('a') ? 'b' : 'a'}${password.slice(1)}`;
    const address = nodes.address.replace(password, wrong);
    const { code, err } = await nodes.runHere(['account', 'list'], { CARDVAULT_DATABASE_URL: address });
    assert.equal(code, 1);
    assert.match(err, /it refuses the password/);
    assert.ok(output.length > 1000 && password.length === 32);
    for (const each of [output, err]) for (const secret of [password, wrong]) assert.ok(!each.includes(secret));
  });
});

/** Counts the lines of one periodic task. */
const countRuns = ({ text }: { text: string }, task: string): number => text.split(`"task":"${task}"`).length - 1;
