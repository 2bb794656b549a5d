import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { approve, executeApproval, listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import { deleteToken, listTokens, showToken } from '../../console/wire/records.ts';
import { MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { cards, newCaller, TIME, tokensIn, VISA } from '../interface/vault-requests.ts';
import {
  type AccountUser,
  assertRefused,
  assertUnknown,
  executedResult,
  newAccountUser,
  successData,
} from './account-user.ts';

const PAGE = LIMITS.recordsPerPage;

describe('tokens in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  let desk: AccountUser;
  let token: string;

  before(async () => {
    service = await startTestService();
    const caller = await newCaller(service, { name: 'checkout' });
    desk = await newAccountUser(service, caller.account);
    const response = await caller.tokenize(cards([VISA], { tags: ['shop-1', 'vip'], scheme: 7 }));
    [token = assert.fail('no token')] = tokensIn(response);
  });
  after(() => service.stop());

  const list = async (body: object = {}) => successData(await desk.call(listTokens, { body }));
  const found = async (body: object): Promise<string[]> =>
    (await list(body)).tokens.map((each: { token: string }) => each.token);

  test('a token is shown without its card number', async () => {
    const response = await desk.call(showToken, { params: { token } });
    const { created_at, ...rest } = successData(response);
    assert.match(created_at, TIME);
    assert.deepEqual(rest, {
      token,
      card: '411111******1111',
      scheme: 7,
      is_persistent: false,
      name: 'Ana Lopez',
      expiration: '12/2029',
      tags: ['shop-1', 'vip'],
      created_by: 'checkout',
      is_altered: false,
    });
    assert.deepEqual(await list(), {
      tokens: [successData(response)],
      next: null,
      count: { number: 1, is_more: false },
    });
  });

  test('a card number in a name or a tag is truncated', async () => {
    const caller = await newCaller(service);
    const chd = [{ card: luhnPan('4000'), name: `Ana ${VISA}`, exp: '12/29' }];
    await caller.tokenize({ chd, tags: [`of ${VISA}`], scheme: 1 });
    const other = await newAccountUser(service, caller.account);
    const response = await other.call(listTokens, { body: {} });
    const [shown] = successData(response).tokens;
    assert.deepEqual([shown.name, shown.tags], ['Ana 411111******1111', ['of 411111******1111']]);
    assert.ok(!response.text.includes(VISA));
    const byTag = async (value: string) =>
      successData(await other.call(listTokens, { body: { by: 'tag', value } })).tokens;
    assert.deepEqual(await byTag(`of ${VISA}`), [shown]);
    assert.deepEqual(await byTag('of 411111******1111'), []);
  });

  test('tokens are found by token, tag, last four and BIN', async () => {
    const searches = { token, tag: 'vip', last_four: '1111', bin: '411111' };
    for (const [by, value] of Object.entries(searches)) {
      assert.deepEqual(await found({ by, value }), [token], by);
    }
    const misses = { token: `${token}9`, tag: 'vi', last_four: '1112', bin: '411112' };
    for (const [by, value] of Object.entries(misses)) assert.deepEqual(await found({ by, value }), [], by);
  });

  test('an invalid search is reported with its field, and not repeated', async () => {
    const wrong: readonly [string, string | undefined, object][] = [
      ['by', undefined, { by: 'pan', value: VISA }],
      ['by', VISA, { value: VISA }],
      ['value', undefined, { by: 'tag' }],
      ['value', '41111', { by: 'bin', value: '41111' }],
      ['value', VISA, { by: 'last_four', value: VISA }],
      ['value', undefined, { by: 'tag', value: 'x'.repeat(256) }],
      ['cursor', VISA, { cursor: VISA }],
    ];
    for (const [field, sent, body] of wrong) {
      assertRefused(await desk.call(listTokens, { body }), 'invalid_field', field, sent);
    }
  });

  test('pages follow each other without a gap, the newest first', async () => {
    const caller = await newCaller(service);
    const created: string[] = [];
    for (let count = 0; count < 2; count++) {
      const pans = Array.from({ length: PAGE - 10 }, () => luhnPan('520000'));
      created.push(...tokensIn(await caller.tokenize(cards(pans))));
      service.advance(1000);
    }
    const other = await newAccountUser(service, caller.account);
    const first = successData(await other.call(listTokens, { body: {} }));
    const second = successData(await other.call(listTokens, { body: { cursor: first.next } }));
    assert.equal(first.tokens.length, PAGE);
    assert.equal(second.next, null);
    assert.deepEqual([first.count, second.count], [{ number: 2 * (PAGE - 10), is_more: false }, null]);
    const all = [...first.tokens, ...second.tokens];
    assert.deepEqual(all.map((each) => each.token).sort(), [...created].sort());
    const times = all.map((each) => each.created_at);
    assert.deepEqual(times, [...times].sort().reverse());
    const body = { order: 'oldest' };
    const oldest = successData(await other.call(listTokens, { body }));
    const rest = successData(await other.call(listTokens, { body: { ...body, cursor: oldest.next } }));
    assert.equal(rest.next, null);
    assert.deepEqual(
      [...oldest.tokens, ...rest.tokens].map((each) => each.token),
      all.map((each) => each.token).reverse(),
    );
  });

  test('a record that was altered in the database is shown as altered, without its content', async () => {
    const caller = await newCaller(service);
    const [damaged = ''] = tokensIn(await caller.tokenize(cards([VISA])));
    await service.core.database.commit({
      writes: [
        { sql: 'update tokens set record = ? where account = ?account', rows: [[Buffer.alloc(60), caller.account]] },
      ],
    });
    const other = await newAccountUser(service, caller.account);
    const shown = successData(await other.call(showToken, { params: { token: damaged } }));
    assert.deepEqual([shown.is_altered, shown.card, shown.name, shown.tags], [true, '', null, []]);
    assert.equal(successData(await other.call(listTokens, { body: {} })).tokens[0].is_altered, true);
  });

  test('a token of another account, of the other environment, or that never existed is unknown, and remains', async () => {
    const stranger = await newAccountUser(service, await service.newAccount());
    const production = { environment: 'production' };
    for (const definition of [showToken, deleteToken]) {
      assertUnknown(
        await stranger.call(definition, { params: { token } }),
        await desk.call(definition, { params: { token, ...production } }),
        await desk.call(definition, { params: { token: `${token}0` } }),
        await desk.call(definition, { params: { token: '\u0000 ü' } }),
      );
      // An account of which the person is no member.
      assertUnknown(await stranger.call(definition, { params: { token, account: desk.account } }));
    }
    assert.deepEqual(await found({ by: 'token', value: token }), [token]);
  });

  test('deletion requires the second factor, happens once, and is audited with the user', async () => {
    const caller = await newCaller(service);
    const [own = ''] = tokensIn(await caller.tokenize(cards([VISA])));
    const other = await newAccountUser(service, caller.account);
    service.advance(6 * MINUTE);
    assertRefused(await other.call(deleteToken, { params: { token: own } }), 'step_up_required');
    await other.person.stepUp();
    assert.deepEqual(executedResult(await other.call(deleteToken, { params: { token: own } })), { done: true });
    assertUnknown(await other.call(deleteToken, { params: { token: own } }));
    assertUnknown(await other.call(showToken, { params: { token: own } }));
    const { records } = successData(await other.call(listAudit, { body: { action: 'token.deleted' } }));
    assert.deepEqual(
      records.map((record: { outcome: string; actor_id: string; targets: string[] }) => [
        record.outcome,
        record.actor_id,
        record.targets,
      ]),
      [
        ['missing', other.person.id, []],
        ['success', other.person.id, [`token:${own}`]],
      ],
    );
  });

  test('in production another user has to approve, and sees what would be deleted', async () => {
    const caller = await newCaller(service, { environment: 'production' });
    const [own = ''] = tokensIn(await caller.tokenize(cards([VISA])));
    const [owner, second] = [
      await newAccountUser(service, caller.account, { environment: 'production' }),
      await newAccountUser(service, caller.account, { environment: 'production' }),
    ];
    await owner.person.stepUp();
    executedResult(await owner.call(setDualControl, { body: { dual_control: true } }));
    assertUnknown(await owner.call(deleteToken, { params: { token: `${own}0` } }));
    const approval = successData(await owner.call(deleteToken, { params: { token: own } }));
    assert.equal(approval.result, null);
    successData(await owner.call(showToken, { params: { token: own } }));
    const [waiting] = successData(await second.call(listApprovals)).approvals;
    assert.deepEqual(waiting.summary, [
      { name: 'token', value: own },
      { name: 'card', value: '411111******1111' },
    ]);
    await second.person.stepUp();
    successData(await second.call(approve, { params: { id: approval.approval } }));
    successData(await owner.call(executeApproval, { params: { id: approval.approval } }));
    assertUnknown(await owner.call(showToken, { params: { token: own } }));
  });
});
