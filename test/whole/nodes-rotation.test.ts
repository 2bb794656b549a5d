import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Node, Nodes, withDeadline } from '../fixtures/nodes.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { onlyLong } from '../scope.ts';

const TOKENS = 120;
/** Slow enough that the node is killed in the middle. */
const RATE = { CARDVAULT_ROTATION_RATE: '40' };
const WITHIN_MS = 60_000;

interface RotationRow {
  readonly resealed: number;
  readonly finished: boolean;
}

describe('a rotation while two nodes serve', { skip: onlyLong, timeout: 180_000 }, () => {
  let nodes: Nodes;
  let caller: Awaited<ReturnType<Nodes['newCaller']>>;
  before(async () => {
    nodes = await Nodes.overShared();
    caller = await nodes.newCaller();
  });
  after(() => nodes.end());

  const tokenize = async (node: Node, pans: readonly string[], type?: 'persistent'): Promise<string[]> => {
    const chd = pans.map((card) => ({ card, name: 'Ana Lopez', exp: '12/29' }));
    const body = { chd, tags: ['rotated'], scheme: 1, ...(type && { type }) };
    const { status, json } = await node.call('POST', '/v1/tokenization/simple', { key: caller.key, body });
    assert.equal(status, 200, JSON.stringify(json));
    return json.data.tokens.map((each: { token: string }) => each.token);
  };
  const inspect = async (node: Node, token: string): Promise<string> => {
    const { json } = await node.call('GET', `/v1/tokens/${token}/inspect`, { key: caller.key });
    return json.data.card_truncated ?? JSON.stringify(json);
  };
  const progress = async (): Promise<RotationRow> => {
    const [row] = await nodes.rows(`select resealed, finished_at from key_rotations where purpose = 'tokens'`);
    return { resealed: Number(row?.['resealed'] ?? 0), finished: row?.['finished_at'] != null };
  };

  test('continues on another node after kill -9, and every token stays readable on both', async () => {
    const killed = await nodes.startProcess(RATE);
    const pans = Array.from({ length: TOKENS }, () => luhnPan('411111'));
    const tokens = await tokenize(killed, pans);
    const [regular] = pans as [string];
    const [persistent] = await tokenize(killed, [regular], 'persistent');
    const started = await nodes.done(['keyring', 'rotate', 'data', '--account', caller.account]);
    assert.ok(started.rotations.some(({ purpose }: { purpose: string }) => purpose === 'tokens'));
    await withDeadline(WITHIN_MS, progress, ({ resealed }) => resealed > 0);
    await killed.kill();
    const { resealed, finished } = await progress();
    assert.ok(resealed < TOKENS && !finished, `${resealed}`);
    const other = await nodes.start({ CARDVAULT_ROTATION_RATE: '1000' });
    // Requests go on meanwhile, and the card keeps its token.
    const serving = (async () => {
      while (!(await progress()).finished) {
        assert.deepEqual(await tokenize(other, [regular], 'persistent'), [persistent]);
        await pause(200);
      }
    })();
    await withDeadline(WITHIN_MS, progress, (found) => found.finished);
    await serving;
    for (const [index, token] of tokens.entries())
      assert.equal(await inspect(other, token), `${pans[index]?.slice(0, 6)}******${pans[index]?.slice(-4)}`);
    const status = await nodes.done(['keyring', 'status']);
    const versions = status.filter(({ purpose }: { purpose: string }) => purpose === 'tokens');
    assert.deepEqual(
      versions.map(({ version, state, sealed }: Record<string, unknown>) => [version, state, sealed]),
      [
        [1, 'retiring', 0],
        [2, 'current', TOKENS + 1],
      ],
    );
  });

  test('the root key and the wrapping keys are replaced while a node serves', async () => {
    const node = await nodes.start();
    const [token] = (await tokenize(node, ['4111111111111111'])) as [string];
    assert.equal((await nodes.done(['keyring', 'rotate', 'root'])).state, 'rotated');
    const { rotations } = await nodes.done(['keyring', 'rotate', 'wrapping']);
    assert.deepEqual(
      rotations.map(({ environment }: { environment: string }) => environment),
      ['service', 'production', 'sandbox'],
    );
    assert.equal(await inspect(node, token), '411111******1111');
    // Needs a key that no node has had before, under the new wrapping key.
    const chd = { card: '4111111111111111', exp: '12/29', cvv: '737' };
    const body = { chd, amount: 1, currency: 'USD', additional_info: {}, ttl: 60 };
    const { status } = await node.call('POST', '/transactions/requests', { key: caller.key, body });
    assert.equal(status, 200);
    const started = await nodes.start();
    assert.equal(await inspect(started, token), '411111******1111');
  });
});
