import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Captures } from '../../src/captures/captures.ts';
import { IdempotencyKeys } from '../../src/idempotency/idempotency-keys.ts';
import { HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { PeriodicTask } from '../../src/storage/periodic-task.ts';
import { Vault } from '../../src/vault/vault.ts';
import { runAt } from '../fixtures/command.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { idOf, type Merchant, newMerchant, TIMES_OUT } from './payment-requests.ts';
import { CAPTURES, capture, cards, dataOf, TOKENS, tokensIn, VISA } from './vault-requests.ts';

const JUMP = 200 * HOUR;
/** The service finds the payments that are due once a second. */
const ROUND = 1.3 * SECOND;

describe('a clock that jumps', () => {
  let service: TestService;
  let me: Merchant;
  before(async () => {
    service = await startTestService();
    me = await newMerchant(service);
  });
  after(() => service.stop());

  /** Runs what the sweeper of the service runs every 5 seconds. */
  async function sweep(): Promise<number> {
    const vault = new Vault(service.core);
    const captures = new Captures({ ...service.core, vault });
    const idempotency = new IdempotencyKeys(service.core);
    let count = 0;
    const sweeper = new PeriodicTask({
      every: HOUR,
      sweeps: [
        { kind: 'captures', run: (now) => captures.sweep(now) },
        { kind: 'tokens', run: (now) => vault.sweep(now) },
        { kind: 'responses', run: (now) => idempotency.sweep(now) },
      ],
      work: [],
      time: service.core.time,
      onRemoved: (_, removed) => {
        count += removed;
      },
      onError: (kind, error) => assert.fail(`${kind}: ${error}`),
    });
    await sweeper.runOnce();
    return count;
  }

  const keyed = (key: string): Promise<TestResponse> => me.order('authorization', {}, { 'idempotency-key': key });
  const retrieve = (id: string): Promise<TestResponse> => me.send('GET', `${CAPTURES}/${id}`);
  const warnings = async (): Promise<unknown> => {
    const { status, json } = await service.call('GET', '/readyz');
    assert.equal(status, 200);
    return json.warnings;
  };
  async function assertReplayed(key: string, first: TestResponse): Promise<void> {
    const again = await keyed(key);
    assert.equal(again.headers['idempotent-replayed'], 'true', again.text);
    assert.equal(again.text, first.text);
  }

  test('is not reported by the first start of a vault', () => {
    const lines = service.log.map((line) => JSON.parse(line));
    assert.ok(lines.some(({ msg }) => msg === 'started'));
    assert.deepEqual(
      lines.filter(({ level, msg }) => level === 'error' || msg === 'time not trusted'),
      [],
    );
  });

  for (const jump of [JUMP, -JUMP])
    test(`by ${jump / HOUR} hours for a moment causes no deletion`, async () => {
      const before = await keyed(`before${jump}`);
      const remaining = dataOf(await me.send('POST', CAPTURES, capture())).id;
      const [token = ''] = tokensIn(await me.tokenize(cards([VISA])));
      await me.send('DELETE', TOKENS, { tokens: [token] });
      const operations = await me.operations();

      service.jump(jump);
      await assertReplayed(`before${jump}`, before);
      assert.equal(await me.operations(), operations);
      assert.equal((await retrieve(remaining)).status, jump > 0 ? 400 : 200);
      const during = await keyed(`during${jump}`);
      const created = dataOf(await me.send('POST', CAPTURES, capture())).id;
      assert.equal((await retrieve(created)).status, 200);
      if (jump > 0) await pause(ROUND);
      assert.equal(await sweep(), 0);

      service.jump(-jump);
      if (jump < 0) await pause(ROUND);
      assert.equal(await sweep(), 0);
      for (const [key, first] of [
        [`before${jump}`, before],
        [`during${jump}`, during],
      ] as const) {
        assert.equal((await me.standing(idOf(first))).status, 'Authorized');
        await assertReplayed(key, first);
      }
      for (const id of [remaining, created]) assert.equal((await retrieve(id)).status, 200);
      assert.equal(await me.operations(), operations + 1);
      const sql = 'select count(*) as number from tokens where account = ?account and deleted_at is not null';
      assert.ok(Number((await service.core.database.read(sql, me.account))[0]?.['number']) > 0);
    });

  test('is reported by readiness and the log until time agrees again', async () => {
    assert.equal(await warnings(), undefined);
    service.jump(JUMP);
    const [warning] = (await warnings()) as { code: string; message: string }[];
    assert.equal(warning?.code, 'time_not_trusted');
    assert.match(warning?.message ?? '', /ahead of the time that has passed.*cardvault clock confirm/);
    // The listener of the card form faces the internet.
    const ofCardForm = await service.call('GET', '/readyz', { environment: 'cards' });
    assert.deepEqual([ofCardForm.status, ofCardForm.json], [200, { status: 'ok' }]);
    const reports = service.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'time not trusted');
    assert.equal(reports.at(-1).reason, 'ahead');
    assert.ok(Math.abs(reports.at(-1).difference_ms - JUMP) < MINUTE);
    service.jump(-JUMP);
    assert.equal(await warnings(), undefined);
    assert.equal(JSON.parse(service.log.findLast((line) => line.includes('time ')) ?? '').msg, 'time trusted');
  });

  test('does not make expired records available while it is behind', async () => {
    const id = await me.capture({ ttl: 1 });
    service.jump(-JUMP);
    assert.equal((await retrieve(id)).status, 200);
    service.advance(MINUTE);
    assert.equal((await retrieve(id)).status, 400);
    service.jump(JUMP);
  });

  test('does not prevent that an unknown outcome is resolved', async () => {
    const pending = await me.opened('authorization', { amount: TIMES_OUT });
    service.jump(JUMP);
    service.advance(6500);
    await eventually(async () => (await me.standing(pending)).status === 'Authorized');
    service.jump(-JUMP);
  });

  test('allows due deletions once an operator has confirmed it', async () => {
    const id = await me.opened();
    const stored = await me.capture();
    service.jump(JUMP);
    const clock = (...args: string[]): ReturnType<typeof runAt> =>
      runAt(service.now, service.directory, 'clock', ...args);
    await eventually(async () => (await clock('status', '--json')).json.reason === 'ahead');
    const { json } = await clock('confirm', '--json');
    const { time, last_trusted, expected, difference_seconds, ...rest } = json;
    assert.deepEqual(rest, { confirmed: true, trusted: false, reason: 'ahead' });
    assert.ok(Math.abs(Date.parse(time) - service.now()) < MINUTE, time);
    assert.ok(Math.abs(Date.parse(expected) - Date.parse(time) + JUMP) < MINUTE, expected);
    assert.ok(Math.abs(difference_seconds * SECOND - JUMP) < MINUTE);
    assert.ok(Date.parse(last_trusted) <= Date.parse(expected));
    await eventually(async () => (await me.standing(id)).status === 'Voided');
    await sweep();
    const left = await service.core.database.read('select id from captures where id = ?', stored);
    assert.deepEqual(left, []);
    const again = await clock('confirm');
    assert.match(again.out, /nothing to confirm: time is trusted/);
    assert.doesNotMatch(again.out, /expected|difference/);
    const [row] = await service.core.database.read(
      "select record from journal where record like '%clock.confirmed%' order by sequence desc limit 1",
    );
    const record = JSON.parse(String(row?.['record']));
    assert.equal(record.actor.type, 'operator');
    assert.deepEqual(Object.keys(record.detail).sort(), ['difference_seconds', 'expected', 'reason', 'time']);
  });
});
