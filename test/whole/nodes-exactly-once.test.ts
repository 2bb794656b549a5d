import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { BLOCKED, type Node, Nodes, withDeadline } from '../fixtures/nodes.ts';
import type { Call, ProcessResponse } from '../fixtures/service-process.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES, capture, cards, TOKENIZE } from '../interface/vault-requests.ts';
import { inScope } from '../scope.ts';

const AT_ONCE = 25;
const ROUNDS = inScope({ usual: 10, long: 100 });
/** Requests with 100 cards each. */
const LARGE_ROUNDS = inScope({ usual: 2, long: 6 });

describe('two nodes process each request exactly once', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let both: Node[];
  before(async () => {
    nodes = await Nodes.overShared();
    both = await Promise.all([nodes.start(), nodes.start()]);
  });
  after(() => nodes.end());

  const count = async (table: string, account: string): Promise<number> =>
    Number((await nodes.rows(`select count(*) as rows from ${table} where account = ?account`, account))[0]?.['rows']);
  const toBoth = (path: string, ...calls: Call[]): Promise<ProcessResponse[]> =>
    Promise.all(both.flatMap((each, index) => each.call('POST', path, calls[index] ?? calls[0] ?? {})));
  const keyed = (key: string, name: string, body: unknown): Call => ({
    key,
    body,
    headers: { 'idempotency-key': name },
  });

  /** Rounds of work, some at a time. */
  async function rounds(number: number, run: (round: number) => Promise<void>): Promise<void> {
    for (let done = 0; done < number; done += AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, number - done) }, (_, index) => run(done + index)));
  }

  /** Sends each request to both nodes at once, and later again; every answer is the first one, or 409. */
  async function once(path: string, key: string, number: number, body: () => unknown): Promise<{ repeats: number }> {
    let repeats = 0;
    await rounds(number, async (round) => {
      const call = keyed(key, `once-${round}`, body());
      const responses = await toBoth(path, call);
      const taken = responses.filter(({ status }) => status === 200);
      assert.ok(taken.length > 0, JSON.stringify(responses));
      assert.ok(taken.filter(({ replayed }) => !replayed).length === 1, 'one is the first');
      const others = responses.filter(({ status }) => status !== 200);
      assert.ok(
        others.every(({ status }) => status === 409),
        JSON.stringify(others),
      );
      repeats += taken.length - 1;
      for (const again of await toBoth(path, call)) {
        assert.deepEqual([again.status, again.replayed], [200, true], again.text);
        assert.equal(again.text, taken[0]?.text);
      }
      assert.equal(new Set(taken.map(({ text }) => text)).size, 1);
    });
    return { repeats };
  }

  test('one Idempotency-Key that both receive concurrently has one effect and one response', async () => {
    const { account, key } = await nodes.newCaller();
    await once(CAPTURES, key, ROUNDS, capture);
    assert.equal(await count('captures', account), ROUNDS);
  });

  test('one payment that both receive concurrently is one authorization in the records of the processor', async () => {
    const { account, key } = await nodes.newCaller();
    await once(PAYMENTS, key, ROUNDS, () => order('payment', { amount: 10 }));
    assert.equal(await count('payments', account), ROUNDS, 'payments');
    assert.equal(await count('simulator_payments', account), ROUNDS, 'in the records of the simulator');
    assert.equal(await count('simulator_modifications', account), 0);
  });

  test('captures of both share one key for their security codes, and each node can read those of the other', async () => {
    const { key } = await nodes.newCaller();
    const created = await toBoth(CAPTURES, { key, body: capture({ ttl: 60 * 24 }) });
    for (const { json } of created)
      for (const node of both) {
        const { json: found } = await node.call('GET', `${CAPTURES}/${json.data.id}`, { key });
        assert.equal(found.data.cvv, '123', JSON.stringify(found));
      }
    const ids = created.map(({ json }) => json.data.id);
    const keys = await nodes.rows('select distinct sad_key from captures where id in (?, ?)', ...ids);
    // Or two, when an hour began between the two captures.
    assert.ok(keys.length <= 2 && keys.length > 0, `${keys.length} keys`);
    const unknown = 'select 1 from captures where sad_key is not null and sad_key not in (select id from sad_keys)';
    assert.deepEqual(await nodes.rows(unknown), []);
  });

  test('one new card that both tokenize concurrently has one persistent token', async () => {
    const { account, key } = await nodes.newCaller();
    const persistent = (pans: readonly string[]): Call => ({ key, body: cards(pans, { type: 'persistent' }) });
    const tokensOf = ({ status, text, json }: ProcessResponse): string[] => {
      assert.equal(status, 200, text);
      return json.data.tokens.map(({ token }: { token: string }) => token);
    };
    await rounds(ROUNDS, async () => {
      const responses = await toBoth(TOKENIZE, persistent([luhnPan('411111')]));
      assert.equal(new Set(responses.flatMap(tokensOf)).size, 1);
    });
    for (let round = 0; round < LARGE_ROUNDS; round++) {
      const pans = [...new Set(Array.from({ length: 100 }, () => luhnPan('455667')))];
      const second = round % 2 === 0 ? pans : pans.toReversed();
      const [here = [], there = []] = (await toBoth(TOKENIZE, persistent(pans), persistent(second))).map(tokensOf);
      assert.deepEqual(round % 2 === 0 ? there : there.toReversed(), here);
      assert.equal(new Set(here).size, pans.length);
    }
    const [row] = await nodes.rows(
      'select count(*) as rows, count(distinct fingerprint) as cards from tokens where account = ?account',
      account,
    );
    assert.equal(row?.['rows'], row?.['cards']);
  });

  test('the key of a request whose node crashed is released within 10 seconds, and has at most one effect', async () => {
    const { account, key } = await nodes.newCaller();
    const [survivor] = both as [Node];
    const dying = await nodes.startProcess();
    const call = keyed(key, 'died', capture());
    assert.equal((await dying.call('GET', '/v1/account', { key })).status, 200);
    // Between the claim, which is taken, and the effect, which waits for the table.
    const locker = new Client({ connectionString: nodes.address });
    await locker.connect();
    await locker.query('begin; lock table captures in exclusive mode');
    const cut = assert.rejects(dying.call('POST', CAPTURES, call));
    const { found } = await withDeadline(
      5000,
      () => nodes.rows(BLOCKED),
      ({ length }) => length === 1,
    );
    const killed = performance.now();
    await dying.kill();
    await cut;
    await nodes.rows('select pg_terminate_backend(cast(? as integer))', found[0]?.['pid'] as number);
    await locker.end();
    assert.equal(await count('captures', account), 0);

    assert.equal((await survivor.call('POST', CAPTURES, call)).status, 409, 'the claim still stands');
    let refusedAt = 0;
    const { found: response } = await withDeadline(
      30_000,
      async () => {
        const sentAt = performance.now();
        const answered = await survivor.call('POST', CAPTURES, call);
        if (answered.status === 409) refusedAt = sentAt;
        return answered;
      },
      ({ status }) => status !== 409,
    );
    assert.ok(refusedAt - killed < 10_000, `${refusedAt - killed} ms`);
    assert.deepEqual([response.status, response.replayed], [200, false], response.text);
    assert.equal(await count('captures', account), 1);
  });
});
