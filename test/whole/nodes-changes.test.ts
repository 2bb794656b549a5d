import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Node, Nodes, withDeadline } from '../fixtures/nodes.ts';
import { newKeyPair, privatePem, publicPem } from '../fixtures/rsa-key-pairs.ts';
import type { ProcessResponse } from '../fixtures/service-process.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { cards, TOKENIZE, VISA } from '../interface/vault-requests.ts';

/** The time within which a change applies on every node. */
const EVERYWHERE_MS = 5000;

describe('a change by the command line applies to a node that cached the earlier value', {
  timeout: 240_000,
  concurrency: 3,
}, () => {
  let nodes: Nodes;
  let node: Node;
  before(async () => {
    nodes = await Nodes.overShared();
    node = await nodes.start();
  });
  after(() => nodes.end());

  const account = (key: string): Promise<ProcessResponse> => node.call('GET', '/v1/account', { key });
  const pay = (key: string): Promise<ProcessResponse> => node.call('POST', PAYMENTS, { key, body: order() });

  /** The node knows how it was, and then how it is now, in time. */
  async function holds(
    send: () => Promise<ProcessResponse>,
    change: () => Promise<unknown>,
    isSeen: (response: ProcessResponse) => boolean,
  ): Promise<ProcessResponse> {
    const known = await send();
    assert.equal(isSeen(known), false, known.text);
    // It has to know it at the moment of the change, which takes its time.
    let isChanged = false;
    const done = change().finally(() => {
      isChanged = true;
    });
    while (!isChanged) {
      await send();
      await pause(200);
    }
    await done;
    return (await withDeadline(EVERYWHERE_MS, send, isSeen)).found;
  }
  const isRefused = ({ status }: ProcessResponse): boolean => status === 403;
  const isTaken = ({ status }: ProcessResponse): boolean => status === 200;

  test('a key that is revoked, and one whose allow-list is changed', async () => {
    const [revoked, moved] = [await nodes.newCaller(), await nodes.newCaller()];
    await Promise.all([
      holds(
        () => account(revoked.key),
        () => nodes.done(['key', 'revoke', revoked.id]),
        isRefused,
      ),
      holds(
        () => account(moved.key),
        () => nodes.done(['key', 'edit', moved.id, '--ip', '192.0.2.1']),
        isRefused,
      ),
    ]);
  });

  test('permissions', async () => {
    const { id, key } = await nodes.newCaller();
    await holds(
      () => account(key),
      () => nodes.done(['key', 'edit', id, '--permission', 'tokens:create']),
      isRefused,
    );
    assert.equal((await node.call('POST', TOKENIZE, { key, body: cards([VISA]) })).status, 200);
  });

  test('a rotation: both keys work during the overlap; without an overlap the old key expires', async () => {
    const [unchanged, ended] = [await nodes.newCaller(), await nodes.newCaller()];
    let successor = '';
    const rotate = async (id: string, overlap: string): Promise<string> => {
      const { key } = await nodes.done(['key', 'rotate', id, '--overlap', overlap]);
      assert.equal((await account(key)).status, 200, 'the new key works at once');
      return key;
    };
    await Promise.all([
      holds(
        () => account(unchanged.key),
        async () => {
          successor = await rotate(unchanged.id, '10');
        },
        ({ json }) => json.data.key.expires_at !== null,
      ),
      holds(
        () => account(ended.key),
        () => rotate(ended.id, '0'),
        isRefused,
      ),
    ]);
    for (const key of [unchanged.key, successor]) assert.equal((await account(key)).status, 200);
  });

  test('an account that is suspended and resumed', async () => {
    const { account: id, key } = await nodes.newCaller();
    await holds(
      () => account(key),
      () => nodes.done(['account', 'suspend', id]),
      isRefused,
    );
    await holds(
      () => account(key),
      () => nodes.done(['account', 'resume', id]),
      isTaken,
    );
  });

  test('payments that are disabled and enabled', async () => {
    const { account: id, key } = await nodes.newCaller();
    const where = ['--account', id, '--environment', 'sandbox'];
    await holds(
      () => pay(key),
      () => nodes.done(['payments', 'disable', ...where]),
      isRefused,
    );
    await holds(
      () => pay(key),
      () => nodes.done(['payments', 'enable', ...where]),
      isTaken,
    );
  });

  test('keys of the proxy', async () => {
    const { account: id, key } = await nodes.newCaller();
    const pair = newKeyPair();
    const [open, closed] = [join(nodes.folder, 'public.pem'), join(nodes.folder, 'private.pem')];
    writeFileSync(open, publicPem(pair));
    writeFileSync(closed, privatePem(pair), { mode: 0o600 });
    const where = ['--account', id, '--environment', 'sandbox'];
    const configure = [
      'proxy',
      'configure',
      ...where,
      '--processor-public-key',
      open,
      '--merchant-private-key',
      closed,
    ];
    await holds(
      () => account(key),
      () => nodes.done(configure),
      ({ json }) => json.data.enabled.jose === true,
    );
    await holds(
      () => account(key),
      () => nodes.done(['proxy', 'remove', ...where, '--force']),
      ({ json }) => json.data.enabled.jose === false,
    );
  });
});
