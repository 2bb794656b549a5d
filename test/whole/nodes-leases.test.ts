import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Nodes, withDeadline } from '../fixtures/nodes.ts';
import type { ServiceProcess } from '../fixtures/service-process.ts';
import { order, PAYMENTS, TIMES_OUT } from '../interface/payment-requests.ts';

const TAKEN_OVER_MS = 30_000;

describe('work that one node performs for all', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let caller: Awaited<ReturnType<Nodes['newCaller']>>;
  let log = '';
  before(async () => {
    nodes = await Nodes.overShared();
    caller = await nodes.newCaller();
    // So that recovery follows immediately.
    const { activations, transactions } = await nodes.core();
    const settings = { 'timeout-ms': '300', 'recovery-delay-ms': '0' };
    const request = { processor: 'simulator', settings, force: false };
    await transactions.run(
      {
        origin: {
          actor: { type: 'service' },
        },
      },
      (transaction) => activations.enable(transaction, { account: caller.account, environment: 'sandbox' }, request),
    );
  });
  after(() => nodes.end());

  const start = async (): Promise<ServiceProcess> => {
    const node = await nodes.startProcess();
    node.child.stderr?.on('data', (chunk: string) => {
      log += chunk;
    });
    return node;
  };

  /** Returns the holder of each lease. */
  const holders = async (): Promise<Record<string, unknown>> =>
    Object.fromEntries((await nodes.rows('select name, owner from leases')).map(({ name, owner }) => [name, owner]));
  /** Both turns with one owner, who is none of these. */
  const heldByOther = async (...before: readonly unknown[]): Promise<unknown> => {
    const { found } = await withDeadline(TAKEN_OVER_MS, holders, ({ payments, sweeper }) =>
      Boolean(payments !== undefined && payments === sweeper && !before.includes(payments)),
    );
    return found['payments'];
  };
  const firstEnd = async (): Promise<number> =>
    Number((await nodes.rows('select min(expires_at) as ends from leases'))[0]?.['ends']);

  const left = async (): Promise<{ captures: number; open: number }> => {
    const [row] = await nodes.rows(`select (select count(*) from captures) as captures,
      (select count(*) from payments where in_doubt_since is not null or operation_in_progress is not null) as open`);
    return { captures: Number(row?.['captures']), open: Number(row?.['open']) };
  };
  const payInDoubt = async (node: ServiceProcess): Promise<void> => {
    const { status, json } = await node.call('POST', PAYMENTS, {
      key: caller.key,
      body: order('authorization', { amount: TIMES_OUT }),
    });
    assert.equal(status, 200);
    assert.equal(json.data.transaction_info.status, 'Opened');
  };
  const done = () => withDeadline(TAKEN_OVER_MS, left, ({ captures, open }) => captures === 0 && open === 0);

  test('is acquired by another node after a kill or a pause, and released at a stop', async () => {
    const first = await start();
    const one = await heldByOther();
    const second = await start();
    const ends = await firstEnd();
    await withDeadline(TAKEN_OVER_MS, firstEnd, (renewed) => renewed > ends);
    assert.deepEqual(await holders(), { payments: one, sweeper: one }, 'the holder renews it');

    // Killed in the middle of a payment.
    const cut = payInDoubt(first);
    await withDeadline(5000, left, ({ open }) => open === 1);
    // A payment that the simulator has not stored would end differently.
    await withDeadline(
      5000,
      () => nodes.rows('select operation_ref from simulator_payments'),
      ({ length }) => length === 1,
    );
    await Promise.all([first.kill(), assert.rejects(cut)]);
    await nodes.newExpiredCapture(caller.account);
    const two = await heldByOther(one);
    await done();
    assert.deepEqual(await nodes.rows('select status from payments'), [{ status: 'Authorized' }]);

    // Stands still while it has both turns.
    const third = await start();
    second.child.kill('SIGSTOP');
    await payInDoubt(third);
    await nodes.newExpiredCapture(caller.account);
    const three = await heldByOther(one, two);
    await done();
    second.child.kill('SIGCONT');
    await pause(2500);
    assert.deepEqual(await holders(), { payments: three, sweeper: three });
    const { status } = await second.call('GET', '/v1/account', { key: caller.key });
    assert.equal(status, 200, 'it continues to serve');
    await payInDoubt(second);
    await done();

    assert.equal(await third.stop(), 0);
    assert.ok(!Object.values(await holders()).includes(three), 'given back');
    await heldByOther(one, three);
    assert.equal((await nodes.rows('select 1 from simulator_payments')).length, 3);
    assert.equal(second.child.exitCode, null);
    assert.equal((await nodes.done(['audit', 'verify'])).ok, true);
    assert.ok(!/looked into/.test(log), log);
  });
});
