import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { type Node, Nodes, withDeadline } from '../fixtures/nodes.ts';
import type { ServiceProcess } from '../fixtures/service-process.ts';
import { CAPTURES, capture } from '../interface/vault-requests.ts';

const WRONG_BY_MS = 5 * HOUR;
/** A loaded machine may take seconds for what is compared with now; the clocks are wrong by hours. */
const CLOSE_MS = MINUTE;

/** Preloads what shifts both wall clocks of a process. Others of it measure only how time passes. */
function shifted(milliseconds: number): { NODE_OPTIONS: string } {
  const code = `const now=Date.now.bind(Date);Date.now=()=>now()+${milliseconds};
    Object.defineProperty(performance,"timeOrigin",{value:performance.timeOrigin+${milliseconds}});`;
  const preload = `--import=data:text/javascript,${encodeURIComponent(code)}`;
  return { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${preload}`.trim() };
}

describe('nodes whose system clocks are wrong by hours', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let wrong: ServiceProcess[];
  let all: Node[];
  let caller: Awaited<ReturnType<Nodes['newCaller']>>;
  let started: number;
  before(async () => {
    started = Date.now();
    nodes = await Nodes.overShared();
    // The first one sweeps for all.
    const fast = await nodes.startProcess(shifted(WRONG_BY_MS));
    await withDeadline(
      15_000,
      () => nodes.rows('select name from leases'),
      (held) => held.length === 2,
    );
    wrong = [fast, await nodes.startProcess(shifted(-WRONG_BY_MS))];
    all = [...wrong, await nodes.start()];
    caller = await nodes.newCaller();
  });
  after(() => nodes.end());

  const isNow = (time: string, later = 0): void =>
    assert.ok(Math.abs(Date.parse(time) - later - Date.now()) < CLOSE_MS, time);

  test('have the wrong time, as this test assumes', async () => {
    for (const [index, hours] of [5, -5].entries()) {
      const [, startTime = ''] = /cardvault is running, (\S+)/.exec(wrong[index]?.screen ?? '') ?? [];
      const off = Date.parse(startTime) - Date.now() - hours * HOUR;
      assert.ok(Math.abs(off) < MINUTE, startTime);
    }
  });

  test('do not serve an expired capture, and do not sweep a valid one', async () => {
    const { account, key } = caller;
    const get = (node: Node, id: string) => node.call('GET', `${CAPTURES}/${id}`, { key });
    const living: string[] = [];
    for (const node of all) {
      const created = await node.call('POST', CAPTURES, { key, body: capture({ ttl: 2 }) });
      assert.equal(created.status, 200, created.text);
      living.push(created.json.data.id);
    }
    const expired = await nodes.newExpiredCapture(account);
    for (const node of all) assert.equal((await get(node, expired)).status, 400);
    const left = () => nodes.rows('select id, created_at, expires_at from captures where account = ?account', account);
    const { found } = await withDeadline(15_000, left, (rows) => rows.every(({ id }) => id !== expired));
    assert.deepEqual(found.map(({ id }) => id).sort(), living.toSorted());
    for (const { created_at, expires_at } of found) {
      assert.equal(Number(expires_at) - Number(created_at), 2 * MINUTE);
      assert.ok(Number(created_at) > started - CLOSE_MS && Number(created_at) < Date.now() + CLOSE_MS);
    }
    for (const node of all) for (const id of living) assert.equal((await get(node, id)).status, 200);
  });

  test('agree on the expiry of keys with each other and with the command line', async () => {
    // Processes of their own: a clock is shifted for a whole process.
    const runShifted = async (...args: string[]) => {
      const { code, out, err } = await nodes.run([...args, '--json'], shifted(WRONG_BY_MS));
      assert.equal(code, 0, err);
      return JSON.parse(out);
    };
    const { key: successor, id } = await runShifted('key', 'rotate', caller.id, '--overlap', '2');
    const listed = await runShifted('key', 'list', '--account', caller.account);
    const states = listed.map((each: { id: string; state: string }) => [each.id, each.state]);
    assert.deepEqual(
      new Map(states),
      new Map([
        [caller.id, 'active'],
        [id, 'active'],
      ]),
    );
    for (const node of all) {
      const { found } = await withDeadline(
        15_000,
        () => node.call('GET', '/v1/account', { key: caller.key }),
        ({ json }) => json.data.key.expires_at !== null,
      );
      isNow(found.json.data.key.expires_at, 2 * MINUTE);
      assert.equal((await node.call('GET', '/v1/account', { key: successor })).status, 200);
    }
    const [ends] = await nodes.rows('select min(at) as first, max(at) as last from journal');
    assert.ok(Number(ends?.['first']) > started - CLOSE_MS && Number(ends?.['last']) < Date.now() + CLOSE_MS);
  });
});
