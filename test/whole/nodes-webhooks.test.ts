import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { LIMITS } from '../../src/kernel/limits.ts';
import { type Node, Nodes } from '../fixtures/nodes.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { order, PAYMENTS, REJECTED } from '../interface/payment-requests.ts';
import { onlyLong } from '../scope.ts';

const VARIABLES = { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8', CARDVAULT_RATE_LIMIT_CAPTURE: '0' };
const PAYMENTS_SENT = 20;
/** A claim ends this long after it began. */
const CONTINUES_WITHIN_MS = 32_000;

describe('webhooks and card sessions over two nodes', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let both: Node[];
  let server: Server;
  let url: string;
  /** The number of requests by id of the event. */
  const received = new Map<string, number>();
  /** Requests that get no response. */
  let isMute = false;

  before(async () => {
    server = createServer((request, response) => {
      const id = String(request.headers['webhook-id']);
      received.set(id, (received.get(id) ?? 0) + 1);
      request.resume();
      if (!isMute) response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    nodes = await Nodes.overShared();
    both = await Promise.all([nodes.start(VARIABLES), nodes.start(VARIABLES)]);
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await nodes.end();
  });

  const create = async (key: string, node = both[0]): Promise<void> => {
    const made = await node?.call('POST', '/v1/webhooks', { key, body: { url, events: ['payment.declined'] } });
    assert.equal(made?.status, 200, made?.text);
    // Nodes cache the endpoints of a tenant for two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2100));
  };
  const decline = (node: Node | undefined, key: string) =>
    node?.call('POST', PAYMENTS, { key, body: order('authorization', { amount: REJECTED }) });

  test('each event is sent by one of them', async () => {
    const { key } = await nodes.newCaller();
    await create(key);
    received.clear();
    await Promise.all(Array.from({ length: PAYMENTS_SENT }, (_, index) => decline(both[index % 2], key)));
    await untilPasses(async () => assert.equal(received.size, PAYMENTS_SENT));
    // Time for a second delivery, which must not come.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.deepEqual([...new Set(received.values())], [1]);
  });

  test('of one account are ten at most, also when both create them at once', async () => {
    const { key } = await nodes.newCaller();
    const body = { url, events: ['payment.declined'] };
    const requests = Array.from({ length: 3 * LIMITS.webhookEndpoints }, (_, index) =>
      both[index % 2]?.call('POST', '/v1/webhooks', { key, body }),
    );
    const statuses = (await Promise.all(requests)).map((response) => response?.status).sort();
    const created = statuses.filter((status) => status === 200).length;
    assert.deepEqual([created, new Set(statuses)], [LIMITS.webhookEndpoints, new Set([200, 400])]);
    const listed = await both[0]?.call('GET', '/v1/webhooks', { key });
    assert.equal(listed?.json.data.webhooks.length, LIMITS.webhookEndpoints);
  });

  test('of cards that come to both at once a session takes one', async () => {
    const { key } = await nodes.newCaller();
    const body = {
      allowed_origins: ['https://shop.example.com'],
      result: 'token',
      scheme: 7,
      fields: { name: 'hidden' },
    };
    for (let round = 0; round < 5; round++) {
      const { json } = (await both[0]?.call('POST', '/v1/capture-sessions', { key, body })) ?? assert.fail();
      const { id, client_secret: secret } = json.data;
      const submissions = both.flatMap((node) =>
        Array.from({ length: 4 }, () => submit(node, id, secret, { number: luhnPan('411111'), exp: '12/40' })),
      );
      const statuses = (await Promise.all(submissions)).sort();
      assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 410)]);
    }
  });

  test('another node continues what one that was killed had in progress', { skip: onlyLong }, async () => {
    const { key } = await nodes.newCaller();
    const doomed = await nodes.startProcess(VARIABLES);
    await create(key, doomed);
    received.clear();
    isMute = true;
    await decline(doomed, key);
    await untilPasses(async () => assert.equal(received.size, 1));
    await doomed.kill();
    isMute = false;
    await untilPasses(async () => assert.deepEqual([...received.values()], [2]), CONTINUES_WITHIN_MS);
  });
});

/** Returns the status. */
async function submit(node: Node, id: string, secret: string, card: object): Promise<number> {
  const origin = `https://localhost:${node.ports.cards}`;
  const { request } = await import('node:https');
  const body = JSON.stringify({ ...card, attempt: randomUUID() });
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${origin}/v1/card/${id}`,
      {
        method: 'POST',
        ca: node.authority,
        headers: { origin, authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
