import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listAudit } from '../../console/wire/audit.ts';
import { cancelSession, listSessions } from '../../console/wire/card-form.ts';
import { DAY, MINUTE } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';

const ORIGIN = 'https://cards.example.com';
const CARD = { number: '4111111111111111', exp: '12/40', name: 'Ana Lopez', cvv: '123' };
const SESSION = { allowed_origins: ['https://shop.example.com'], amount: 100, currency: 'USD', ttl: 10 };
const OPERATOR = { actor: { type: 'operator' } } as const;
const ROUNDS = 12;

interface Opened {
  readonly id: string;
  readonly client_secret: string;
}

describe('a user of the console who cancels a session of the card form', { timeout: 120_000 }, () => {
  let service: TestService;
  before(async () => {
    const variables = { CARDVAULT_RATE_LIMIT_CAPTURE: '0', CARDVAULT_CAPTURE_ORIGIN: ORIGIN };
    service = await startTestService({ variables });
  });
  after(() => service.stop());

  const newDesk = async (environment: Environment = 'sandbox'): Promise<{ user: AccountUser; key: string }> => {
    const account = await service.newAccount();
    const user = await newAccountUser(service, account, { role: 'developer', environment });
    const { secret: key } = await service.newKey(account, { environment });
    return { user, key };
  };
  const open = async (key: string, more: object = {}, environment: Environment = 'sandbox'): Promise<Opened> => {
    const body = { ...SESSION, ...more };
    const { status, json, text } = await service.call('POST', '/v1/capture-sessions', { key, environment, body });
    assert.equal(status, 200, text);
    return json.data;
  };
  const submit = ({ id, client_secret: secret }: Opened, card: object = CARD): Promise<TestResponse> =>
    service.call('POST', `/v1/card/${id}`, {
      environment: 'cards',
      body: { ...card, attempt: randomUUID() },
      headers: { origin: ORIGIN, authorization: `Bearer ${secret}` },
    });
  const cancel = (user: AccountUser, id: string, params: object = {}): Promise<TestResponse> =>
    user.call(cancelSession, { params: { id, ...params } });
  const stateOf = async (user: AccountUser, id: string): Promise<string | undefined> =>
    successData(await user.call(listSessions)).sessions.find((each: { id: string }) => each.id === id)?.state;
  const capturesOf = async ({ account }: AccountUser): Promise<number> => {
    const sql = 'select count(*) as number from captures where account = ?account';
    return Number((await service.core.database.read(sql, account))[0]?.['number']);
  };
  const recordsOf = async (user: AccountUser, id: string): Promise<unknown[]> => {
    const body = { target: `capture-session:${id}` };
    // The newest is first, and developers read the log.
    return successData(await user.call(listAudit, { body })).records.map(
      ({ action, outcome, environment, actor_id }: Record<string, string>) => [action, outcome, environment, actor_id],
    );
  };

  test('ends it at once: it takes no card any more, and the log names the user', async () => {
    const { user, key } = await newDesk();
    const session = await open(key);
    assert.deepEqual(successData(await cancel(user, session.id)), { done: true });
    const [row] = successData(await user.call(listSessions)).sessions;
    assert.deepEqual([row.id, row.state, row.capture, row.card], [session.id, 'cancelled', null, null]);
    assert.ok(Math.abs(Date.parse(row.ended_at) - service.now()) < MINUTE, row.ended_at);
    const shown = await service.call('GET', `/v1/capture-sessions/${session.id}`, { key });
    assert.equal(shown.json.data.status, 'cancelled');
    const late = await submit(session);
    assert.deepEqual([late.status, late.json], [410, { status: 'cancelled' }]);
    assert.equal(await capturesOf(user), 0);
    const [ended, created, ...others] = await recordsOf(user, session.id);
    assert.deepEqual(ended, ['capture-session.cancelled', 'success', 'sandbox', user.person.id]);
    assert.equal((created as string[])[0], 'capture-session.created');
    assert.deepEqual(others, []);
  });

  test('has the right to delete captures; users without it change nothing', async () => {
    const { user, key } = await newDesk();
    const { id } = await open(key);
    for (const role of ['analyst', 'auditor'] as const)
      assertRefused(await cancel(await newAccountUser(service, user.account, { role }), id), 'not_allowed');
    assert.equal(await stateOf(user, id), 'open');
    const owner = await newAccountUser(service, user.account);
    assert.deepEqual(successData(await cancel(owner, id)), { done: true });
  });

  test('gives the second factor again after some minutes', async () => {
    const { user, key } = await newDesk();
    const { id } = await open(key);
    service.advance(6 * MINUTE);
    assertRefused(await cancel(user, id), 'step_up_required');
    assert.equal(await stateOf(user, id), 'open');
    await user.person.stepUp();
    successData(await cancel(user, id));
  });

  test('needs no approval in production under dual control, as for the deletion of a capture', async () => {
    const { user, key } = await newDesk('production');
    await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
      service.core.accounts.setDualControl(transaction, user.account, true),
    );
    const { id } = await open(key, {}, 'production');
    assert.deepEqual(successData(await cancel(user, id)), { done: true });
    assert.equal(await stateOf(user, id), 'cancelled');
    const [ended] = await recordsOf(user, id);
    assert.deepEqual(ended, ['capture-session.cancelled', 'success', 'production', user.person.id]);
  });

  test('finds no session of another account or environment, none that never existed, and no removed one', async () => {
    const { user, key } = await newDesk();
    const { id } = await open(key);
    const stranger = (await newDesk()).user;
    assertUnknown(
      await cancel(stranger, id),
      await cancel(stranger, id, { account: user.account }),
      await cancel(user, id, { environment: 'production' }),
      await cancel(user, `cs_${'a'.repeat(24)}`),
      await cancel(user, id.toUpperCase()),
      await cancel(user, CARD.number),
    );
    assert.equal(await stateOf(user, id), 'open');
    successData(await cancel(user, id));
    service.advance(DAY);
    const later = await newAccountUser(service, user.account);
    assertUnknown(await cancel(later, id));
  });

  test('cannot cancel one that has ended, whatever ended it', async () => {
    const { user, key } = await newDesk();
    const completed = await open(key);
    assert.equal((await submit(completed)).status, 200);
    const cancelled = await open(key);
    successData(await cancel(user, cancelled.id));
    const failed = await open(key);
    for (let count = 0; count < 10; count++) await submit(failed, { ...CARD, number: '4111' });
    const expired = await open(key, { expires_in: 1 });
    service.advance(MINUTE);
    for (const [state, { id }] of Object.entries({ completed, cancelled, failed, expired })) {
      const response = await cancel(user, id);
      assertRefused(response, 'not_possible');
      assert.equal(response.status, 400);
      assert.deepEqual([response.json.reason, response.json.values], ['sessionEnded', { status: state }]);
      assert.equal(await stateOf(user, id), state);
    }
    assert.equal(await capturesOf(user), 1);
    const ends = (await recordsOf(user, cancelled.id)).filter((record) => /cancelled/.test(String(record)));
    assert.equal(ends.length, 1);
  });

  test('cannot cancel one that was altered in the database', async () => {
    const { user, key } = await newDesk();
    const { id } = await open(key);
    await service.core.database.commit({
      writes: [{ sql: 'update capture_sessions set created_at = created_at - 1 where id = ?', rows: [[id]] }],
    });
    assertRefused(await cancel(user, id), 'not_possible');
    assert.equal(await stateOf(user, id), 'altered');
  });

  /** Runs `first` immediately before the commit of a unit that ends a session in that way. */
  const beforeEndBy = async <T>(sign: string, first: () => Promise<unknown>, act: () => Promise<T>): Promise<T> => {
    const { database } = service.core;
    const commit = database.commit.bind(database);
    let isMet = false;
    database.commit = async (unit) => {
      if (unit.writes.some(({ sql }) => sql.includes(sign))) {
        database.commit = commit;
        isMet = true;
        await first();
      }
      return commit(unit);
    };
    try {
      return await act();
    } finally {
      database.commit = commit;
      assert.ok(isMet, sign);
    }
  };
  const CANCELLATION = 'update capture_sessions set status = ?';
  const COMPLETION = "update capture_sessions set status = 'completed'";

  test('loses against a submission that is committed before, and the card is kept', async () => {
    const { user, key } = await newDesk();
    const session = await open(key);
    const response = await beforeEndBy(
      CANCELLATION,
      async () => assert.equal((await submit(session)).status, 200),
      () => cancel(user, session.id),
    );
    assertRefused(response, 'not_possible');
    assert.deepEqual([await stateOf(user, session.id), await capturesOf(user)], ['completed', 1]);
    assert.ok(!String(await recordsOf(user, session.id)).includes('cancelled'));
  });

  test('wins against a submission that is committed afterwards, and no card is kept', async () => {
    const { user, key } = await newDesk();
    const session = await open(key);
    const response = await beforeEndBy(
      COMPLETION,
      async () => successData(await cancel(user, session.id)),
      () => submit(session),
    );
    assert.deepEqual([response.status, response.json], [410, { status: 'cancelled' }]);
    assert.deepEqual([await stateOf(user, session.id), await capturesOf(user)], ['cancelled', 0]);
    assert.ok(!String(await recordsOf(user, session.id)).includes('completed'));
  });

  test('and a submission that comes at the same time have one winner', async () => {
    const { user, key } = await newDesk();
    let completions = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const session = await open(key);
      const both = [() => submit(session), () => cancel(user, session.id)] as const;
      // Each of them is sent first in its turn.
      const [submitted, cancelled] =
        round % 2 === 0
          ? await Promise.all([both[0](), both[1]()])
          : (await Promise.all([both[1](), both[0]()])).toReversed();
      const state = await stateOf(user, session.id);
      if (state === 'completed') completions++;
      assert.deepEqual(
        [submitted?.status, cancelled?.status],
        state === 'completed' ? [200, 400] : [410, 200],
        `${state}: ${submitted?.text} ${cancelled?.text}`,
      );
      assert.ok(state === 'completed' || state === 'cancelled', state);
    }
    assert.equal(await capturesOf(user), completions);
  });

  test('cancels once, however often that is sent at once', async () => {
    const { user, key } = await newDesk();
    const { id } = await open(key);
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => cancel(user, id)))).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [200, 400, 400, 400, 400, 400]);
    const ends = (await recordsOf(user, id)).filter((record) => String(record).includes('cancelled'));
    assert.equal(ends.length, 1);
  });
});
